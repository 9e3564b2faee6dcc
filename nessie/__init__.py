"""Nessie: nested data-parallel NESL, compiled to fused kernels for CPUs and NVIDIA GPUs.

    import nessie
    program = nessie.compile("function total(xss) = {sum(xs) : xs in xss};")
    program.total([[1, 2], [], [3]])        array([3, 0, 3])

Nothing is imported before it is used.
"""
from __future__ import annotations

import os.path  # what takes longer to import lets a Ctrl-C in before nessie.__main__ is asked

TYPE_CHECKING = False           # as typing has it, which takes longer to import than all of this
__version__ = "0.1.0"

# The stages lie beside this folder in a checkout and inside it in a wheel; the checkout's root
# on the package's path makes `import nessie.lambda_cu` work in both.
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if os.path.isfile(os.path.join(_ROOT, "setup.cfg")) and os.path.isdir(os.path.join(_ROOT, "lambda_cu")):
    __path__.insert(0, _ROOT)

_PUBLIC = {
    "Array": "nessie.arrays.array",
    "DeviceArray": "nessie.api.values.device",
    "Function": "nessie.api.function",
    "Nested": "nessie.api.values.sequences",
    "NessieError": "nessie.base.source",
    "Program": "nessie.api.program",
    "Thresholds": "nessie.api.thresholds",
    "Tuples": "nessie.api.values.sequences",
    "array": "nessie.arrays.array",
    "as_awkward": "nessie.api.values.awkward_arrays",
    "asarray": "nessie.arrays.array",
    "compile": "nessie.api.program",
    "evaluate": "nessie.arrays.array",
    "host_section": "nessie.arrays.sections.calls",
    "load": "nessie.api.program",
    "load_ipython_extension": "nessie.api.magics",
    "nest": "nessie.arrays.array",
    "pnew": "nessie.arrays.array",
    "read": "nessie.api.reading",
    "release_memory": "nessie.api.calls",
}
__all__ = ["DeviceArray", "Function", "NessieError", "Nested", "Program", "Thresholds", "Tuples", "as_awkward",
           "compile", "load", "load_ipython_extension", "read", "release_memory"]

if TYPE_CHECKING:
    from nessie.api.calls import release_memory
    from nessie.api.function import Function
    from nessie.api.magics import load_ipython_extension
    from nessie.api.program import Program, compile, load
    from nessie.api.reading import read
    from nessie.api.thresholds import Thresholds
    from nessie.api.values.awkward_arrays import as_awkward
    from nessie.api.values.device import DeviceArray
    from nessie.api.values.sequences import Nested, Tuples
    from nessie.base.source import NessieError
else:
    def __getattr__(name: str) -> object:
        if name not in _PUBLIC:
            raise AttributeError(f"module 'nessie' has no attribute {name!r}")
        from importlib import import_module

        from nessie.base.system.forking import STEADY
        with STEADY:
            found = globals()[name] = getattr(import_module(_PUBLIC[name]), name)
        return found

    def __dir__() -> list[str]:
        return [*globals(), *_PUBLIC]
