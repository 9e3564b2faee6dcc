"""Tells LLVM of the C library's vector functions (glibc's libmvec), so that loops that call exp or sin vectorise.

  in    LLVM text that declares functions of a double, such as `declare double @exp(double) ...`
  out   the same with, for each that libmvec has, its vector versions declared, named as its variants, and kept
  how   the name of a version says what it takes (the vector function ABI): _ZGVeN8v_exp takes 8 doubles, unmasked,
        and needs AVX-512

Where there is no libmvec (it belongs to glibc on x86-64; functions beyond sin, cos, exp and log since 2.35), the text
stays as it is. Its results differ from the scalar ones in the last two bits at most.
"""
from __future__ import annotations

import ctypes
import re
from functools import lru_cache

LIBRARY = "libmvec.so.1"
WIDTHS = (("avx512f", "e", 8), ("avx2", "d", 4), ("sse2", "b", 2))          # feature, letter of the ABI, doubles
DECLARED = re.compile(r"^declare double @(\w+)\(double\).*$", re.MULTILINE)


def with_vector_versions(text: str, features: frozenset[str]) -> str:
    """The text, its declared functions with the vector versions that this processor can run."""
    versions: list[str] = []
    kept: list[str] = []

    def declare(found: re.Match[str]) -> str:
        names = {f"_ZGV{letter}N{width}v_{found.group(1)}": width
                 for feature, letter, width in WIDTHS if feature in features}
        names = {name: width for name, width in names.items() if has(name)}
        versions.extend(f"declare <{w} x double> @{name}(<{w} x double>)" for name, w in names.items())
        kept.extend(f"ptr @{name}" for name in names)
        variants = ",".join(f"{name}({name})" for name in names)
        return f'{found.group(0)} "vector-function-abi-variant"="{variants}"' if names else found.group(0)

    text = DECLARED.sub(declare, text)
    if not kept:
        return text
    used = f"@llvm.compiler.used = appending global [{len(kept)} x ptr] [{', '.join(kept)}], section \"llvm.metadata\""
    return "\n".join([text, *versions, used]) + "\n"


def has(name: str) -> bool:
    library = vector_library()
    return library is not None and hasattr(library, name)


@lru_cache(maxsize=1)
def vector_library() -> ctypes.CDLL | None:
    """libmvec, where this system has it."""
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError:
        return None
