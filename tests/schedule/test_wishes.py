"""What users want of a schedule: options, pragmas, names, sizes; and that programs compute the same."""
from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from nessie import driver, forms, pipeline
from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.pragmas import of_source
from nessie.schedule.check import check_graph
from nessie.schedule.cost.profiles import H200
from nessie.schedule.graph import text as graph_text
from nessie.schedule.wishes.sizes import hints
from nessie.schedule.wishes.wishes import CUT, FUSE, Wish
from nessie.syntax.parser import parse_type
from nessie.tool.cli import main

SQUARES = """function squares(as) =
  let total = sum(as);
      sq = {a * a : a in as}
  in {s / total : s in sq};
"""
TWICE = """function scale(xs) = let total = sum(xs); sq = {x * x : x in xs} in {s / total : s in sq};
function main(v, w) = (scale({x + 1.0 : x in v}), scale(w));
"""
BRANCH = """function main(xs) = let a = {x + 1.0 : x in xs}; s = sum(a)
  in if s > 0.0 then let b = {a * 2.0 : a in a} in b else a;
"""
TWO = """function scale(xs) = let total = sum(xs); sq = {x * x : x in xs} in {s / total : s in sq};
function other(xs) = let sq = {x + 1.0 : x in xs} in sum(sq);
function squares(as) = (scale(as), scale({a + 1.0 : a in as}), other(as), other({a * 2.0 : a in as}));
"""
VECTOR = "[float]"


def kernels(text: str, *wishes: Wish, entry: str = "squares", type_: str = VECTOR, **options: object) -> \
        list[list[str]]:
    """The kernels of all regions, one after another."""
    job = pipeline.Job(entry=entry, argument=parse_type(Source("type", type_)), wishes=wishes, **options)    # type: ignore
    found = run_deep(lambda: driver.compile_program(job, forms.TEXT, Source("test.nesl", text),
                                                      pipeline.pass_named("schedule")))
    return [sorted(kernel) for region in found.regions for kernel in region.clusters]


def wished(kind: str, first: str, second: str) -> Wish:
    return Wish(kind, first, second)


# Options --------------------------------------------------------------------------------------------


def test_wishes_are_kept() -> None:
    assert kernels(SQUARES) == [["total"], ["it", "sq"]]
    assert kernels(SQUARES, wished(FUSE, "total", "sq")) == [["sq", "total"], ["it"]]
    assert kernels(SQUARES, wished(FUSE, "sq", "total"), machine=H200) == [["sq", "total"], ["it"]]
    assert kernels(SQUARES, wished(CUT, "sq", "it")) == [["sq", "total"], ["it"]]
    assert kernels(SQUARES, wished(CUT, "sq", "it"), wished(CUT, "total", "sq")) == [["total"], ["sq"], ["it"]]
    for mode in ("ilp", "greedy", "none"):
        assert kernels(SQUARES, wished(FUSE, "total", "sq"), fuse=mode) == [["sq", "total"], ["it"]]


def test_a_name_is_one_of_the_source() -> None:
    """`squares` is its result, and in a program that calls a function twice, each call has its own."""
    assert kernels(SQUARES, wished(CUT, "sq", "squares")) == [["sq", "total"], ["it"]]
    both = "([float], [float])"
    assert not any({"sq_2", "total_2"} <= set(kernel) for kernel in kernels(TWICE, entry="main", type_=both))
    joined = kernels(TWICE, wished(FUSE, "sq", "total"), entry="main", type_=both)
    for number in ("1", "2"):
        assert any({f"sq_{number}", f"total_{number}"} <= set(kernel) for kernel in joined)
        other = {"1": "2", "2": "1"}[number]
        assert not any({f"sq_{number}", f"total_{other}"} <= set(kernel) for kernel in joined)
    one = kernels(TWICE, wished(CUT, "sq_1", "total_1"), wished(FUSE, "sq_2", "total_2"), entry="main", type_=both)
    assert any({"sq_2", "total_2"} <= set(k) for k in one) and not any({"sq_1", "total_1"} <= set(k) for k in one)


@pytest.mark.parametrize(("text", "wish", "says"), [
    (SQUARES, (FUSE, "total", "it"), "total and it cannot share a kernel: it needs total's value"),
    (SQUARES, (FUSE, "total", "its"), "nothing is called its"),
    (SQUARES, (CUT, "as", "sq"), "no kernel computes as"),
    (SQUARES, (CUT, "sq", "sq"), "computed by one node"),
    (BRANCH.replace("main", "squares"), (FUSE, "a", "b"), "a and b cannot share a kernel: a condition"),
    (TWO, (CUT, "sq", "total"), "sq is bound more than once"),
])
def test_what_cannot_be_is_an_error(text: str, wish: tuple[str, str, str], says: str) -> None:
    with pytest.raises(NessieError, match=re.escape(says)):
        kernels(text, Wish(*wish))


def test_wishes_that_exclude_each_other() -> None:
    with pytest.raises(NessieError, match=r"you want them cut \(cut\)"):
        kernels(SQUARES, wished(CUT, "total", "sq"), wished(FUSE, "total", "sq"))
    with pytest.raises(NessieError, match=r"sq and it cannot share a kernel: total would have to be"):
        kernels(SQUARES, wished(FUSE, "total", "sq"), wished(FUSE, "sq", "it"))


def test_results_are_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "squares.nesl"
    path.write_text(SQUARES)
    for words in ([], ["--fuse-edge", "total,sq"], ["--cut", "sq,it"], ["--fuse", "none", "--fuse-edge", "sq, IT"],
                  ["--size", "as=1e3", "--machine", "h200"]):
        for command in ("run", "profile"):
            assert main([command, str(path), "-e", "squares", "[1.0, 3.0]", *words]) == 0
            assert capsys.readouterr().out.startswith("[0.25, 2.25]\n" if command == "run" else "squares [1.0, 3.0]\n")
    for command in ("run", "profile", "explain"):
        assert main([command, str(path), "-e", "squares", "[1.0, 3.0]", "--cut", "sq,its"]) == 1
        assert "nothing is called its" in capsys.readouterr().err


ROWS = """function shares(rows) : [[float]] -> [[float]] =
  {let s = sum(r) in {x / s : x in r} : r in rows};
"""


def with_pragma(pragma: str) -> str:
    return ROWS.replace("sum(r) in", f"sum(r); % {pragma} % in")


def test_a_level_owns_the_segments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.nesl"
    for text, words in ((ROWS, ["--level", "s=warp"]), (with_pragma("level s by warp"), [])):
        path.write_text(text)
        assert main(["compile", str(path), "-e", "shares", "--target", "cuda", "--emit", "fused", *words]) == 0
        fused = capsys.readouterr().out
        assert fused.count("kernel ") == 1 and "by Levels([warp, lane], Gen)" in fused
        assert main(["compile", str(path), "-e", "shares", "--emit", "fused", *words]) == 0
        fused = capsys.readouterr().out
        assert fused.count("kernel ") == 2 and "Levels" not in fused
        for target in ("cpu", "cudasim"):
            assert main(["run", str(path), "-e", "shares", "[[1.0, 3.0], [] float]", "--target", target, *words]) == 0
            out, err = capsys.readouterr()
            assert out == "[[0.25, 0.75], []]\n"
            assert ("is for threads of a GPU" in err if words and target == "cpu" else err == "")


def test_a_level_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.nesl"
    for text, words, says in (
            (ROWS, ["--level", "q=warp"], "nothing is called q"),
            (with_pragma("level s by wrap"), [], "there is no level wrap that owns segments"),
            (with_pragma("level t by warp"), [], "this form binds no t"),
            ("function shares(v) = let s = sum(v) in s * 2;", ["--level", "s=block", "-t", "[int]"],
             "it has no segments")):
        path.write_text(text)
        assert main(["compile", str(path), "-e", "shares", "--target", "cuda", "--emit", "fused", *words]) == 1
        assert says in capsys.readouterr().err


FORMS = "function twice(as) = {a * 2.0 : a in as};\n" + SQUARES + "twice([1.0]);\nsquares([1.0, 3.0]);\n"


@pytest.mark.parametrize(("wish", "says"), [
    (["--cut", "sq,its"], "warning: --cut sq,its changes nothing: no form that ran has a kernel that computes its\n"
                          "hint: there are "),
    (["--fuse-edge", "totl,sqq"], "warning: --fuse-edge totl,sqq changes nothing: no form that ran has a kernel that "
                                  "computes totl or sqq\nhint: there are "),
    (["--cut", "sq,total", "--cut", "sq,nothing"], "warning: --cut sq,nothing "),
    (["--fuse-edge", "twice,sq"], "computes both without a condition, a call or an effect between\n"),
    (["--cut", "twice,sq"], ""),
    (["--fuse-edge", "total,sq", "--cut", "TOTAL,it"], ""),
])
def test_what_no_form_has_is_told_once(wish: list[str], says: str, tmp_path: Path,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "forms.nesl"
    path.write_text(FORMS)
    for command in (["run", str(path)], ["eval", "twice([1.0]); squares([1.0, 3.0])", "-f", str(path)],
                    ["profile", str(path)], ["run", str(path), "--target", "reference"]):
        assert main([*command, *wish]) == 0
        err = capsys.readouterr().err
        assert says in err and err.count("warning") == (1 if says else 0), command


def test_the_prompt_tells_at_its_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(FORMS))
    assert main(["--cut", "sq,its"]) == 0
    assert capsys.readouterr().err.count("warning: --cut sq,its changes nothing") == 1


def test_a_program_that_fails_has_other_worries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The name may be one of what has not run."""
    path = tmp_path / "forms.nesl"
    path.write_text(FORMS + "squares([")
    assert main(["run", str(path), "--cut", "sq,its"]) == 1
    assert "warning" not in capsys.readouterr().err


def test_kept_programs_are_of_one_wish(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "squares.nesl"
    path.write_text(SQUARES)
    for wish, count in (([], 2), (["--cut", "sq,it", "--cut", "total,sq"], 3), (["--fuse-edge", "total,sq"], 2),
                        (["--fuse-edge", "total,sq", "--fuse", "none"], 2), (["--fuse", "none"], 3), ([], 2)):
        assert main(["profile", str(path), "-e", "squares", "[1.0, 3.0]", *wish, "--json"]) == 0
        assert f'"launches": {count}, ' in capsys.readouterr().out


# Pragmas --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    SQUARES.replace("sum(as);", "sum(as);  % fuse total, sq %"),
    SQUARES.replace("let total", "let % fuse total, sq % total"),
    SQUARES.replace("  in {s", "  %fuse  sq,TOTAL% in {s"),
    SQUARES.replace("in as}\n", "in as} % fuse total, sq %\n"),
    "% fuse total, sq %\n" + SQUARES,
    SQUARES.replace("};\n", "} % FUSE total, sq %;\n"),
])
def test_pragmas_stand_on_bindings(text: str) -> None:
    assert kernels(text) == [["sq", "total"], ["it"]]
    assert kernels(text, fuse="none") == [["total"], ["sq"], ["it"]]


@pytest.mark.parametrize("text", [
    SQUARES.replace("sum(as)", "sum % fuse total, sq % (as)"),
    SQUARES.replace("a * a", "a * % fuse total, sq % a"),
    SQUARES.replace("a in as", "a % fuse total, nothing % in as"),
    SQUARES.replace("sum(as);", "sum(as);  % fuse total, sq please %"),
    SQUARES.replace("sum(as);", "sum(as);  % fuse box % % fuse total sq % % infuse a, b % % fuse total, sq, it %"),
    SQUARES + "% fuse total, sq %\n",
])
def test_other_comments_are_comments(text: str) -> None:
    assert kernels(text) == [["total"], ["it", "sq"]]
    assert of_source(Source("test.nesl", text))[0] == ()


def test_a_pragma_has_names_that_are_bound() -> None:
    with pytest.raises(NessieError, match="this form binds no squre") as found:
        kernels(SQUARES.replace("sum(as);", "sum(as);  % cut total, squre %"))
    ((place, _),) = found.value.places
    assert place.source.text[place.start:place.end] == "squre" and "squares, as, total, sq" in found.value.hint


def test_a_pragma_with_a_wrong_name_is_no_obstacle_to_other_forms(tmp_path: Path,
                                                                  capsys: pytest.CaptureFixture[str]) -> None:
    """Where its form is compiled, it is an error; where it is not, a warning."""
    path = tmp_path / "two.nesl"
    wrong = SQUARES.replace("sum(as);", "sum(as);  % fuse total, sqq %").replace("squares", "other")
    path.write_text(SQUARES.replace("sum(as);", "sum(as);  % fuse total, sq %") + wrong, "utf-8")
    out = str(tmp_path / "page.html")
    commands = [["explain", str(path), "-t", "[float]"], ["compile", str(path), "-t", "[float]", "--emit", "schedule"],
                ["inspect", str(path), "-t", "[float]", "-o", out], ["graph", str(path), "-t", "[float]"]]
    calls = [["explain", str(path)], ["run", str(path)]]
    for command, arguments in [*((command, []) for command in commands), *((call, ["[1.0, 2.0]"]) for call in calls)]:
        for entry, status, kind in (("squares", 0, "warning"), ("other", 1, "error")):
            assert main([*command, "-e", entry, *arguments]) == status, command
            told = capsys.readouterr().err
            assert told.startswith(f"{kind}: this form binds no sqq\n") and "it binds other, as, total, sq" in told
    assert main(["run", str(path)]) == 0 and "warning: this form binds no sqq" in capsys.readouterr().err
    assert main(["check", str(path)]) == 1 and "error: this form binds no sqq" in capsys.readouterr().err
    assert main(["run", str(path), "--fuse", "none", "-e", "other", "[1.0]"]) == 0


def test_a_pragma_that_cannot_be_met_shows_itself() -> None:
    text = SQUARES.replace("sum(as);", "sum(as);  % fuse total, squares %")
    with pytest.raises(NessieError, match="kernel-end") as found:
        kernels(text)
    assert [span.source.text[span.start:span.end] for span, _ in found.value.places] == [
        "sum(as)", "s / total", "% fuse total, squares %"]


def test_a_pragma_means_each_call_of_its_function() -> None:
    text = TWICE.replace("sum(xs);", "sum(xs); % fuse total, sq %")
    found = kernels(text + "function other(v) = let sq = {x + 1.0 : x in v} in sum(sq);", entry="main",
                    type_="([float], [float])")
    assert all(any({f"sq_{n}", f"total_{n}"} <= set(kernel) for kernel in found) for n in (1, 2))
    alone = text + "function other(v) = let sq = {x + 1.0 : x in v} in sum(sq);"
    assert kernels(alone, entry="other") == [["it", "sq"]]      # nothing of scale is there


def test_a_pragma_may_mean_a_parameter() -> None:
    text = TWICE.replace("sum(xs);", "sum(xs); % cut xs, total %")
    found = kernels(text, entry="main", type_="([float], [float])")
    assert not any({"xs_1", "total_1"} <= set(kernel) for kernel in found)


def test_pragmas_at_the_prompt(capsys: pytest.CaptureFixture[str]) -> None:
    program = SQUARES.replace("sum(as);", "sum(as);  % cut total, sq % % cut sq, squares %")
    assert main(["eval", program + "set verbose on; squares([1.0, 3.0]);"]) == 0
    assert "launches: 3" in capsys.readouterr().out


# Sizes, graphs ----------------------------------------------------------------------------------------


def flat(text: str, type_: str) -> object:
    job = pipeline.Job(entry="main", argument=parse_type(Source("type", type_)))
    return run_deep(lambda: driver.compile_program(job, forms.TEXT, Source("test.nesl", text),
                                                     pipeline.pass_named("simplify")))


def test_sizes_have_the_names_of_the_source() -> None:
    program = flat("function main(xs, n, m) = let ys = {x in xs | x > 0.0} "
                   "in ({y + 1.0 : y in ys}, {i + n : i in [0:n]}, {sum(r) : r in m});", "([float], int, [[float]])")
    wanted = {"xs": 10.0, "n": 20.0, "m": 30.0, "flatten(m)": 40.0, "#YS": 5.0}
    (entry, *_) = program.functions                                              # type: ignore[attr-defined]
    known = hints(program, wanted, True)["main"]                                 # type: ignore[arg-type]
    sizes = {param.name: param.type.size for param in entry.params if hasattr(param.type, "size")}
    numbers = [param.name for param in entry.params if param.type == "int" and param.name not in sizes.values()]
    assert known[sizes["xs"]] == 10 and known[numbers[0]] == 20
    assert known[sizes["m_offsets"]] == 30 and known[sizes["m"]] == 40
    assert sorted(known.values()) == [5, 10, 20, 30, 40]
    with pytest.raises(NessieError, match="nothing is called zs that has a size"):
        hints(program, {"zs": 1.0}, True)                                        # type: ignore[arg-type]
    assert hints(program, {"zs": 1.0}, False) == {"main": {}}                    # type: ignore[arg-type]


def test_a_graph_may_be_explained_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, graph = tmp_path / "squares.nesl", tmp_path / "squares.graph"
    path.write_text(SQUARES)
    words = ["squares", "-t", "[float]"]
    assert main(["compile", str(path), "--emit", "graph", "-o", str(graph), "--cut", "sq,it", "-e", *words]) == 0
    assert main(["explain", str(graph), "-e", "squares"]) == 0
    assert "you want them cut" in capsys.readouterr().out
    assert main(["graph", str(graph)]) == 0
    assert "digraph" in capsys.readouterr().out
    graph.write_text(graph.read_text().replace("cut (sq, it)", "fuse (total, it)"))
    assert main(["explain", str(graph), "-e", "squares"]) == 1
    assert "total and it cannot share a kernel" in capsys.readouterr().err


def test_wishes_are_part_of_a_graph() -> None:
    job = pipeline.Job(entry="squares", argument=parse_type(Source("type", VECTOR)),
                       wishes=(wished(FUSE, "total", "sq"), wished(CUT, "sq", "it")))
    (graph,) = run_deep(lambda: driver.compile_program(job, forms.TEXT, Source("test.nesl", SQUARES),
                                                         pipeline.pass_named("graph")))
    assert graph.fused == (("total", "sq"),) and graph.cuts == (("sq", "it"),)
    assert graph_text.parse(graph_text.show(graph)) == graph
    with pytest.raises(Exception, match="the wish of total and other is not of two nodes"):
        check_graph(replace(graph, fused=(("total", "other"),)))
