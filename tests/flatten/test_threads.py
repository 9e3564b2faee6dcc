"""Functions that run per element and read sequences: every executor agrees, and none of them is lifted."""
from __future__ import annotations

import pytest
from executors import assert_all_agree, assert_the_gpu_agrees
from reading_cases import CASES, compiled

from nessie.lambda_cu import nodes as ir


@pytest.mark.parametrize("name", CASES)
def test_executors_agree(name: str) -> None:
    assert_all_agree(compiled(name), CASES[name][-1], name.startswith("a failure"))


@pytest.mark.parametrize("name", CASES)
def test_the_gpu_agrees(name: str) -> None:
    assert_the_gpu_agrees(compiled(name, "cuda"), CASES[name][-1])


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_lifted(name: str) -> None:
    program = compiled(name).flat
    assert program.scalar_functions and len(program.functions) == 1


def test_calls_with_the_same_payloads_share_a_version() -> None:
    def count(name: str) -> int:
        return len(compiled(name).flat.scalar_functions)

    assert count("one version for two") == 1
    assert count("a search for each") == 1
    assert count("either of two as a result") == 2          # it goes on with the two the other way round


def test_what_a_call_reads_is_made_before() -> None:
    """No schedule puts what makes the array into the kernel whose call reads it."""
    for name in ("in what is made just before", "in what survives just before"):
        for kernel in compiled(name).executable("ilp").kernels:
            made = {result for bind in kernel.binds for result in bind.names}
            read = {array for bind in kernel.binds for array in arrays_of(bind.soac)}
            assert not made & read


def arrays_of(soac: ir.Soac) -> list[str]:
    from nessie.lambda_cu.scope import passed, soac_expressions
    return [array for exp in soac_expressions(soac) for array in passed(exp)]
