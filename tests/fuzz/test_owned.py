"""Random programs whose rows have owners, wherever they can: cudasim gives what the reference does, and fails where it
does."""
from __future__ import annotations

import pytest
from amounts import examples
from executors import Compiled, agree, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from owner_kernels import LEVELS
from random_programs import RandomProgram, programs, sharing_programs
from test_owned_programs import fused, owned

from nessie.cudagen.cuda.cudasim import compiler


@pytest.mark.skipif(not compiler.found(), reason="there is no C++ compiler")
@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(programs(3), sharing_programs(2)), st.sampled_from(LEVELS))
def test_owners_compute_what_the_reference_does(program: RandomProgram, level: str) -> None:
    compiled = Compiled(program.source, target="cuda")
    compiled.fused["owned"] = fused(owned(compiled.flat, level))
    expected, found = [outcome(compiled, executor, program.arguments)
                       for executor in ("reference none", "cudasim owned")]
    assert agree(expected, found)
