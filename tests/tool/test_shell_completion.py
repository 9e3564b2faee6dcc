"""Command lines completed in shells: what is offered where, by bash itself, and that all shells have a script."""
from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from paths import ROOT
from processes import finished

from nessie.tool.cli import main
from nessie.tool.command_line import build_parser
from nessie.tool.shell_completion import SHELLS, completing
from nessie.tool.table import SUBCOMMANDS

argcomplete = pytest.importorskip("argcomplete")
BASH = shutil.which("bash")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.nesl").write_text("base = 1; function mean(v) = sum(v) / #v; function median(v) = v[#v / 2]; 1;")
    Path("other.nesl").write_text('function broken(; load "rows";')
    for name in ("rows.mono", "rows.txt", "mine.json"):
        Path(name).write_text("")
    Path("sub").mkdir()


def offered(line: str) -> list[str]:
    """What may stand for the last word of the line."""
    words = shlex.split(line)
    last = "" if line.endswith(" ") else words.pop()
    finder = argcomplete.CompletionFinder(completing(build_parser()), always_complete_options="long",
                                          default_completer=lambda **_: [])
    return sorted(finder._get_completions(words, last, "", None))


@pytest.mark.parametrize(("line", "fits"), [
    ("nessie com", ["compile", "completion"]),
    ("nessie run o", ["other.nesl"]),
    ("nessie run rows", ["rows.nesl"]),
    ("nessie compile rows", ["rows.mono", "rows.nesl"]),
    ("nessie test other.nesl r", ["rows.nesl"]),
    ("nessie run s", ["sub/"]),
    ("nessie run rows.nesl --target cuda", ["cuda", "cudasim"]),
    ("nessie --target ref", ["reference"]),
    ("nessie --fuse g", ["greedy"]),
    ("nessie compile rows.nesl --emit f", ["flat", "fused"]),
    ("nessie show rows.nesl --after inf", ["infer"]),
    ("nessie run rows.nesl -e me", ["mean", "median"]),
    ("nessie run rows.nesl -e ", ["base", "mean", "median"]),
    ("nessie run other.nesl -e b", ["base"]),
    ("nessie run missing.nesl -e ", []),
    ("nessie run -e ", []),
    ("nessie eval -f r", ["rows.nesl"]),
    ("nessie bench o", ["other.nesl"]),
    ("nessie bench rows.nesl --against m", ["mine.json"]),
    ("nessie profile rows.nesl --h", ["--help", "--html"]),
    ("nessie doctor -o m", ["mine.json"]),
    ("nessie --machine ", ["cpu", "h200", "mine.json", "sub/"]),
    ("nessie run rows.nesl --time", ["--time-limit"]),
    ("nessie completion f", ["fish"])])
def test_offered(line: str, fits: list[str], files: None) -> None:
    assert [text.rstrip() for text in offered(line)] == fits


def test_all_commands_are_offered() -> None:
    assert {text.strip() for text in offered("nessie ")} >= {*SUBCOMMANDS}


def test_what_completes_an_action_is_there_for_every_choice() -> None:
    """A chosen value that is offered is one that is taken."""
    for target in offered("nessie --target "):
        assert build_parser().parse_args([f"--target={target.strip()}"]) == argparse.Namespace(
            command=None, target=target.strip())


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "nessie" in capsys.readouterr().out


def test_other_shells_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "there is one for bash, zsh, fish" in capsys.readouterr().err


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("nessie.tool.shell_completion.find_spec", lambda name: None)
    assert main(["completion", "bash"]) == 1
    assert "pip install '.[completion]'" in capsys.readouterr().err


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize(("line", "fits"), [
    ("nessie comp", "compile completion"), ("nessie run rows.nesl -e me", "mean median"),
    ("nessie run oth", "other.nesl"),
    ("nessie --target=cuda", "cuda cudasim"), ("nessie compile rows.nesl --entry=med", "median")])
def test_bash(line: str, fits: str, files: None, tmp_path: Path) -> None:
    """Bash asks the command `nessie`, as if Tab had been pressed behind the line."""
    command = tmp_path / "bin" / "nessie"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m nessie "$@"\n')
    command.chmod(0o755)
    typed = shlex.quote(line)
    asked = (f'eval "$(nessie completion bash)"; complete -p nessie >&2; COMP_LINE={typed}; COMP_POINT={len(line)}; '
             'COMP_TYPE=9; _python_argcomplete nessie; echo ${COMPREPLY[@]}')
    environment = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    ran = finished([str(BASH), "--norc", "-c", asked], env=environment)
    assert ran.stdout.strip() == fits, ran.stderr
