"""The command line: what goes to standard output and error, exit status, and which words are whose."""
from __future__ import annotations

import json
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest
from paths import ROOT
from processes import finished

from nessie import driver, forms, pipeline
from nessie.base.source import IllFormed, InternalError, Source, UsageError
from nessie.cudagen.cuda.cudasim.compiler import found
from nessie.syntax import parse
from nessie.tool.cli import main
from nessie.tool.command_line import parse_command_line
from nessie.tool.table import SUBCOMMANDS

PROGRAM = """\
datatype pair(int, int);
function add(a, b) = a + b;
function twice(v) = {x * 2 : x in v};
function id(a) = a;
base = 10;
function more(pair(a, b)) = a + b + base;
add(1, 2);
1 / 0;
twice([1, 2]);
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.nesl"
    path.write_text(PROGRAM)
    return str(path)


def nessie(*words: str, status: int = 0) -> None:
    assert main(["--target", "reference", *words]) == status


def test_run_prints_every_form_and_goes_on_after_an_error(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    nessie("run", program, status=1)
    out, err = capsys.readouterr()
    assert out.splitlines()[-4:] == ["base = 10 : int", "more = fn : pair -> int", "it = 3 : int",
                                     "it = [2, 4] : [int]"]
    assert "Divide by zero." in err and "program.nesl:8:1" in err and "1 / 0" in err


def test_run_with_an_entry_prints_only_the_result(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, printed in [(["add", "-5", "-(1+2)*2"], "-11"), (["twice", "[1:4]"], "[2, 4, 6]"),
                           (["add", "1", "--fuse", "none", "--", "-2"], "-1"), (["ADD", "(1, 2)"], "3"),
                           (["more", "pair(1, 2)"], "13"), (["id", '"a"'], '"a"')]:
        nessie("run", program, "-e", *words)
        assert capsys.readouterr() == (printed + "\n", "")


def test_what_a_file_tells_is_no_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tells.nesl"
    path.write_text("describe sum; function g(x) = t; function g(x) = x + 1; v |= 2; set verbose on;")
    told = ["sum : [a] -> a", "Redefining g", "v : int", "launches: 0"]
    for words, printed in [(["run", str(path), "-e", "g", "2"], "3\n"), (["run", str(path), "-e", "v"], "2\n"),
                           (["eval", "set verbose off; v", "-f", str(path)], "it = 2 : int\n")]:
        nessie(*words)
        out, err = capsys.readouterr()
        assert out == printed
        assert all(text in err for text in told[:4 if words[0] == "run" else 3])
    nessie("eval", "describe v;", "-f", str(path))
    assert "variable of the session" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["run", "FILE", "-e", "g", "2"], ["profile", "FILE", "-e", "g", "2"],
                                   ["profile", "FILE", "-x", "g(y)"], ["eval", "g(y)", "-f", "FILE"],
                                   ["explain", "FILE", "-e", "g", "2"]], ids=" ".join)
def test_bare_expressions_of_a_file_are_not_evaluated_for_what_is_asked_about_it(
        words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.nesl"
    path.write_text('function g(x) = x + 1; print_line("computed"); 1 / 0; y = g(1); describe sum; sum([y]);')
    nessie(*[str(path) if word == "FILE" else word for word in words])
    out, err = capsys.readouterr()
    assert "computed" not in out + err and "it = 2 : int" not in out + err
    assert "sum : [a] -> a" in err and out.count("NESL") == ("profile" in words)


@pytest.mark.parametrize("command", ["explain", "graph", "compile", "inspect"])
def test_wrong_bare_expressions_are_no_matter_where_a_function_is_compiled(
        command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.nesl"
    path.write_text('function g(v) : [int] -> int = sum(v); sort("cab"); nothing;')
    more = {"compile": ["--emit", "typed"], "inspect": ["-o", str(tmp_path / "out.html")]}
    nessie(command, str(path), "-e", "g", *more.get(command, []))
    assert "error" not in capsys.readouterr().err


def test_files_as_arguments_and_results(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.json").write_text("[1, 2, 3]")
    result = tmp_path / "out.json"
    nessie("run", program, "-e", "twice", f"@{tmp_path}/in.json", "-o", str(result))
    assert json.loads(result.read_text()) == [2, 4, 6]
    nessie("run", program, "-e", "more", "pair(1,2)", "--", "@none.json", status=1)
    assert "none.json" in capsys.readouterr().err


def test_a_file_is_one_argument_where_the_others_have_defaults(tmp_path: Path,
                                                               capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "p.nesl"
    program.write_text("function heavy(rows, limit := 1) = {(k,v) in rows | v > limit};"
                       "function pair(x, n := 2) = (x, n);")
    (tmp_path / "kv.csv").write_text("k,v\na,1.5\nb,0.5\n")
    (tmp_path / "p.json").write_text("[7, 9]")
    nessie("run", str(program), "-e", "heavy", f"@{tmp_path / 'kv.csv'}")
    assert '[("a", 1.5)]' in capsys.readouterr().out
    nessie("run", str(program), "-e", "pair", f"@{tmp_path / 'p.json'}")
    assert "([7, 9], 2)" in capsys.readouterr().out


def test_a_file_without_tuples_is_no_two_arguments(program: str, tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.json").write_text("[1, 2]")
    nessie("run", program, "-e", "add", f"@{tmp_path}/in.json")
    assert capsys.readouterr() == ("3\n", "")
    for name in ("in.csv", "in.txt", "in.npy", "in.mtx"):
        nessie("run", program, "-e", "add", f"@{name}", status=1)
        assert "error: add takes 2 arguments, and gets 1\n" in capsys.readouterr().err
    nessie("run", program, "-e", "add", "@in.dat", status=1)
    assert "no kind of file" in capsys.readouterr().err


def test_eval(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, printed in [(["1 + 2"], "it = 3 : int"), (["-5"], "it = -5 : int"), (["-#[1, 2] + 1"], "it = -1 : int"),
                           (["--", "-(1 + 2)"], "it = -3 : int"), (["twice([3])", "-f", program], "it = [6] : [int]")]:
        nessie("eval", *words)
        assert capsys.readouterr().out == printed + "\n"


def test_eval_jsonl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import io
    cases = ["1; x = 2; x + 1;", "y = 1;\n  y + t;", "sum({a : a in [1:5]});", "x;", "1 + t; 2;\n[1][7]; 9;"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(
        json.dumps({"id": number, "source": source}) + "\n" for number, source in enumerate(cases))))
    nessie("eval", "--jsonl")
    first, second, third, fourth, fifth = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["id"], first["value"], first["type"], first["output"]) == (0, "3", "int", "")
    assert (second["error"]["line"], second["error"]["column"]) == (2, 3) and "value" not in second
    assert third["stats"]["launches"] > 0 and third["stats"]["interpreted"] == 0
    assert "x is not defined" in fourth["error"]["message"]
    assert not any("errors" in found for found in (first, second, third, fourth))
    assert [error["line"] for error in fifth["errors"]] == [1, 2] and fifth["value"] == "9"


def test_pictures_are_in_the_answers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    draws = 'draw_points([(0,0)], make_window(((0,0),(40,30)), bounding_box([(0,0),(1,1)]), "points", display));'
    sources = [draws, "1;", f"{draws} 1 / 0;"]
    monkeypatch.setattr(sys, "stdin", [json.dumps({"id": source, "source": source}) for source in sources])
    nessie("eval", "--jsonl")
    drawn, plain, failed = map(json.loads, capsys.readouterr().out.splitlines())
    (picture,) = drawn["pictures"]
    assert picture["title"] == "points" and picture["svg"].startswith("<svg") and picture["width"] <= 40
    assert "pictures" not in plain and failed["pictures"] == [picture] and "error" in failed


def test_commands_work_in_json_lines_and_their_output_is_the_session_s(monkeypatch: pytest.MonkeyPatch,
                                                                         capsys: pytest.CaptureFixture[str]) -> None:
    sources = ["describe sum; 1;", "function g(x) = x + 1; function g(x) = x; g(2);", "1; exit; 2;", "shell \"ls\";",
               "x |= 1; x &= 2;"]
    monkeypatch.setattr(sys, "stdin", [json.dumps({"id": source, "source": source}) for source in sources])
    nessie("eval", "--jsonl")
    described, redefined, left, refused, background = map(json.loads, capsys.readouterr().out.splitlines())
    assert described["value"] == "1" and described["output"].startswith("sum : [a] -> a")
    assert redefined["value"] == "2" and redefined["output"].startswith("Redefining g with a new type.")
    assert (left["value"], left["type"]) == ("", "")
    assert "allowed" in refused["error"]["message"] and "background" in background["error"]["message"]


def test_a_program_may_leave(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "leaves.nesl"
    path.write_text("function g(x) = x + 1; g(1); exit; 1/0;")
    nessie("run", str(path))
    assert capsys.readouterr() == ("g = fn : int -> int\nit = 2 : int\n", "")
    nessie("run", str(path), "-e", "g", "2")
    assert capsys.readouterr() == ("3\n", "")


def test_check_reports_every_static_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.nesl"
    path.write_text("a = 1 + t;\nb = ;\nc = 1/0;\nd = e;\n")
    nessie("check", str(path), status=1)
    err = capsys.readouterr().err
    assert [f"bad.nesl:{line}:" in err for line in (1, 2, 3, 4)] == [True, True, False, True]


EMITTED = {"syntax": "function twice(v)", "typed": "twice", "mono": "function twice", "flat": "MAP", "graph": "graph",
           "schedule": "region twice", "fused": "MAP", "loops": "for (", "llvm": "define", "cuda": "__global__"}


@pytest.mark.parametrize("form", EMITTED)
def test_compile_emits_every_form(form: str, program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", program, "-e", "twice", "-t", "[int]", "--emit", form]) == 0
    assert EMITTED[form] in capsys.readouterr().out


def test_the_pipeline_resumes_from_the_text_of_a_form(program: str, tmp_path: Path,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    dump = tmp_path / "dump"
    assert main(["show", program, "--after", "fuse", "-e", "twice", "--dump", str(dump)]) == 0
    whole = capsys.readouterr().out
    names = sorted(path.name for path in dump.iterdir())
    assert names[:2] == ["01-parse.syntax", "02-infer.typed"] and names[-1].endswith("-fuse.fused")
    for name in names[1:6]:
        assert main(["show", str(dump / name), "--after", "fuse", "-e", "twice"]) == 0
        resumed = capsys.readouterr().out
        assert [line for line in resumed.splitlines() if "MAP" in line] == \
            [line for line in whole.splitlines() if "MAP" in line], name


def test_kernels_that_share_their_sites_compile_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.nesl"
    path.write_text("function g(a, b) = ({x / a : x in [1, 2, 3]}, {x / b : x in [1, 2, 3]});")
    compiled = ["-e", "g", "-t", "(int, int)"]
    assert main(["show", str(path), "--after", "generate", *compiled]) == 0
    whole = capsys.readouterr().out
    nessie("compile", str(path), "--emit", "flat", "-o", str(tmp_path / "p.flat"), *compiled)
    assert ": site" in (tmp_path / "p.flat").read_text()
    assert main(["show", str(tmp_path / "p.flat"), "--after", "generate"]) == 0
    assert capsys.readouterr().out == whole


def test_the_code_of_a_target_is_shown_without_naming_it(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    for after, holds in (("cuda", "__global__"), ("llvm", "define"), ("generate", "for (")):
        assert main(["show", program, "-e", "twice", "-t", "[int]", "--after", after]) == 0
        assert holds in capsys.readouterr().out


def test_a_dump_of_a_run_has_a_folder_per_form(program: str, tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    assert main(["run", program, "--dump", str(dump)]) == 1
    made = {folder.name: sorted(path.name for path in folder.iterdir()) for folder in dump.iterdir()}
    assert sorted(made) == [f"{number:02}" for number in range(1, 10)]
    assert made["02"] == ["01-parse.syntax", "02-infer.typed"]
    ran = [f"{pipeline.PASSES.index(p) + 1:02}-{p.name}.{p.output.name}" for p in pipeline.stages(pipeline.Job())]
    assert made["07"] == made["09"] == ran
    assert "define" in (dump / "09" / made["09"][-2]).read_text()


def test_passes_lists_the_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    nessie("passes")
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names[:3] == ["parse", "infer", "monomorphise"] and "fuse" in names


MISUSED = [["nonsense"], ["run"], ["eval"], ["run", "a.nesl", "b.nesl"], ["compile", "a.nesl"],
           ["show", "a.nesl"],
           ["compile", "a.nesl", "--emit", "loops", "--target", "reference"],
           ["show", "a.nesl", "--after", "llvm", "--target", "cuda"],
           ["compile", "a.nesl", "--emit", "nonsense"], ["eval", "1", "--memory", "lots"],
           ["eval", "1", "--depth", "0"],
           ["eval", "1", "--target", "tpu"], ["run", "a.nesl", "-o", "x.json"], ["eval", "1", "--nonsense"],
           ["eval", "1", "--size", "n"], ["compile", "a.nesl", "--emit", "cuda", "--target", "cpu"],
           ["eval", "1", "--threads"], ["eval", "--jsonl", "1"], ["eval", "--jsonl", "-f", "a.nesl"],
           ["--targ", "cpu", "eval", "1"]]


@pytest.mark.parametrize("words", MISUSED, ids=" ".join)
def test_misuse_has_status_2(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                             capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.nesl").write_text("1;")
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and "Traceback" not in err


@pytest.mark.parametrize("words", [["run", "no such file"], ["run", "."], ["eval", "1 +"], ["eval", "1 + t"],
                                   ["eval", "1/0"], ["eval", "nothing"], ["eval", ""],
                                   ["compile", "binary", "--emit", "syntax"],
                                   ["eval", "1", "-f", "binary"]], ids=" ".join)
def test_errors_have_status_1(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                              capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and "Traceback" not in err


def test_options_stand_anywhere_and_arguments_may_look_like_them() -> None:
    words = ["--target", "cpu", "--seed=3", "run", "a.nesl", "-e", "g", "-5", "-x+1", "--depth", "7"]
    before = parse_command_line(words)
    assert (before.target, before.seed, before.depth, before.arguments) == ("cpu", 3, 7, ["-5", "-x+1"])
    after = parse_command_line(["run", "-e", "g", "1", "-o", "p.json", "a.nesl", "--", "-o", "--depth", "--"])
    assert (after.operand, after.output, after.arguments) == ("a.nesl", "p.json", ["1", "-o", "--depth", "--"])
    assert parse_command_line(["eval", "1", "--size", "n=5", "--size", "m=6"]).size == [("n", 5), ("m", 6)]
    assert parse_command_line(["eval", "1", "--memory", "2K"]).memory == 2048
    glued = parse_command_line(["run", "a.nesl", "-eg", "-exp(1.0)", "2", "-op.json"])
    assert (glued.entry, glued.arguments, glued.output) == ("g", ["-exp(1.0)", "2", "-op.json"], None)
    with pytest.raises(UsageError, match="no option --memroy") as raised:
        parse_command_line(["run", "a.nesl", "-e", "g", "1", "--memroy", "1G"])
    assert "--memory" in raised.value.hint
    assert parse_command_line(["run", "-op.json", "a.nesl", "-eg", "1"]).output == "p.json"
    assert parse_command_line(["eval", "-float(3)"]).operand == "-float(3)"
    with pytest.raises(UsageError):
        parse_command_line(["check", "a.nesl", "-e", "g"])


def test_an_internal_error_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*inputs: object) -> object:
        raise KeyError("lost")

    monkeypatch.setattr("nessie.flatten.flatten.flatten", broken)
    nessie("eval", "1", status=1)
    err = capsys.readouterr().err
    assert err.startswith("internal error: the pass flatten failed: KeyError") and "Traceback" not in err


def test_ill_formed_programs_are_found_where_checking_is_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(program: object) -> None:
        raise IllFormed("an invariant")

    monkeypatch.setattr("nessie.mono.check.check", broken)
    source = Source("test", "function g(x) = x + 1;")
    until = pipeline.pass_named("inline")
    with pytest.raises(InternalError, match="the pass monomorphise made an ill-formed mono program: an invariant"):
        driver.compile_program(pipeline.Job(entry="g"), forms.TEXT, source, until)
    late = pipeline.Checking(share=0.5, spent=1.0, checking=60.0)
    driver.compile_program(pipeline.Job(entry="g", checks=late), forms.TEXT, source, until)
    assert late.spent > 1.0 and late.checking == 60.0


def test_python_m_nessie_and_a_reader_that_leaves() -> None:
    command = [sys.executable, "-m", "nessie", "eval", "1 + 1", "--target", "reference"]
    root = ROOT
    assert finished(command, cwd=root).stdout == "it = 2 : int\n"
    piped = finished(f"{sys.executable} -m nessie passes | true", shell=True, cwd=root)
    assert "Traceback" not in piped.stderr


def test_inspect_names_its_page_and_opens_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    Path("p.nesl").write_text("function twice(x) : int -> int = 2 * x;")
    nessie("inspect", "p.nesl", "-e", "twice", "--open")
    assert capsys.readouterr().err == "twice.html is written\n"
    assert opened == [(tmp_path / "twice.html").resolve().as_uri()]
    nessie("inspect", "p.nesl", "-e", "twice", "-o", "page.html")
    assert capsys.readouterr().err == "" and len(opened) == 1
    assert Path("page.html").read_text("utf-8") == Path("twice.html").read_text("utf-8")


@pytest.mark.parametrize("words", [["compile", "-e", "twice", "--emit", "flat"],
                                   ["compile", "-e", "twice", "--emit", "syntax"], ["graph", "-e", "twice"],
                                   ["explain", "-e", "twice"], ["show", "--after", "infer"],
                                   ["inspect", "-e", "twice", "-o", "page.html"]], ids=lambda words: words[0])
def test_a_program_that_is_compiled_is_parsed_once(words: list[str], tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """And the files that it loads; warnings look at what has been parsed."""
    monkeypatch.chdir(tmp_path)
    Path("p.nesl").write_text('load "q.nesl"; function twice(xs) = {x + more : x in xs};')
    Path("q.nesl").write_text("more = 3;")
    parsed: list[str] = []
    parse_forms = parse.parse_forms
    monkeypatch.setattr(parse, "parse_forms", lambda source, *more: parsed.append(source.name)
                        or parse_forms(source, *more))
    nessie(words[0], "p.nesl", *words[1:])
    assert parsed == ["p.nesl", "q.nesl"]


@pytest.mark.parametrize("option", ["--time-limit", "--memory", "--depth", "--threads", "--seed", "--size=n"])
@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e308", "1e308T", "9" * 400, "", "x", "1e", "0x10", "-1.5"])
def test_an_option_takes_no_number_that_cannot_be_meant(option: str, number: str) -> None:
    with pytest.raises(UsageError, match=option.partition("=")[0]):
        parse_command_line(["eval", "1", f"{option}={number}"])


@pytest.mark.parametrize("target", ["reference", "cpu", "cudasim"])
def test_the_largest_limits_are_none(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    if target == "cudasim" and not found():
        pytest.skip("needs a C++ compiler")
    largest = ["--time-limit=1e9", "--memory=1e18", "--depth=1e18"]
    assert main(["eval", "sum({i * 2 : i in [0:4]})", "--target", target, *largest]) == 0
    assert capsys.readouterr() == ("it = 12 : int\n", "")


def test_what_is_no_text_in_a_program_or_profile_is_told_with_its_line(tmp_path: Path,
                                                                      capsys: pytest.CaptureFixture[str]) -> None:
    program, loader = tmp_path / "p.nesl", tmp_path / "q.nesl"
    program.write_bytes(b"x = 1;\r\ny = \"caf\xe9\";\n")
    loader.write_text(f'load "{program}";')
    for words in (["run", str(program)], ["run", str(loader)], ["check", str(program)],
                  ["graph", str(program), "-e", "x"], ["eval", "1", "-f", str(program)],
                  ["eval", "1", "--machine", str(program)]):
        nessie(*words, status=1)
        said = capsys.readouterr().err
        assert f"{program}, line 2: byte 0xe9 is not UTF-8 text" in said and "rror: " in said
        assert ("load" in said) == (str(loader) in words)


def test_cache_tells_what_is_kept_and_removes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == str(tmp_path / "nessie")
    assert main(["eval", "{x + 417 : x in [1]}", "--target", "cpu"]) == 0
    (tmp_path / "nessie" / "history").write_text("1;")
    capsys.readouterr()
    assert main(["cache"]) == 0
    kept = [*(tmp_path / "nessie").glob("*.o")]
    assert kept and f"{len(kept)} file" in capsys.readouterr().out
    assert main(["cache", "--clear"]) == 0
    assert f"{len(kept)} file" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "nessie").iterdir()] == ["history"]
    assert main(["eval", "{x + 417 : x in [1]}", "--target", "cpu"]) == 0
    assert "it = [418]" in capsys.readouterr().out


def test_cache_without_a_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert main(["cache"]) == 1
    assert "there is no folder for a cache" in capsys.readouterr().err


def test_help_shows_options_under_headings_where_they_do_something(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(command: str) -> str:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        return capsys.readouterr().out
    run, graph, check, cache = map(shown, ("run", "graph", "check", "cache"))
    assert run.index("where it runs:") < run.index("--threads") < run.index("limits:") < run.index("--memory")
    assert "--fuse-edge" in graph and "--memory" not in graph and "--seed" not in graph
    assert "--time-limit" in check and "--fuse" not in check and "limits:" not in cache
    assert run.rstrip().endswith("nessie run program.nesl -e total @rows.json -o out.csv --target cudasim")
    assert main(["check", str(ROOT / "nesl_examples" / "norm2.nesl"), "--seed", "3"]) == 0, "what is hidden is taken"


def test_every_command_has_its_function() -> None:
    for name, row in SUBCOMMANDS.items():
        module, function = row.function.split(":")
        found = getattr(import_module(f"nessie.tool.{module}"), function)
        assert [*signature(found).parameters] == ["options"], name
