"""What the tests of PyCUDA on the fake driver library share: compilers, and that nothing is left behind."""
from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nessie.cudagen.cuda.cudasim import compiler as cudasim
from nessie.cudagen.cuda.nvidia import compiler, detection, driver

sys.setdlopenflags(os.RTLD_LAZY)        # the library has those functions only that are called


def by_cudasim(compiler: compiler.Compiler, text: str, architecture: str) -> bytes:
    assert architecture == "sm_90"
    names = re.findall(r'^extern "C" __global__.* void (\w+)\(', text, re.MULTILINE)
    exports = "".join(f"CUDASIM_KERNEL({name})\n" for name in names)
    return cudasim.build(f'#include "cudasim.h"\n{text}\n{exports}', "kernels", cudasim.compiler())


@pytest.fixture(autouse=True)
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compilers; and when all is done nothing is held by the driver library, and the thread has no context."""
    cudasim.runtime()
    monkeypatch.setattr(compiler, "found", lambda: compiler.Compiler("cudasim's", Path(cudasim.compiler()[0])))
    monkeypatch.setattr(compiler, "build", by_cudasim)
    monkeypatch.setattr(detection, "refuse_without", lambda: None)
    yield
    gc.collect()
    driver.free_memory()                # what the GPU was at work with ends now
    assert ctypes.CDLL(detection.LIBRARY).fake_cuda_live() == 0
