"""Sessions whose numbers have 32 bits: what is said of them, what is set, what differs from 64 bits."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from paths import SUPPORT

from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.base.widths import FULL, Widths, single
from nessie.library.library import library
from nessie.running.targets import Target
from nessie.running.world import World
from nessie.session.session import Session
from nessie.tool.cli import main

CASES = [json.loads(line)["source"] for line in (SUPPORT / "nesl_cases.jsonl").read_text("utf-8").splitlines()]
NARROW = Widths(32, 32)


def outcomes(text: str, widths: Widths = FULL) -> list[str]:
    """What is printed and what each form gives."""
    printed: list[str] = []
    session = Session(Target("reference", world=World(printed.append)), environment=library(widths))
    found = run_deep(lambda: list(session.run(Source("test", text))))
    return [*printed, *[f"error: {o.message}" if isinstance(o, NessieError) else str(o) for o in found]]


DIFFERING = {               # of the recorded cases, what 32 bits make of their last lines
    "max_scan([3,2,1,6,5,4,8]);": "it = [-2147483648, 3, 3, 3, 6, 6, 6] : [int]",
    "max_scan([-5,8,1]);": "it = [-2147483648, -5, 8] : [int]",
    "min_scan([5,-8,-1]);": "it = [2147483647, 5, -8] : [int]",
    "2.0/3.0;": "it = 0.6666667 : float", "100.0/3.0;": "it = 33.33333 : float",
}


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("source", CASES)
def test_recorded_cases(source: str) -> None:
    narrow = outcomes(source, NARROW)
    if source in DIFFERING:
        assert narrow[-1] == DIFFERING[source]
    elif "newton" in source:
        assert narrow[-1] == "it = 1.414214 : float"
    else:
        assert narrow == outcomes(source)


def test_widths_are_set_before_anything_is_defined() -> None:
    assert outcomes("set int 32; max_int; set float 32; 0.1 == 0.1;") == [
        "", "it = 2147483647 : int", "error: float cannot be set to 32", "it = T : bool"]
    assert outcomes("set float 32; 2.0 / 3.0;") == ["", "it = 0.6666667 : float"]
    assert outcomes("set int 16; max_int;")[0] == "error: int cannot be set to 16"
    with pytest.raises(NessieError, match="cannot be set") as error:
        for found in Session(Target("reference")).run(Source("test", "set int 16;")):
            assert isinstance(found, NessieError)
            raise found
    assert error.value.hint == "it takes 32 or 64, before anything is evaluated, and is 64 now"


def test_files_hold_what_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.nesl").write_text("function same(v) : [int] -> [int] = v; function half(v) = {x * 0.5 : x in v};")
    Path("large.json").write_text("[1, 3000000000]")
    np.save("ints.npy", np.array([1, 2**31]))
    np.save("short.npy", np.array([7, -7], np.int16))
    np.save("singles.npy", np.array([0.1, 3.0], np.float32))
    for file in ("large.json", "ints.npy"):
        assert main(["run", "p.nesl", "-e", "same", f"@{file}", "--int", "32"]) == 1
        assert "there are integers beyond 32 bits" in capsys.readouterr().err
        assert main(["run", "p.nesl", "-e", "same", f"@{file}"]) == 0
    assert main(["run", "p.nesl", "-e", "same", "@short.npy", "-o", "out.npy", "--int", "32"]) == 0
    assert np.load("out.npy").dtype == np.int32
    assert main(["run", "p.nesl", "-e", "half", "@singles.npy", "-o", "out.npy", "--float", "32"]) == 0
    assert np.load("out.npy").tolist() == [single(0.1) / 2, 1.5] and np.load("out.npy").dtype == np.float32
    capsys.readouterr()


def test_numbers_that_programs_read(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    text = """let (out,_) = open_out_file("x"); (_,_) = write_object(([0.1, 2.5], 7), out); (_,_) = close_file(out);
              (s,_) = open_in_file("x"); (v,_) = read_object(([] float, 0), s); (_,_) = close_file(s)
              in let (xs,n) = v in (xs[0] == 0.1, xs[1], n);"""
    assert outcomes(text, NARROW) == outcomes(text) == ["it = (T, 2.5, 7) : bool, float, int"]


def test_every_command_takes_the_widths(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.nesl").write_text("% most(t) => 2147483647 % function most(b) = if b then max_int else 0;\n"
                              "function twice(v) : [float] -> [float] = {x + x : x in v};")
    assert main(["test", "p.nesl", "--int", "32"]) == 0 and main(["test", "p.nesl"]) == 1
    assert main(["run", "p.nesl", "-e", "most", "t", "--int", "32"]) == 0
    capsys.readouterr()
    for form, word in (("mono", "float32"), ("flat", "float32"), ("fused", "float32"), ("loops", "float32"),
                       ("llvm", "fadd float"), ("cuda", "const float")):
        target = ["--target", "cudasim"] if form == "cuda" else []
        assert main(["compile", "p.nesl", "-e", "twice", "--float", "32", "--emit", form, *target]) == 0
        assert word in capsys.readouterr().out, form
        assert main(["compile", "p.nesl", "-e", "twice", "--emit", form, *target]) == 0
        assert word not in capsys.readouterr().out, form
    assert main(["profile", "p.nesl", "-e", "twice", "[1.0, 2.0]", "--float", "32", "--json"]) == 0
    narrow = re.findall(r'"bytes": (\d+)', capsys.readouterr().out)
    assert main(["profile", "p.nesl", "-e", "twice", "[1.0, 2.0]", "--json"]) == 0
    assert [2 * int(size) for size in narrow] == list(map(int, re.findall(r'"bytes": (\d+)', capsys.readouterr().out)))
    for command in ("explain", "graph"):
        assert main([command, "p.nesl", "-e", "twice", "--float", "32"]) == 0
    assert main(["check", "p.nesl", "--int", "32"]) == 0
    Path("large.nesl").write_text("3000000000;")
    assert main(["check", "large.nesl", "--int", "32"]) == 1 and main(["check", "large.nesl"]) == 0
    capsys.readouterr()
