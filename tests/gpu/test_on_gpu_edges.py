"""Hard cases on a real GPU, or on cudasim, as tests/gpu/test_on_gpu.py says: many elements that write to one place,
floats that are no numbers, where hardware and languages differ, kernels that fail, floats whose bits are to be the
same."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import executors
import numpy as np
import pytest
from built import cpu_device, gpu_code, gpu_device
from cuda_programs import kernel_name
from executors import Compiled
from kernel_runs import Meaning, program_of
from test_gpu import launch
from test_hardware_differences import TESTS
from test_look_back import bytes_found, float_kernels
from test_on_gpu import MANY, ROUNDS, SIZES, TILE, agrees, found_by
from test_scatter import (
    CASES,
    EDGES,
    FUSED,
    ROWS,
    bits,
    given,
    kernel_of,
    of_rows,
    program_of_all,
    random_kernels,
    wanted,
)
from test_skeletons import flat_kernel, numbers

from nessie.cudagen.cuda.cudasim import compiler as cudasim
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.device import Gpu
from nessie.cudagen.cuda.driver import Driver
from nessie.cudagen.host.device import INDEX_BITS, NO_FAILURE, STOPPED

TIMES = {"cuda": 100, "cudasim": 1}                     # as many rows
COPIES = 300                                            # elements that do the same: more than a block has threads
MODES = pytest.mark.parametrize("mode, base", [(mode, base) for mode in ("last", "max") for base in EDGES])


# Many write to one place --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scatters(new_driver: Callable[[], Driver]) -> Gpu:
    return gpu_device(gpu_code(program_of_all()), new_driver())


def by_case(mode: str, base: str) -> list[tuple[str, Any]]:
    """The kernels that do so, and the default of each."""
    return [(f"K{at}", default) for at, (of, with_, default) in enumerate(CASES) if (of, with_) == (mode, base)]


@pytest.mark.parametrize("n", SIZES)
@MODES
@pytest.mark.slow
def test_scatters(scatters: Gpu, mode: str, base: str, n: int) -> None:
    arguments = given(base, n)
    for kernel, default in by_case(mode, base):
        (found,), failed = launch(scatters, kernel, arguments)
        assert failed == NO_FAILURE and bits(found) == bits(wanted(mode, default, arguments)), default


@pytest.mark.parametrize("n", [1, 33, TILE + 1, 3 * TILE])
@MODES
def test_scatters_to_one_place(scatters: Gpu, mode: str, base: str, n: int) -> None:
    size, xs, at = given(base, n)
    arguments = [size, xs, np.full_like(at, 2)]
    for kernel, default in by_case(mode, base):
        (found,), failed = launch(scatters, kernel, arguments)
        assert failed == NO_FAILURE and bits(found) == bits(wanted(mode, default, arguments)), default


@pytest.mark.parametrize("one_place", [False, True])
@MODES
@pytest.mark.slow
def test_scatters_of_many_tiles(scatters: Gpu, on: str, mode: str, base: str, one_place: bool) -> None:
    """Compared with the target cpu, as in tests/gpu/test_on_gpu.py."""
    size, xs, at = given(base, MANY[on])
    arguments = [size, xs, np.full_like(at, 2) if one_place else at]
    kernel, default = by_case(mode, base)[0]
    (expected,), _ = found_by(cpu_device(program_of(kernel_of(mode, base, default)), 2), "K", arguments)
    for _ in range(ROUNDS[on]):
        (found,), failed = found_by(scatters, kernel, arguments)
        assert not failed and bits(found.tolist()) == bits(expected.tolist())


# In kernels with others ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fused(new_driver: Callable[[], Driver]) -> Gpu:
    kernels = {name: flat_kernel(body) for name, body in FUSED.items()} | {"rows": of_rows([])[0]}
    named = tuple(replace(kernel, name=kernel_name(name)) for name, kernel in kernels.items())
    return gpu_device(gpu_code(replace(program_of(named[0]), kernels=named)), new_driver())


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", FUSED)
@pytest.mark.slow
def test_scatters_with_others(fused: Gpu, name: str, n: int) -> None:
    agrees(fused, name, flat_kernel(FUSED[name]), [n, numbers(n)])


@pytest.mark.parametrize("lengths", ROWS, ids=len)
@pytest.mark.slow
def test_scatters_by_elements_survivors_and_segments(fused: Gpu, lengths: list[int]) -> None:
    agrees(fused, "rows", *of_rows(lengths))


@pytest.mark.parametrize("segmented", [False, True])
@pytest.mark.slow
def test_random_fused_kernels(new_driver: Callable[[], Driver], segmented: bool) -> None:
    program, arguments = random_kernels(segmented)
    device = gpu_device(gpu_code(program), new_driver())
    for kernel in program.kernels:
        meaning = Meaning(kernel, arguments)
        results, failed = launch(device, kernel.name, arguments)
        assert (failed == NO_FAILURE) == (meaning.failed == NO_FAILURE)
        assert failed != NO_FAILURE or results == meaning.results, kernel.name


# Kernels that fail --------------------------------------------------------------------------------


CHECKS = {"first": "s1", "second": "s2"}


@pytest.fixture(scope="module")
def checks(new_driver: Callable[[], Driver]) -> Gpu:
    """Kernels that check whether an element is zero, and one that checks nothing."""
    kernels = [flat_kernel(f"""
        let ys = MAP {{ i => if xs[i] /= 0 then xs[i] * 2 else fail {site} : int using xs }} (n)
        return ys""") for site in CHECKS.values()]
    kernels.append(flat_kernel("""
        let ys = MAP { i => if xs[i] == 1 then fail s2 : int else if xs[i] == 2 then fail s1 : int else 3 using xs } (n)
        return ys"""))
    kernels.append(flat_kernel("""
        let ys = MAP { i => xs[i] * 2 using xs } (n)
        return ys"""))
    named = tuple(replace(kernel, name=name) for kernel, name in zip(kernels, (*CHECKS, "both", "none"), strict=True))
    return gpu_device(gpu_code(replace(program_of(named[0]), kernels=named)), new_driver())


def test_after_a_failure_kernels_do_nothing(checks: Gpu, on: str) -> None:
    """The key stays that of the first one to fail, though others would leave a lesser one; till the next run begins."""
    n, at = 5 * TILE, TILE + 7
    zeros = np.full(n, 5)
    zeros[at::3] = 0
    for _ in range(ROUNDS[on]):
        checks.begin(None)
        xs = checks.upload("int", zeros)
        taken = [xs, *checks.launch("second", [n, xs])]
        assert checks.failure() == (2 << INDEX_BITS) + at and checks.errors[STOPPED]
        taken += checks.launch("first", [n, xs])
        marked = checks.upload("int", np.full(n, 77))
        checks.free(marked)
        (ys,) = checks.launch("none", [n, xs])
        assert ys.buffer.address == marked.buffer.address and (checks.download(ys) == 77).all()
        assert checks.failure() == (2 << INDEX_BITS) + at
        checks.free(ys)
        checks.begin(None)
        (ys,) = checks.launch("none", [n, xs])
        assert checks.failure() == NO_FAILURE and (checks.download(ys) == zeros * 2).all()
        for array in (*taken, ys):
            checks.free(array)
        assert checks.used() == 0


def test_the_least_of_many_failures_is_told(checks: Gpu, on: str) -> None:
    """First by its check, then by its element, whichever thread is first."""
    n = MANY[on]
    xs = np.ones(n, np.int64)
    for last in (n - 1, n // 2, 0):
        xs[last:] = 2
        for _ in range(ROUNDS[on]):
            _, failed = launch(checks, "both", [n, xs])
            assert failed == (1 << INDEX_BITS) + last


# Numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", TESTS)
@pytest.mark.slow
def test_where_hardware_and_languages_differ(new_driver: Callable[[], Driver], row: str) -> None:
    """Each case in every element of a sequence, as scalars are computed on the host."""
    for definition, body, arguments, expected in TESTS[row]:
        parameters, _, types = definition.partition(" : ")
        argument, _, result = types.rpartition(" -> ")
        program = Compiled(f"function each{parameters} : {types} = {body};\n"
                           f"function main(v) : [{argument}] -> [{result}] = {{each(x) : x in v}};", target="cuda")
        program.devices["gpu ilp"] = gpu_device(program.executable("ilp"), new_driver())
        given_ = [arguments[0] if len(arguments) == 1 else arguments] * COPIES
        found = executors.outcome(program, "gpu ilp", [given_])
        assert executors.agree(found, executors.outcome(program, "reference ilp", [given_])), body
        assert executors.agree(found, expected if expected == executors.ANY else [expected] * COPIES), (body, found)


@pytest.mark.parametrize("name", float_kernels())
def test_floats_have_the_same_bits_in_each_run(new_driver: Callable[[], Driver], on: str, name: str) -> None:
    """Those that cudasim finds, too, where there is a compiler for it."""
    kernel, arguments = float_kernels()[name]
    built = gpu_code(program_of(kernel))
    device = gpu_device(built, new_driver())
    found = bytes_found(device, arguments)
    if cudasim.found():
        assert found == bytes_found(gpu_device(built, Cudasim(2, 2)), arguments)
    _, more = float_kernels(TIMES[on])[name]
    assert len({bytes_found(device, more) for _ in range(ROUNDS[on])}) == 1
