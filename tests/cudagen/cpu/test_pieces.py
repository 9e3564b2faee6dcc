"""Kernels are optimised one by one: a piece of a module has what some functions need, and the same results."""
from __future__ import annotations

import numpy as np
import pytest
from built import cpu_device, execute

from nessie.base.values import Flat
from nessie.cudagen.cpu import device as cpu
from nessie.cudagen.cpu.machine_code import piece
from nessie.lambda_cu.text.parser import parse

TEXT = """define internal i64 @scalar__twice.body(i64 %x) {
  ret i64 %x
}

define internal void @K1_sweep.body(i64 %x) {
  %y = call i64 @scalar__twice.body(i64 %x)
  ret void
}

define void @K1_sweep.call(i64 %x) {
  call void @K1_sweep.body(i64 %x)
  ret void
}

define void @K2_sweep.call(i64 %x) {
  %y = call i64 @llvm.smin.i64(i64 %x, i64 1)
  ret void
}

declare i64 @llvm.smin.i64(i64, i64)
"""

PROGRAM = """
kernel K1 (n : int, xs : [float; n]) -> float {
  let s = REDUCE { i => xs[i] using xs } (0.0) { (x, y) => x + y } (n)
  return s
}

kernel K2 (n : int, xs : [float; n], s : float) -> [float; n] {
  let ys = MAP { i => xs[i] / (s * s + 1.0) using xs, s } (n)
  return ys
}

function main (n : int, xs : [float; n]) -> (m : int, out : [float; m]) {
  let s : float = run K1 (n, xs)
  let ys : [float; n] = run K2 (n, xs, s)
  return (n, ys)
}

entry main : [float] -> [float]
"""


def test_a_piece_has_what_its_functions_call() -> None:
    found = piece(TEXT, ["K1_sweep.call"])
    assert found == TEXT.replace(TEXT[TEXT.index("define void @K2"):TEXT.index("\ndeclare")], "")
    assert "twice" not in piece(TEXT, ["K2_sweep.call"]) and "declare" in piece(TEXT, ["K2_sweep.call"])
    assert piece(TEXT, ["K1_sweep.call", "K2_sweep.call"]) == TEXT


def test_kernels_are_optimised_when_they_get_much_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu.Cpu, "kept", lambda device: False)
    device = cpu_device(parse(PROGRAM), threads=1)
    quick = dict(device.functions)
    xs = np.arange(40 * 32768, dtype=float)
    device.optimise(device.launchers["K1"].plan)
    assert device.quick == {name for name in quick if name.startswith("K2")}
    assert all((device.functions[name] is quick[name]) == (name in device.quick) for name in quick)
    result = execute(device.program, [Flat(len(xs), xs)], device)
    assert not device.quick
    fresh = cpu_device(parse(PROGRAM), threads=1)
    fresh.optimise()
    assert not fresh.quick
    expected = execute(fresh.program, [Flat(len(xs), xs)], fresh)
    assert np.array_equal(result.column, expected.column)
