"""%%nesl and %nesl in IPython."""
from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

import nessie
from nessie.base.source import NessieError
from nessie.cudagen.cuda.cudasim.compiler import found
from nessie.running.targets import Target


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Iterator[InteractiveShell]:
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "nessie")
    yield shell
    shell.history_manager.end_session()
    capsys.readouterr()


def test_a_cell_defines_functions(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%nesl\nfunction sq(xs) = {x * x : x in xs};\ndatatype pt(int, int);\nn = 3;\nsq([1, 2])")
    assert capsys.readouterr().out.splitlines() == ["sq = fn : [a] -> [a] :: (a in number)",
                                                    "pt = fn : (int, int) -> pt", "n = 3 : int", "it = [1, 4] : [int]"]
    shell.run_cell("result = (sq([1, 2, 3]).tolist(), n, pt(1, 2))").raise_error()
    assert shell.user_ns["result"] == ([1, 4, 9], 3, (1, 2)) and "it" not in shell.user_ns
    shell.run_cell("%%nesl\nfunction four(xs) = sq(sq(xs));").raise_error()
    assert shell.user_ns["four"]([2]).tolist() == [16]
    shell.run_cell("%%nesl\nfunction sq(xs) = {x : x in xs};").raise_error()
    assert shell.user_ns["sq"]([2]).tolist() == [2]


def test_errors_come_without_a_traceback(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.run_cell("%%nesl\nfunction bad(x) = x + ;\nfunction good(x) = x;").success
    said = capsys.readouterr()
    assert "error: syntax error" in said.err and "cell 1:1:" in said.err and "Traceback" not in said.err + said.out
    assert shell.user_ns["good"](1) == 1 and "bad" not in shell.user_ns
    assert shell.run_cell("%nesl good(").success and shell.run_cell("%nesl 1; 2").success
    assert shell.run_cell("%nesl function same(x) = x").success
    assert shell.run_cell("%%nesl tpu\nfunction same(x) = x;").success
    said = capsys.readouterr()
    assert said.err.count("\nerror: ") == 3 and said.err.startswith("error: ")
    assert said.err.count("%nesl takes an expression") == 2 and "there is no target tpu" in said.err
    assert "Traceback" not in said.err + said.out


def test_calls_that_fail_come_without_a_traceback(shell: InteractiveShell, capsys: pytest.CaptureFixture[str],
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run_cell("%%nesl\nfunction sq(x) = x * x;").raise_error()
    capsys.readouterr()
    for cell, said in [("sq.graph(type='[int]')", "error: sq takes a :: (a in number), not [int]\n --> cell 1:1:1"),
                       ("sq('a')", "error: sq is not for [char]"),
                       ("import nessie; nessie.compile('').none", "error: the program defines no none")]:
        assert not shell.run_cell(cell).success
        told = capsys.readouterr()
        assert (told.out + told.err).startswith(said) and "Traceback" not in told.out + told.err

    def broken(*_: Any) -> None:
        raise ValueError("a pass is broken")
    monkeypatch.setattr("nessie.api.calls.Calls.at_types", broken)
    assert not shell.run_cell("sq(3)").success
    assert "a pass is broken" in (told := capsys.readouterr().out) and "Traceback" in told and "in broken" in told


def test_a_line_gives_a_value(shell: InteractiveShell) -> None:
    shell.run_cell("value = %nesl {x + 1 : x in [1, 2]}").raise_error()
    assert shell.user_ns["value"].tolist() == [2, 3]


@pytest.mark.skipif(not found(), reason="needs a C++ compiler")
def test_a_cell_names_the_target_of_all_that_follows(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    targets: list[str] = []

    def watched(self: Target, built: Any) -> Any:
        targets.append(self.name)
        return device(self, built)
    device = Target.device
    monkeypatch.setattr(Target, "device", watched)
    shell.run_cell("%%nesl cudasim\nfunction sq(xs) = {x * x : x in xs};\nsq([2])").raise_error()
    shell.run_cell("value = sq([3]).tolist()").raise_error()
    shell.run_cell("more = %nesl sq([4])").raise_error()
    shell.run_cell("%%nesl\nsq([5])").raise_error()
    assert shell.user_ns["value"] == [9] and shell.user_ns["more"].tolist() == [16]
    assert targets == ["cudasim"] * 4
    shell.run_cell("%%nesl cpu\nsq([6])").raise_error()
    assert targets == ["cudasim"] * 4 + ["cpu"]


def test_a_target_that_cannot_be_used_changes_nothing(shell: InteractiveShell, capsys: pytest.CaptureFixture[str],
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise NessieError("there is no GPU")
    monkeypatch.setattr("nessie.cudagen.cuda.nvidia.detection.refuse_without", refuse)
    shell.run_cell("%%nesl cuda\n1 + 1").raise_error()
    said = capsys.readouterr()
    assert said.err == "error: there is no GPU\n" and said.out == ""
    shell.run_cell("%%nesl\n1 + 1").raise_error()
    assert capsys.readouterr().out == "it = 2 : int\n"


def test_a_functions_value_stays_in_the_program(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%nesl\nfunction sq(x) = x * x;\nfirst = 3;\nother = sq;\nlast = 4;").raise_error()
    assert shell.user_ns["last"] == 4 and "other" not in shell.user_ns
    shell.run_cell("mine = 5").raise_error()
    shell.run_cell("%%nesl\nfirst = sq;\nmine = sq;").raise_error()
    assert "first" not in shell.user_ns and shell.user_ns["mine"] == 5


def test_quit_ends_its_cell(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%nesl\n1; quit; 2;").raise_error()
    shell.run_cell("%%nesl\n3").raise_error()
    assert capsys.readouterr().out == "it = 1 : int\nit = 3 : int\n"


def test_what_is_told_goes_where_output_goes(shell: InteractiveShell) -> None:
    with redirect_stdout(io.StringIO()) as output:
        shell.run_cell("%%nesl\nfunction h(x) = x + 1;").raise_error()
        shell.run_cell("%%nesl\nfunction h(x) = (x, x);").raise_error()
    assert "Redefining h with a new type." in output.getvalue()


def test_a_cell_sets_options_of_all_that_follows(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%nesl --depth=50 --threads 1\nfunction g(n) = if n == 0 then 0 else g(n - 1) + 1;\n"
                   "g(10)").raise_error()
    assert "it = 10 : int" in capsys.readouterr().out
    assert not shell.run_cell("g(60)").success and "deeper than 50" in capsys.readouterr().out
    shell.run_cell("%%nesl\ng(60)").raise_error()
    assert "deeper than 50" in capsys.readouterr().err
    shell.run_cell("%%nesl --depth 100\ng(60)").raise_error()
    shell.run_cell("more = g(70)").raise_error()
    assert "it = 60 : int" in capsys.readouterr().out and shell.user_ns["more"] == 70


def test_a_cell_sets_the_seed(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = []
    for seed in (1, 1, 2):
        shell.run_cell(f"%%nesl --seed {seed}\nrand(1000000)").raise_error()
        drawn.append(capsys.readouterr().out)
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(("line", "said"), [
    ("--thread 1", "%%nesl has no option --thread\nhint: did you mean --threads? it has a target and"),
    ("--threads", "--threads needs a number, not nothing\nhint: %%nesl --threads 1"),
    ("--threads two", "--threads needs a number, not two"),
    ("--memory lots", "--memory needs a number, not lots\nhint: %%nesl --memory 2G"),
    ("--threads 0", "threads is a whole number from 1 to 10^18, not 0"),
    ("cpu cpu", "a cell has one target, not cpu and cpu"), ("slow", "there is no target slow; the targets are")])
def test_options_that_are_none_change_nothing(line: str, said: str, shell: InteractiveShell,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(f"%%nesl {line}\n1 + 1").raise_error()
    told = capsys.readouterr()
    assert said in told.err and told.out == ""
    shell.run_cell("%%nesl\n1 + 1").raise_error()
    assert capsys.readouterr().out == "it = 2 : int\n"


@pytest.mark.parametrize("cell", ["%%nesl\n:type slow", "%nesl :type slow"])
def test_commands_of_the_prompt_do_not_work_in_cells(cell: str, shell: InteractiveShell,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(cell).raise_error()
    said = capsys.readouterr().err
    assert "hint: commands of the prompt do not work in notebooks; of a function f, f.signature" in said


def test_names_of_pythons_are_not_taken_silently(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%nesl\nfunction len(x) = #x;\nfunction other(x) = x;").raise_error()
    told = capsys.readouterr().err
    assert told == "warning: len was Python's len, and is the cell's now\nhint: del len brings Python's back\n"
    shell.run_cell("%%nesl\nfunction len(x) = #x + 2;").raise_error()
    assert capsys.readouterr().err == "" and shell.user_ns["len"]([1]) == 3
    shell.run_cell("del len\nlength = len('abc')").raise_error()
    assert shell.user_ns["length"] == 3
    shell.run_cell("ord = 3").raise_error()
    shell.run_cell("%%nesl\nfunction ord(x) = x;\nfunction chr(x) = x;").raise_error()
    assert capsys.readouterr().err.count("warning: ") == 1 and shell.user_ns["ord"](1) == 1


@pytest.mark.parametrize(("value", "printed"), [
    ("sum", "fn : [a] -> a :: (a in number)"), ("(sqrt, 1)", "(fn, 1) : float -> float, int"),
    ("[sqrt]", "[fn] : [float -> float]"), ("box(sqrt)", "box(fn) : box(float -> float)"),
    ("[(1, box(sqrt))]", "[(1, box(fn))] : [(int, box(float -> float))]"), ("box", "fn : a -> box(a) :: (a in any)"),
])
def test_functions_are_shown_as_the_prompt_shows_them(shell: InteractiveShell, capsys: pytest.CaptureFixture[str],
                                                      value: str, printed: str) -> None:
    shell.run_cell("%%nesl\ndatatype box(a) :: (a in any);").raise_error()
    capsys.readouterr()
    for written in (f"%nesl {value}", f"%%nesl\n{value}"):
        shell.run_cell(written).raise_error()
        assert capsys.readouterr() == (f"it = {printed}\n", "")
    assert shell.run_line_magic("nesl", value) is None
    shell.run_cell(f"%%nesl\nheld = {value};").raise_error()
    assert "held" not in shell.user_ns


def test_cells_see_pythons_variables(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("import numpy as np\nrows = [[1, 2], [], [3]]\nk = 5\nBig = np.arange(4.0)").raise_error()
    capsys.readouterr()

    def line(text: str) -> Any:
        return shell.run_line_magic("nesl", text)
    assert line("{sum(r) : r in rows}").tolist() == [3, 0, 3]
    shell.run_cell("rows.append([7])").raise_error()
    assert line("{sum(r) : r in rows}").tolist() == [3, 0, 3, 7]                    # its present value
    assert line("sum(Big)") == 6.0
    shell.run_cell("%%nesl\nfunction more(x) = x + k;\nw = {#r : r in rows};\nmore(1)").raise_error()
    assert capsys.readouterr().out.splitlines() == ["more = fn : int -> int", "w = [2, 0, 1, 1] : [int]",
                                                    "it = 6 : int"]
    shell.run_cell("k = 100").raise_error()
    assert shell.user_ns["more"](2) == 7 and line("k") == 100               # a function keeps what it was defined with
    shell.run_cell("k = 2.5").raise_error()
    assert line("k + 1.0") == 3.5 and shell.user_ns["k"] == 2.5
    assert shell.user_ns["rows"] == [[1, 2], [], [3], [7]], "what was taken is not given back"


def test_the_program_comes_before_python(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("sum = 3\nn = 4").raise_error()
    shell.run_cell("%%nesl\nn = 5;").raise_error()
    assert shell.user_ns["n"] == 5
    shell.run_cell("n = 6").raise_error()
    capsys.readouterr()
    assert shell.run_line_magic("nesl", "sum([n])") == 5
    assert shell.run_line_magic("nesl", "let m = 1 in m") == 1


def test_what_cannot_be_used_of_python_is_told(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("import math\nd = {1: 2}\ndef call(x): return x").raise_error()
    capsys.readouterr()
    for text, told in (("{x : x in d}", "d, a variable of Python's, cannot be used here: a dict is no value of NESL"),
                       ("math", "math is not defined"), ("call(1)", "call is not defined"),
                       ("nowhere + 1", "nowhere is not defined")):
        assert shell.run_line_magic("nesl", text) is None
        said = capsys.readouterr().err
        assert told in said and "Traceback" not in said and " --> expression:1:" in said


DRAWS = """function draw(n) = let (win,_) = xps_make_window(((0,0),(10 * n,10)), "w", display);
    gc = xps_line_gc(xps_func_copy, xps_white_pixel(win), 0, win) in xps_draw_point((n,n), gc, win);
"""


def test_what_is_drawn_is_shown(shell: InteractiveShell) -> None:
    def shown(cell: str) -> list[dict[str, str]]:
        shell.display_pub = CapturingDisplayPublisher()
        shell.run_cell(cell).raise_error()
        return [out["data"] for out in shell.display_pub.outputs]

    both = shown(f"%%nesl\n{DRAWS}draw(3);\ndraw(4);")
    assert [data["image/svg+xml"].count("<svg") for data in both] == [1, 1]
    assert "'w': 40 x 10 pixels" in both[1]["text/plain"]
    assert 'width="50"' in shown("%nesl draw(5)")[0]["image/svg+xml"]
    assert 'width="60"' in shown("%%nesl\ndraw(6);\n1 / 0;")[0]["image/svg+xml"], "also where something fails"
    assert shown("%%nesl\n1 + 1;") == []


def test_calls_from_python_draw(tmp_path: Path) -> None:
    program = nessie.compile(DRAWS)
    program.draw(7)
    program.draw(8)
    first, second = program.drawn()
    assert (first.width, second.width, second.height) == (70, 80, 10) and first._repr_svg_() == first.svg
    assert program.drawn() == []
    second.save(str(tmp_path / "second.svg"))
    assert (tmp_path / "second.svg").read_text("utf-8") == second.svg
    with pytest.raises(NessieError, match="cannot write"):
        second.save(str(tmp_path / "none" / "second.svg"))
