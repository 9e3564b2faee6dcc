"""%%nesl and %nesl in IPython."""
from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell


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


def test_a_line_gives_a_value(shell: InteractiveShell) -> None:
    shell.run_cell("value = %nesl {x + 1 : x in [1, 2]}").raise_error()
    assert shell.user_ns["value"].tolist() == [2, 3]


def test_a_cell_names_the_target(shell: InteractiveShell) -> None:
    shell.run_cell("%%nesl cudasim\nfunction sq(xs) = {x * x : x in xs};").raise_error()
    shell.run_cell("value = sq([3]).tolist()").raise_error()
    assert shell.user_ns["value"] == [9] and shell.user_ns["sq"]._program._options.target == "cudasim"
