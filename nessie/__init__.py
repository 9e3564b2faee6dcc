"""Nessie: nested data-parallel NESL, compiled to fused kernels for CPUs and NVIDIA GPUs."""
from __future__ import annotations

from pathlib import Path

__version__ = "0.1.0"

# The stages lie beside this folder in a checkout and inside it in a wheel; the checkout's root
# on the package's path makes `import nessie.lambda_cu` work in both.
_ROOT = Path(__file__).parent.parent
if (_ROOT / "setup.cfg").is_file() and (_ROOT / "lambda_cu").is_dir():
    __path__.insert(0, str(_ROOT))
