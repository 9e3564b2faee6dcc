"""Users' wishes for mappings: options, files, pragmas; what cannot be walked, with the wrong word; what fuses."""
from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

import nessie
from nessie.base.source import NessieError, Source
from nessie.base.system.disk_cache import cache_folder
from nessie.cudagen.cuda.cudasim import compiler
from nessie.pragmas import doubtful, of_source
from nessie.schedule.wishes.asked import asked
from nessie.schedule.wishes.wishes import MAP
from nessie.tool.cli import main
from nessie.tuning.file import machine

NEST = """function nest(v, w) =
  let a = {{x * 10 + y : y in w} : x in v};
      b = {x + 1 : x in v}
  in {sum(r) + y : r in a; y in b};
"""
TYPE = ["-e", "nest", "-t", "([int], [int])"]
CHAIN = """function chain(v) : [float] -> [float] =
  let a = {x + 1.0 : x in v}; b = {sqrt(y) : y in a} in {z * z : z in b};
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "nest.nesl"
    path.write_text(text)
    return str(path)


def with_pragma(pragma: str) -> str:
    return NEST.replace("in v};\n", f"in v}}; % {pragma} %\n", 1)


def fused(path: str, capsys: pytest.CaptureFixture[str], *words: str, target: str = "cuda") -> str:
    assert main(["compile", path, *TYPE, "--target", target, "--emit", "fused", *words]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_options_files_and_pragmas_ask_for_mappings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, asks = tmp_path / "asks.txt", "GridBlock(1, SplitLast(32, Gen))"
    plain.write_text(f"# how the nest is walked\n\n  a by {asks}\nB by FoldAll\n")
    path = written(tmp_path, NEST)
    for words in (["--map", f"a={asks}"], ["--map", f"A = {asks}"]):
        assert fused(path, capsys, *words).count(f"by {asks}") == 1
    found = fused(path, capsys, "--map", f"@{plain}")
    assert found.count(f"by {asks}") == 1 and found.count("by GridBlock(1, SplitLast(256, ShiftLB(Gen)))") == 1
    assert " by " not in fused(path, capsys, "--map", f"a={asks}", target="cpu")
    path = written(tmp_path, with_pragma(f"MAP a by {asks}"))
    assert fused(path, capsys).count(f"by {asks}") == 1
    assert f"by {asks}" not in fused(path, capsys, "--map", "a=Jing"), "an option comes before a pragma"
    for words in (("--map", "a=none"), ("--level", "a=items")):
        found = fused(path, capsys, *words)
        assert found.count(" by ") == found.count(" by none") == 1


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_values_are_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, with_pragma("map a by Jing"))
    on_gpu = ["--target", "cudasim"]
    for words in (on_gpu, ["--target", "reference"], [], [*on_gpu, "--map", "b=FoldAll"]):
        assert main(["run", path, "-e", "nest", "[1, 2]", "[3, 4, 5]", *words]) == 0
        assert capsys.readouterr() == ("[44, 75]\n", "")
    assert main(["run", path, "-e", "nest", "[1, 2]", "[0:2000]", *on_gpu, "--map", "a=GridBlock(1, Gen)"]) == 1
    told = capsys.readouterr().err
    assert "block.x is 2,000, and at most 1,024: split the axis: SplitLast(32, ...)" in told and "x * 10 + y" in told


BIG = "GridBlock(1, SplitLast(4096, Gen))"
SEVEN = "GridBlock(1, FoldLast2(FoldLast2(FoldLast2(FoldLast2(FoldLast2(Permute([6, 5, 4, 3, 2, 1, 0], Gen)))))))"


@pytest.mark.parametrize(("mapping", "says", "word"), [
    ("GridBlock(1, FoldLast2(SplitLast(2, CompressGrid([1], Gen))))", "CompressGrid has 1 flag, and here are 2 axes",
     "[1]"),
    ("GridBlock(2, FoldLast2(Gen))", "takes 2 axes, and here is 1", "GridBlock"),
    ("GridBlock(1, FoldLast2(FoldLast2(Gen)))", "FoldLast2 folds two axes, and here is 1", "FoldLast2"),
    ("GridBlock(1, Permute([0, 0], Gen))", "[0, 0] is no order of 2 axes", "[0, 0]"),
    (BIG, "block.x is 4,096, and at most 1,024: split the axis", "SplitLast"),
    ("Levels([block, warp], Gen)", "warp walks segments", "[block, warp]"),
    ("Levels([threads, lane], Gen)", "threads is a level of CPUs", "[threads, lane]"),
    ("Levels([block, grid], Gen)", "levels go from grid over block to thread", "[block, grid]"),
    ("Levels([grid, lane], Gen)", "a grid holds no segment", "Levels"),
    ("Levels([warp, lane], Gen)", "", ""),
    ("SplitLast(32, Gen)", "GridBlock or Levels is outermost", "SplitLast"),
    ("GridBlock(1, GridBlock(1, Gen))", "GridBlock is outermost, and nowhere else", "GridBlock"),
    ("GridBlok(1, Gen)", "did you mean GridBlock?", "GridBlok"),
    ("GridBlock(1, SplitLst(32, Gen))", "did you mean SplitLast?", "SplitLst"),
    ("GridBlock(1, SplitLast(Gen))", "an int is expected here", "Gen"),
    ("jing", "did you mean Jing?", "jing"),
])
def test_a_mapping_that_cannot_be_is_underlined(mapping: str, says: str, word: str, tmp_path: Path,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["compile", written(tmp_path, NEST), *TYPE, "--target", "cuda", "--emit", "fused", "--map",
                   f"a={mapping}"])
    told = capsys.readouterr().err
    assert status == (1 if says else 0) and says in told
    if says:
        line, carets = next((line, told.splitlines()[at + 1]) for at, line in enumerate(told.splitlines())
                            if mapping in line and " | " in line)
        start = carets.index("^")
        assert line[start:start + carets.count("^")] == word


@pytest.mark.parametrize(("body", "type_", "says"), [
    ("plus_scan(v)", "[int]", "is computed by SCAN: each of its elements needs those before it"),
    ("{x in v | x > 0}", "[int]", "is computed by FILTER: where survivors are stored depends on those before them"),
    ("sort(v)", "[int]", "is computed by ORDER: it sorts"),
    ("{{x + 1 : x in r} : r in v}", "[[int]]", "rows of its space have lengths of their own"),
    ("{sum(r) : r in v}", "[[int]]", "is computed by SEG_REDUCE: it reduces rows, which owners hold"),
])
def test_what_may_not_be_mapped(body: str, type_: str, says: str, tmp_path: Path,
                                capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, f"function main(v) = let a = {body}; % map a by FoldAll % in a;\n")
    assert main(["compile", path, "-e", "main", "-t", type_, "--target", "cuda", "--emit", "fused"]) == 1
    told = capsys.readouterr().err
    assert says in told
    assert "^^^^^^^" in told and body.strip() in told


def test_jing_maps_up_to_five_axes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "p + q + r + s + t2 + u"
    for name in ("p", "q", "r", "s", "t2", "u"):
        body = f"{{{body} : {name} in v}}"
    path = written(tmp_path, f"function main(v) : [int] -> [[[[[[int]]]]]] = let a = {body}; % map a by Jing % in a;\n")
    words = ["compile", path, "-e", "main", "--target", "cuda", "--emit", "fused"]
    assert main(words) == 1
    told = capsys.readouterr().err
    assert "Jing maps up to 5 axes, and here are 6: JingExt and FoldAll map any number" in told
    assert main([*words, "--map", "a=JingExt"]) == 0
    assert "FoldLast2" in capsys.readouterr().out


def test_graphs_show_mappings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, with_pragma("map a by GridBlock(2, Gen)"))
    for form, says in (("dot", "a\\nMAP\\nby GridBlock(2, Gen)"), ("json", '"by": "GridBlock(2, Gen)"'),
                       ("svg", "<title>a, walked by GridBlock(2, Gen)</title>")):
        assert main(["graph", path, *TYPE, "--target", "cuda", "--format", form]) == 0
        assert capsys.readouterr().out.count(says) == 1
    assert main(["compile", path, *TYPE, "--target", "cuda", "--emit", "graph"]) == 0
    assert 'walked_by "GridBlock(2, Gen)"' in capsys.readouterr().out


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_the_prompt_and_python_ask_for_mappings(monkeypatch: pytest.MonkeyPatch,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["function twice(v) = {x * 2 : x in v};", ":map", ":map twice=Jing", ":map twice = FoldAll", ":map",
             ":map twice=Jng", ":target cudasim", "twice([1, 2]);", ":explain twice [int]",
             ":level rows=block", ":level rows=warp", ":level rows=wrap", ":level",
             "function rows(v) : [[int]] -> [int] = {sum(r) : r in v};", "rows([[1, 2], [3]]);", ":explain rows"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(typed) + "\n"))
    main([])
    out, err = capsys.readouterr()
    assert "no mapping is asked for\n" in out and out.count(":map twice=FoldAll\n") == 3 and "twice=Jing" not in out
    assert "[2, 4]" in out and "did you mean Jing?" in err
    assert ":map twice=FoldAll\n:level rows=warp\n" in out and "did you mean warp?" in err and "[3, 3]" in out
    assert "Levels([warp, lane], Gen), by :level rows=warp" in out
    program = nessie.compile(typed[0], target="cudasim", mappings={"twice": "GridBlock(1, SplitLast(32, Gen))"})
    assert program.twice([1, 2]).tolist() == [2, 4]
    assert 'by mappings={"twice": "GridBlock(1, SplitLast(32, Gen))"}' in str(program.twice.explain([1, 2]))
    owned = nessie.compile(typed[-3], target="cudasim", levels={"rows": "warp"})
    assert owned.rows([[1, 2], [3]]).tolist() == [3, 3]
    assert 'Levels([warp, lane], Gen), by levels={"rows": "warp"}' in str(owned.rows.explain([[1, 2], [3]]))
    with pytest.raises(nessie.NessieError, match="did you mean warp"):
        nessie.compile(typed[0], levels={"twice": "wrap"})
    for wrong, says in (({"twice": "Jng"}, "did you mean Jing?"), ({"twice": 1}, "a mapping is a str"),
                        ("Jing", "a dict")):
        with pytest.raises(nessie.NessieError, match=re.escape(says)):
            nessie.compile(typed[0], mappings=wrong)                # type: ignore[arg-type]


def test_mistakes_in_what_asks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, asks = written(tmp_path, NEST), tmp_path / "asks.txt"
    asks.write_text("# nothing\na by Jing\nb bye Jing\n")
    for words, says in ((["--map", "Jing"], "NAME=MAPPING, such as b=Jing"), (["--map", "@nowhere"], "cannot be read"),
                        (["--map", f"@{asks}"], "NAME by MAPPING"), (["--map", "q=Jing"], "nothing is called q"),
                        (["--map", "a=Jing", "--map", "a=FoldAll"], "a is to be walked in two ways"),
                        (["--map", "a=Jing", "--level", "a=warp"], "a is to be walked in two ways")):
        assert main(["compile", path, *TYPE, "--target", "cuda", "--emit", "fused", *words]) == 1
        assert says in capsys.readouterr().err
    with pytest.raises(NessieError, match=r"asks\.txt:3:1"):
        asked(f"@{asks}")


@pytest.mark.parametrize(("comment", "word", "meant"), [
    ("mpa a by Jing", "mpa", "map"), ("levle a by warp", "levle", "level"), ("map a by jing", "jing", "Jing"),
    ("map a by FoldAl", "FoldAl", "FoldAll"), ("mp a by GridBlock(1, Gen)", "mp", "map"),
    ("map a by gridblock(1, Gen)", "gridblock", "GridBlock"), ("map a bye Jing", "bye", "by"),
    ("map a by hand", "", ""), ("made a by hand", "", ""), ("look at a by row", "", ""), ("map a to b", "", "")])
def test_comments_that_look_like_pragmas(comment: str, word: str, meant: str) -> None:
    source = Source("test.nesl", with_pragma(comment))
    assert of_source(source)[0] == ()
    told = doubtful([source])
    assert len(told) == bool(word)
    if word:
        ((place, _),) = told[0].places
        assert source.text[place.start:place.end] == word and told[0].hint == f"did you mean {meant}?"


@pytest.mark.parametrize(("comment", "word", "right"), [
    ("map a Jing", "Jing", "map a by Jing"), ("map a case 2 Jing", "Jing", "map a case 2 by Jing"),
    ("map a = FoldAll", "FoldAll", "map a by FoldAll"), ("level a warp", "warp", "level a by warp"),
    ("MAP a as GridBlock(1, Gen)", "GridBlock(1, Gen)", "MAP a by GridBlock(1, Gen)"),
    ("map a warped", "", ""), ("a map of warp", "", ""), ("map a", "", ""), ("level a is low", "", "")])
def test_pragmas_without_by(comment: str, word: str, right: str) -> None:
    source = Source("test.nesl", with_pragma(comment))
    told = doubtful([source])
    assert len(told) == bool(word)
    if word:
        ((place, _),) = told[0].places
        assert source.text[place.start:place.end] == word
        assert told[0].hint == f"`by` stands before it: % {right} %"


@pytest.mark.parametrize("comments, said", [
    ("; % map a by Jing %", "this pragma is for no form, as none follows"), ("; % map a by hand %", ""),
    (" % map a by Jing %;", ""), ("; % map b by Jing %\nfunction g(b) : int -> int = b;", ""),
    ("; % map a by Jing %\nfunction g(b) : int -> int = b;", "this form binds no a")])
def test_pragmas_that_stand_outside_their_form(comments: str, said: str, tmp_path: Path,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, f"function up(n) : int -> [int] = let a = {{i : i in [0:n]}} in a{comments}\n")
    assert main(["check", path]) == ("binds" in said)
    told = capsys.readouterr().err
    assert told.count(said) == 1 and "a pragma for the form before stands before that form's `;`" in told if said \
        else not told


def test_check_warns_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", written(tmp_path, with_pragma("map a by jing"))]) == 0
    assert capsys.readouterr().err.startswith("warning: this comment looks like a pragma, and is none\n")
    assert main(["check", written(tmp_path, with_pragma("map a by GridBlok(1, Gen)"))]) == 1
    assert "did you mean GridBlock?" in capsys.readouterr().err
    (wish,) = of_source(Source("test.nesl", with_pragma("map a by GridBlock(2, Gen)")))[0]
    assert (wish.kind, wish.first, wish.second) == (MAP, "a", "GridBlock(2, Gen)")


def test_different_mappings_never_fuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same mapping, or none, does."""
    path, other = written(tmp_path, CHAIN), ["--map", "a=Jing", "--map", "b=FoldAll"]
    words = [path, "-e", "chain", "--target", "cuda"]
    for wishes, kernels in ((["--map", "a=Jing"], 1), (["--map", "a=Jing", "--map", "b=Jing"], 1), (other, 2)):
        assert main(["compile", *words, "--emit", "fused", *wishes]) == 0
        assert capsys.readouterr().out.count("kernel ") == kernels
    assert main(["explain", *words, "--all", *other]) == 0
    told = capsys.readouterr().out
    assert "a is walked by GridBlock(1, SplitLast(32, ShiftLB(Gen)))," in " ".join(told.split()) and "[mapping]" in told
    assert main(["compile", *words, "--emit", "fused", *other, "--fuse-edge", "a,b"]) == 1
    assert "a and b cannot share a kernel: a is walked by" in capsys.readouterr().err


def test_others_share_a_kernel_with_what_is_mapped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """MAPs of the same space do; sums, which the mapping cannot walk, have launches of their own."""
    text = "function main(v) = let a = {x + 1.0 : x in v}; b = {y * 2.0 : y in a} in (b, sum(b));\n"
    path = written(tmp_path, text)
    assert main(["compile", path, "-e", "main", "-t", "[float]", "--target", "cuda", "--emit", "fused", "--map",
                 "a=FoldAll"]) == 0
    found = capsys.readouterr().out
    assert found.count("kernel ") == 2 and found.count(" by GridBlock") == 1
    mapped = found[found.index(" by GridBlock"):]
    assert "+ 1.0" in mapped[:mapped.index("}\n\n")] and "* 2.0" in mapped[:mapped.index("}\n\n")]


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_sums_share_a_launch_with_what_is_mapped_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "function main(v) = let a = {x * x : x in v}; b = sum(a) in b;\n"
    path, wishes = written(tmp_path, text), ["--map", "a=FoldAll", "--map", "b=FoldAll", "--target", "cudasim"]
    assert main(["compile", path, "-e", "main", "-t", "[int]", "--emit", "fused", *wishes]) == 0
    assert capsys.readouterr().out.count("kernel ") == 1
    for size in (0, 1, 31, 33, 1000):
        assert main(["run", path, "-e", "main", f"[0:{size}]", *wishes]) == 0
        assert capsys.readouterr().out == f"{sum(x * x for x in range(size))}\n"


def test_kernels_that_a_wish_leaves_out_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A function that is called for a vector and for rows: the one kernel has two axes, the other one."""
    text = """function twice(v) = let a = {x * 2 : x in v} in {y * y : y in a};
function main(v, w) = (twice(v), {twice({x + y : y in w}) : x in v});
main([1, 2], [3, 4]);
"""
    path, wish = written(tmp_path, text), ["--map", "a=GridBlock(1, Permute([1, 0], Gen))"]
    compiling = ["compile", path, "-e", "main", "-t", "([int], [int])", "--emit", "fused"]
    for words in (["run", path], compiling):
        assert main([*words, "--target", "cudasim", *wish]) == 0
        assert capsys.readouterr().err == (f"warning: --map {wish[1]} leaves out the kernel of a in twice(v): "
                                           "[1, 0] is an order of 2 axes, and here is 1 "
                                           "(it walks x * 2)\n")


def test_explanations_tell_mappings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, with_pragma("map a by GridBlock(1, SplitLast(32, Gen))"))
    assert main(["explain", path, *TYPE, "--target", "cuda"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "GridBlock(1, SplitLast(32, Gen)), by the pragma at" in told and f"{path}:2:45" in told
    assert "block (32, 1, 1)" in told and "an index is found by no division" in told
    assert main(["explain", path, *TYPE, "--target", "cuda", "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["mappings"]
    assert note["mapping"] == "GridBlock(1, SplitLast(32, Gen))" and note["idle"].endswith("* 32 - #v * #w")
    assert "it takes about" in note["cost"] and any("FoldAll" in line for line in note["others"])
    assert "impossible" not in note         # what the levels of rows of one length hold, all strategies walk
    assert main(["explain", path, *TYPE, "--target", "cuda", "--map", "a=Levels([warp, lane], Gen)"]) == 0
    told = capsys.readouterr().out
    assert "each row has 32 of the 256 threads of a block" in told and "an index is found by a multiplication" in told
    assert "grid (min((#v + 7) / 8, 1024), 1, 1), block (256, 1, 1)" in told and "\n      thread  " in told
    assert main(["explain", path, *TYPE]) == 0
    assert "GridBlock" not in capsys.readouterr().out


@pytest.mark.parametrize("sizes, option, asked_for, over, instead", [
    ((2, 4096), ("--map", "a=GridBlock(1, Permute([0, 2, 1], Gen))"), "GridBlock(1, Permute([0, 2, 1], Gen))",
     "block.x is 4,096, and at most 1,024", "--map a=FoldAll"),
    ((125_000, 2), ("--level", "a=grid,grid,block"), "grid,grid,block", "grid.y is 125,000, and at most 65,535",
     "--map a=FoldAll"),
    ((125_000, 2), None, "Levels([grid, grid, block], Gen)", "grid.y is 125,000, and at most 65,535",
     "% map a by FoldAll %"),
    ((125_000, 2), None, "grid, grid, block", "grid.y is 125,000, and at most 65,535", "% map a by FoldAll %"),
])
def test_a_launch_that_is_too_large_tells_who_asked_for_it(
        sizes: tuple[int, int], option: tuple[str, str] | None, asked_for: str, over: str, instead: str, tmp_path: Path,
        capsys: pytest.CaptureFixture[str]) -> None:
    """And what to write instead, which runs."""
    body = "{{{i + j + l : l in [0:1]} : j in [0:k]} : i in [0:n]}"
    kind = "map" if "Gen" in asked_for else "level"
    pragma = "" if option else f"% {kind} a by {asked_for} %"
    text = f"function nest(n, k) : (int, int) -> [[[int]]] = let a = {body} {pragma} in a;"
    path = written(tmp_path, text)
    words = ["run", path, "-e", "nest", *map(str, sizes), "--target", "cudasim"]
    assert main([*words, *(option or ())]) == 1
    told = capsys.readouterr().err
    assert f"does not fit these sizes: {over}" in told and f"hint: {instead} fits all sizes" in told
    shown = told.splitlines()
    line = next(at for at, text in enumerate(shown) if text.endswith("^ this mapping"))
    carets = shown[line].index("^")
    assert shown[line - 1][carets:carets + shown[line].count("^")] == (pragma if kind == "level" and pragma
                                                                                 else asked_for)
    assert "i + j + l" in told and "^ what it walks" in told
    if option:
        assert main([*words, *instead.split()]) == 0
    else:
        written(tmp_path, text.replace(pragma, instead))
        assert main(words) == 0
    assert capsys.readouterr().out.startswith("[[[0], [1]")


@pytest.mark.parametrize(("body", "argument", "walked"), [
    ("{x + 1 : x in v}", "[1, 2]", "it: mappings Jing, JingExt, FoldAll, auto"),
    ("{{x + y : y in v} : x in v}", "[1, 2]",
     "it: mappings Jing, JingExt, FoldAll, auto; levels block, warp, sub8, sub4, thread"),
    ("{sum(r) : r in v}", "[[1, 2], [3]]", "it: levels block, warp, sub8, sub4, thread"),
    ("{sum({x + y : y in v}) : x in v}", "[1, 2]",
     "a part of it: mappings Jing, JingExt, FoldAll, auto; levels block, warp, sub8, sub4, thread"),
    ("sort(v)", "[2, 1]", ""),
])
def test_what_can_walk_it_instead_can(body: str, argument: str, walked: str, tmp_path: Path,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, f"function main(v) = let a = {body} in a;")
    words = ["run", path, "-e", "main", argument, "--target", "cudasim"]
    assert main(words) == 0
    value = capsys.readouterr().out
    assert main([*words, "--map", f"a={SEVEN}"]) == 1
    hint = capsys.readouterr().err.splitlines()[-1]
    assert hint == (f"hint: what can walk {walked}" if walked else
                    "hint: no strategy and no level can walk it: it is walked as it is without a wish")
    for kind in filter(None, walked.partition(": ")[2].split("; ")):
        option, _, names = kind.partition(" ")
        for name in names.split(", "):
            assert main([*words, f"--{option.removesuffix('s').replace('mapping', 'map')}", f"a={name}"]) == 0
            told = capsys.readouterr()
            assert told.out == value and ("leaves out" in told.err) <= walked.startswith("a part")


def test_a_hull_that_is_too_large_has_no_strategy_instead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "function main(n) = let a = {{i + j : j in [0:min(2, i + 1)]} : i in [0:n]} in a;")
    words = ["run", path, "-e", "main", "70000", "--target", "cudasim"]
    assert main([*words, "--map", "a=GridBlock(1, SplitLast(32, Hull(Gen)))"]) == 1
    told = capsys.readouterr().err
    assert "grid.y is 70,000" in told and "FoldAll" not in told and "hint: explain tells what else" in told


def test_explanations_tell_where_versions_come_from_and_what_is_impossible(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "function main(rows) : [[int]] -> [int] = let s = {sum(r) : r in rows} in s;")
    tuning = tmp_path / "p.tuning"
    tuning.write_text(f'machine "{machine()}"\nprogram "p.nesl" main\n')
    words = ["explain", path, "-e", "main", "--target", "cudasim", "--tuning", str(tuning)]
    assert main(words) == 0
    told = capsys.readouterr().out
    for level in ("sub8", "warp", "block"):
        assert f"Levels([{level}, lane], Gen), by version {level} of main.s_1\n" in told
    assert told.count("not possible here\n      Jing, JingExt, FoldAll, auto: sum(r) is computed by SEG_REDUCE: ") == 3
    assert main([*words, "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["mappings"]
    assert [note["impossible"][0]["what"] for note in notes] == ["Jing, JingExt, FoldAll, auto"] * 3


TURNED = """function turned(rows) : [[float]] -> [[float]] =
  let a = transpose(rows); b = {{x + 1.0 : x in r} : r in a} in b;
"""


def test_auto_is_chosen_for_all_that_a_kernel_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Behind fusing: both nodes, which have one mapping, share a kernel, whose reads and stores count together."""
    path = written(tmp_path, TURNED)
    words = [path, "-e", "turned", "-t", "[uniform [float]]", "--target", "cuda", "--map", "a=auto", "--map", "b=auto"]
    assert main(["compile", *words, "--emit", "fused"]) == 0
    parts = "Permute([1, 3, 0, 2], Split(2, 8, Split(0, 32, ShiftLB(Gen))))"
    tiles = f"GridBlock(2, Permute([2, 0, 1], FoldLast2({parts})))"
    text = capsys.readouterr().out
    assert text.count("kernel ") == 1 and f"by {tiles}" in text
    assert main(["explain", *words, "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["mappings"]
    assert note["mapping"] == tiles
    assert note["candidates"][0].startswith("tiles of axes 0, 1: 32 x 8 ") and "16.0 sectors a warp" in str(note)
    assert "Jing" not in str(note["candidates"]), "it would be no better"
    assert main(["explain", *words, "--size", "h=3", "--size", "n=5000000"]) == 0
    told = capsys.readouterr().out
    assert tiles not in told and "chosen, as auto, from\n" in told


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_auto_is_explained_for_the_sizes_of_a_call() -> None:
    """Three columns fill no tile that many do."""
    turned = nessie.compile(TURNED, target="cudasim", mappings={"a": "auto", "b": "auto"}).turned
    large, few = [str(turned.explain(np.ones(shape))) for shape in ((400, 300), (5_000_000, 3))]
    assert "Split(2, 8, Split(0, 32, " in large and "Split(2, 8, Split(0, 32, " not in few
    assert "chosen, as auto, from\n" in large and "chosen, as auto, from\n" in few


# Partitions ---------------------------------------------------------------------------------------

CHAINED = """function ends(v) : [int] -> [int] =
  let a = {if i < 2 then x * 10 else if rem(i, 2) == 0 then x + 1 else x : x in v; i in [0:#v]};
  in a;
"""
SHIFTED = "GridBlock(1, SplitLast(32, CompressGrid([1], ShiftLB(Gen))))"


def chained(tmp_path: Path, *pragmas: str) -> str:
    path = tmp_path / "ends.nesl"
    path.write_text(CHAINED.replace("};\n", "};" + "".join([f" % {pragma} %" for pragma in pragmas]) + "\n", 1))
    return str(path)


def ends(path: str, capsys: pytest.CaptureFixture[str], *words: str, target: str = "cudasim") -> str:
    assert main(["compile", path, "-e", "ends", "--target", target, "--emit", "fused", *words]) == 0
    return capsys.readouterr().out


def test_cases_are_asked_for_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By pragmas, options, files; in any order; options come first; what has no mapping is walked by auto."""
    lines = tmp_path / "asks.txt"
    lines.write_text(f"a case 2 by {SHIFTED}\na CASE rest by FoldAll\n")
    wanted = f"by case 2 {SHIFTED} case rest FoldAll {{"
    plain = chained(tmp_path)
    for words in (["--map", "a case rest=FoldAll", "--map", f"A Case 2 = {SHIFTED}"], ["--map", f"@{lines}"],
                  ["--map", f"a=case 2 {SHIFTED} case rest FoldAll"]):
        found = ends(plain, capsys, *words)
        assert wanted in " ".join(found.split())
        assert found.count("case 1 {") == 1 and found.count("case 2 {") == 1 and found.count("case rest {") == 1
    path = chained(tmp_path, f"map a case 2 by {SHIFTED}", "MAP a CASE REST by FoldAll")
    assert wanted in " ".join(ends(path, capsys).split())
    assert "by case 2 Jing case rest FoldAll {" in ends(path, capsys, "--map", "a case 2=Jing")
    assert "by GridBlock(1, SplitLast(256, ShiftLB(Gen))) {" in ends(path, capsys, "--map", "a=FoldAll")
    assert "case" not in ends(path, capsys, "--map", "a=none") and "case" not in ends(path, capsys, target="cpu")


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_partitions_change_no_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = chained(tmp_path, f"map a case 1 by {SHIFTED}", "map a case rest by Jing")
    for words in (["--target", "cudasim"], ["--target", "reference"], []):
        for size in (0, 1, 2, 3, 33):
            assert main(["run", path, "-e", "ends", f"[0:{size}]", *words]) == 0
            expected = [x * 10 if x < 2 else x + 1 - x % 2 for x in range(size)]
            assert capsys.readouterr() == (f"{expected or '[] int'}\n".replace("[] int", "[]"), "")
    program = nessie.load(str(path), target="cudasim", mappings={"a case 2": "Jing"})
    assert list(program.ends([5, 6, 7, 8])) == [50, 60, 8, 8]


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_the_prompt_asks_for_cases(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A case replaces itself, and what is said of all; what is said of all replaces all cases."""
    typed = [CHAINED, ":map a=FoldAll", ":map a case 1=Jing", ":map a case rest=Jing", ":map a case rest=FoldAll",
             ":map", "ends([1, 2, 3, 4]);", ":map a case 4=Jing", "ends([1, 2, 3, 4]);", ":map a=Jing", ":map"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(typed) + "\n"))
    main(["--target", "cudasim"])
    out, err = capsys.readouterr()
    asked_for = [line for line in out.splitlines() if line.startswith(":map")]
    assert asked_for == [":map a case 1=Jing", ":map a case rest=FoldAll", ":map a=Jing"]
    assert out.count("[10, 20, 4, 4]") == 2
    assert ("warning: :map a case 4=Jing leaves out the kernel of a in ends([1, 2, 3, 4]): no element is in case 4: "
            "those of tests") in err


@pytest.mark.parametrize(("words", "says", "word"), [
    (["--map", "a case 3=Jing"], "no element is in case 3: those of tests of indices here are case 1, case 2, ", "3"),
    (["--map", "a case 1=GridBlock(1, FoldLast2(Gen))"], "FoldLast2 folds two axes, and here is 1", "FoldLast2"),
    (["--map", "a case 2=GridBlock(1, Gen)"], "GridBlock takes axes that begin at 0, and one begins at 2", "GridBlock"),
    (["--map", "a case 2=FoldAll", "--map", "a case 2=Jing"], "a is to be walked in two ways", "Jing"),
    (["--map", "a case 2=GridBlock(1, SplitLast(32, ShiftLB(Gen)))"], "one has 1 of every 2: CompressGrid or Mask",
     "SplitLast"),
    (["--map", "a case 2=Jing", "--map", "a=FoldAll"], "a is to be walked in two ways", "FoldAll"),
    (["--map", "a case 2=GridBlock(1, SplitLast(32, Mask(Gen)))"], "Mask takes axes that begin at 0", "Mask"),
    (["--map", "a case 2=GridBlock(1, SplitLast(2048, Mask(ShiftLB(Gen))))"], "block.x is 2,048", "SplitLast"),
    (["--map", "a case 0=Jing"], "a case is the number of a test, from 1 on, or `rest`", "0"),
    (["--map", "a case -1=Jing"], "a case is the number of a test", "-1"),
    (["--map", "a case 1=Levels([warp, lane], Gen)"], "owners hold segments, and a case has none", "Levels"),
])
def test_cases_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], says: str,
                              word: str) -> None:
    assert main(["compile", chained(tmp_path), "-e", "ends", "--target", "cudasim", "--emit", "fused", *words]) == 1
    told = capsys.readouterr().err
    assert says in told and re.search(rf"\^{{{len(word)}}}(?!\^)", told), told


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_known_sizes_may_leave_no_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That is no mistake then: tests are gone that all elements pass."""
    asked_for = ["map a case 2 by Jing", "map a case rest by Jing"]
    for pragmas, words in ((asked_for, []), ([], ["--map", "a case rest=Jing"])):
        path = chained(tmp_path, *pragmas)
        assert main(["run", path, "-e", "ends", "[1]", "--target", "cudasim", *words]) == 0
        assert capsys.readouterr() == ("[10]\n", "")


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_a_case_beyond_all_tests_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where sizes are known, and where the program has been kept on disk."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache_folder.cache_clear()
    path = chained(tmp_path, "map a case 7 by Jing")
    for command in ("run", "run", "profile"):
        assert main([command, path, "-e", "ends", "[1, 2, 3, 4]", "--target", "cudasim"]) == 0
        told = capsys.readouterr().err
        assert told.startswith("warning: no element is in case 7: those of tests of indices here are case 1, case 2, ")
        assert re.search(r"\^(?!\^)", told) and told.count("warning") == 1
    assert main(["run", path, "-e", "ends", "[1, 2, 3, 4]"]) == 0
    assert capsys.readouterr().err == "", "CPUs ignore mappings"


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_a_pragma_for_no_kernel_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, CHAINED.replace("};\n", "}; % map v by Jing %\n") + "ends([1, 2]);\nends([3]);\n")
    words = ["--target", "cudasim"]
    assert main(["run", path, *words]) == main(["run", path, "-e", "ends", "[1, 2]", *words]) == 0
    told = capsys.readouterr().err
    assert told.count("warning: no kernel computes v: it comes from outside") == 2 and "\nhint: there are a\n" in told
    with pytest.warns(UserWarning, match="no kernel computes v"):
        nessie.load(path, target="cudasim").ends([1, 2])


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
def test_the_prompt_and_python_tell_what_nothing_is_called(monkeypatch: pytest.MonkeyPatch,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    """Once, and not of what a form binds that has yet to run."""
    text = CHAINED + "function twice(v) = let q = {x + x : x in v} in q;\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{text}:map q=Jing\n:map zz=Jing\nends([1, 2]);\nends([3]);\n"
                                                 "twice([1]);\n"))
    assert main(["--target", "cudasim"]) == 0
    assert capsys.readouterr().err == ("warning: :map zz=Jing changes nothing so far: no form that ran has a kernel "
                                       "that computes zz\nhint: there are a\n")
    program = nessie.compile(text, target="cudasim", mappings={"q": "Jing", "zz": "Jing"})
    with pytest.warns(UserWarning, match="computes zz\nhint: there are a") as told:
        program.ends([1, 2])
        program.twice([1, 2])
        program.ends([3])
    assert len(told) == 1 and told[0].filename == __file__


def test_hints_name_what_users_have_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = "function next(v) = {x + 1 : x in v};\n"
    counted = "function iota(n) = let b = {i * i : i in [0:n]} in b;\n"
    one = "function one(n) = n + 1;\n"
    for text, words, there in ((NEST, TYPE, "a, b, it, it_1"), (plain, ["-e", "next", "-t", "[int]"], "next"),
                               (counted, ["-e", "iota"], "b"), (one, ["-e", "one"], "no kernels")):
        path = written(tmp_path, text)
        assert main(["compile", path, *words, "--target", "cuda", "--emit", "fused", "--map", "zz=Jing"]) == 1
        assert f"\nhint: there are {there}\n" in capsys.readouterr().err
    path = written(tmp_path, NEST)
    for target in ("cpu", "reference"):         # what arguments compute has no name
        assert main(["run", path, "-e", "nest", "[1, 2]", "[3, 4, 5]", "--target", target, "--map", "zz=Jing"]) == 0
        assert "\nhint: there are a, b, it, it_1\n" in capsys.readouterr().err


def test_ragged_rows_have_no_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "function main(m) : [[int]] -> [[int]] = let a = {{if j < 2 then 1 else x : x in r; j in "
                             "[0:#r]} : r in m} in a;\n")
    assert main(["run", path, "-e", "main", "[[1], [2, 3]]", "--target", "cudasim", "--map", "a case 1=Jing"]) == 1
    assert "rows of its space have lengths of their own" in capsys.readouterr().err


def test_mistyped_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for pragma, meant in (("map a case 1 by jing", "Jing"), ("map a cas 1 by Jing", "case"),
                          ("mapp a case 1 by Jing", "map")):
        assert main(["check", chained(tmp_path, pragma)]) == 0
        told = capsys.readouterr().err
        assert told.startswith("warning: this comment looks like a pragma, and is none\n")
        assert f"did you mean {meant}?" in told
    assert main(["check", chained(tmp_path, "map a case one by Jing")]) == 1
    assert "a case is the number of a test" in capsys.readouterr().err
    (wish,) = of_source(Source("test.nesl", CHAINED.replace("};\n", "}; % map a case 2 by Jing %\n")))[0]
    assert (wish.kind, wish.first, wish.case, wish.second) == (MAP, "a", "2", "Jing")
    assert wish.option == "--map a case 2=Jing"


def test_explanations_tell_partitions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", chained(tmp_path, f"map a case 2 by {SHIFTED}"), "-e", "ends", "--target", "cudasim"]
    assert main(words) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"case 2 {SHIFTED}, by the pragma at" in told
    assert f"case 2: [2] <= iv < [#v] step [2] {SHIFTED} grid (" in told
    assert "case 1: iv < [min(2, #v)] GridBlock(1, SplitLast(256, ShiftLB(Gen)))" in told
    assert main([*words, "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["mappings"]
    assert [part["case"] for part in note["parts"]] == ["1", "2", "rest"]
    assert note["parts"][2]["space"] == "[3] <= iv < [#v] step [2]" and not note["launch"]
    assert main(["compile", *words[1:], "--emit", "graph"]) == 0
    assert f'walked_by "case 2 {SHIFTED}"' in capsys.readouterr().out


def test_what_has_cases_shares_no_launch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = ("function main(v) : [int] -> ([int], [int]) = let a = {if i < 2 then x else 0 : x in v; i in [0:#v]};\n"
            "  b = {if i < 3 then x else 1 : x in v; i in [0:#v]} in (a, b);\n")
    words = [written(tmp_path, text), "-e", "main", "--target", "cudasim"]
    for asked_for, kernels in (([], 1), (["a case 1=Jing"], 2), (["a case 1=Jing", "b case 1=Jing"], 2)):
        wishes = [word for ask in asked_for for word in ("--map", ask)]
        assert main(["compile", *words, "--emit", "fused", *wishes]) == 0
        assert capsys.readouterr().out.count("kernel ") == kernels
    assert main(["explain", *words, "--all", "--map", "a case 1=Jing"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "walked by case 1 Jing, and partitions have launches of their own, which nothing shares [mapping]" in told
    assert main(["compile", *words, "--emit", "fused", "--map", "a case 1=Jing", "--fuse-edge", "a,b"]) == 1
    assert "cannot share a kernel: " in capsys.readouterr().err


@pytest.mark.parametrize(("levels", "mapping"), [
    ("grid,block", "Levels([grid, block], Gen)"), ("grid, thread", "Levels([grid, thread], Gen)"),
    ("grid , serial", "Levels([grid, serial], Gen)"), ("warp,thread", "Levels([warp, lane], Gen)"),
    ("warp,lane", "Levels([warp, lane], Gen)"), ("thread,serial", "Levels([thread, serial], Gen)"),
    ("THREAD,thread", "Levels([thread, serial], Gen)")])
def test_lists_have_a_level_for_each_axis(levels: str, mapping: str, tmp_path: Path,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, NEST)
    assert f"by {mapping}" in fused(path, capsys, "--level", f"a={levels}")
    path = written(tmp_path, with_pragma(f"level a by {levels}"))
    assert main(["check", path]) == 0
    assert f"by {mapping}" in fused(path, capsys)
    if compiler.found():
        assert main(["run", path, "-e", "nest", "[1, 2]", "[3, 4, 5]", "--target", "cudasim"]) == 0
        assert capsys.readouterr() == ("[44, 75]\n", "")


@pytest.mark.parametrize(("levels", "says", "word"), [
    ("grid, wrap", "there is no level wrap", "wrap"), ("wrap", "there is no level wrap that owns segments", "wrap"),
    ("b, block", "there is no level b", "b"), ("grid", "there is no level grid that owns segments", "grid"),
    ("grid", "; grid is one of a list, a level for each axis, such as grid,block", "grid"),
    ("Jing", "there is no level Jing that owns segments", "Jing"),
    ("Jing", "; Jing is a mapping: --map NAME=Jing", "Jing"),
    ("grid, grid, block", "a cannot be walked by grid, grid, block: Levels names 3 levels, and here are 2", ""),
    ("block, grid", "levels go from grid over block to thread", ""),
    ("block, warp", "warp walks segments", ""),
    ("block, serial", "a block's segment are walked by lane", ""), ("threads, lane", "threads is a level of CPUs", "")])
def test_lists_of_levels_that_cannot_be(levels: str, says: str, word: str, tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, with_pragma(f"level a by {levels}"))
    assert main(["compile", path, *TYPE, "--target", "cuda", "--emit", "fused"]) == 1
    told = capsys.readouterr().err
    assert says in told
    if word:
        line, carets = next((line, told.splitlines()[at + 1]) for at, line in enumerate(told.splitlines())
                            if levels in line and " | " in line)
        assert line[carets.index("^"):carets.rindex("^") + 1] == word
    assert main(["compile", written(tmp_path, NEST), *TYPE, "--emit", "fused", "--target", "cuda", "--level",
                 f"a={levels}"]) == 1
    told = capsys.readouterr().err
    assert says in told and (not word or f"| {' ' * (2 + levels.index(word))}{'^' * len(word)}\n" in told)


@pytest.mark.parametrize("value", ["warp", "=warp", "a=", "a", "a=warp,", "a=,warp", "a=grid,,block"])
def test_an_option_that_is_no_list_of_levels(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", written(tmp_path, NEST), *TYPE, "--emit", "fused", "--target", "cuda", "--level",
                 value]) == 1
    assert "error: " in capsys.readouterr().err


@pytest.mark.parametrize(("chain", "told"), [
    ("if i == j then 1 else if j < 3 then 7 else 0",
     "no test of a case is iv[0] == iv[1]: it is made in case rest, as is 1 behind it"),
    ("let x = v[i] in if x > 0 then 1 else x", "no test of a case is v[iv[0]] > 0: it is made in case rest"),
    ("if j < 3 then 7 else 0", "")])
def test_explanations_tell_tests_of_no_case(tmp_path: Path, capsys: pytest.CaptureFixture[str], chain: str,
                                            told: str) -> None:
    path = written(tmp_path, f"function main(v) : [int] -> [[int]] = let b = {{{{if i < 1 then j else {chain} : j in "
                             "[0:#v]} : i in [0:#v]}; % map b case 1 by FoldAll % in b;\n")
    words = ["explain", path, "-e", "main", "--target", "cudasim"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert [line.strip() for line in said.splitlines() if "no test of" in line] == ([told] if told else [])
    assert main([*words, "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["mappings"]
    assert note.get("behind") == (1 if "behind" in told else 0 if told else None)


def test_the_word_that_nothing_is_called_is_underlined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "function ends(v) : [int] -> [int] = let total = {x + 1 : x in v} in total;\n")
    for option, value in (("--map", "totl=Jing"), ("--level", "totl=grid,block")):
        assert main(["compile", path, "-e", "ends", "--target", "cuda", "--emit", "fused", option, value]) == 1
        told = capsys.readouterr().err
        assert f"error: nothing is called totl\n --> {option}:1:1\n" in told and "\n  | ^^^^\n" in told
        assert "did you mean total?" in told


def test_what_is_for_gpus_is_told_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And what no space has is an error there, in pragmas by `nessie check`."""
    path = written(tmp_path, NEST)
    for target in ("cpu", "reference", "dask"):
        words = ["run", path, "-e", "nest", "[1, 2]", "[3, 4, 5]", "--target", target]
        for option in (["--map", "a=Jing"], ["--level", "a=grid,block"]):
            assert main([*words, *option]) == 0
            assert f"is for threads of a GPU, and this runs on {target}\n" in capsys.readouterr().err
        for option in (["--map", "a=GridBlock(4, Gen)"], ["--level", "a=threads,lane"], ["--level", "a=warp,"]):
            assert main([*words, *option]) == 1
            assert "error: " in capsys.readouterr().err
    path = written(tmp_path, with_pragma("map a by GridBlock(1, SplitLast(4096, Gen))"))
    assert main(["check", path]) == 1
    assert "error: block.x is 4,096" in capsys.readouterr().err


def test_one_mapping_is_for_all_of_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", written(tmp_path, with_pragma("map a by Jing, FoldAll"))]) == 0
    told = capsys.readouterr().err
    assert "one mapping is for all of it, another for a case" in told and "^^^^^^^^^\n" in told
