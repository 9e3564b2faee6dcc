"""Lets loops that call exp or sin vectorise: such calls go to the C library's vector functions (glibc's libmvec).

  in    LLVM text that declares functions of a double, such as `declare double @exp(double) ...`, or of a float
  out   the same with, for each that libmvec has, a function of one lane in its place, which calls the vector version
        and says that it is its variant
  how   the name of a version says what it takes (the vector function ABI): _ZGVdN4v_exp takes 4 doubles, unmasked,
        and needs AVX2

The results of libmvec differ from the scalar functions' in the last two bits at most, and from width to width. So one
width serves everywhere, also what a vectorised loop leaves over: equal inputs have equal results, wherever they lie.
Where there is no libmvec (it belongs to glibc on x86-64; functions beyond sin, cos, exp and log since 2.35), the text
stays as it is.
"""
from __future__ import annotations

import ctypes
import re
from functools import lru_cache

LIBRARY = "libmvec.so.1"
WIDTHS = (("avx512f", "e", 8), ("avx2", "d", 4), ("sse2", "b", 2))  # feature, letter of the ABI, doubles; the first
WIDE = 8                                                # doubles of a vector that LLVM does not prefer by itself
DECLARED = re.compile(r"^declare (double|float) @(\w+)\((?:double|float)\)(.*)$", re.MULTILINE)


def with_vector_versions(text: str, features: frozenset[str]) -> str:
    """The text, its declared functions replaced by vector versions that this processor can run."""
    letter, doubles = widest(features)
    for type_, name, attributes in DECLARED.findall(text):
        lanes = doubles if type_ == "double" else 2 * doubles
        version = f"_ZGV{letter}N{lanes}v_{name}"
        if letter and has(version):
            text = text.replace(f"declare {type_} @{name}({type_}){attributes}",
                                one_lane(name, version, lanes, attributes, type_))
            text = text.replace(f"call {type_} @{name}(", f"call {type_} @lane_{name}(")
            text = with_wide_vectors(text, doubles)
    return text


def widest(features: frozenset[str]) -> tuple[str, int]:
    """The letter of this processor's widest vectors, and how many doubles they have; '' and 0 if it has none."""
    return next(((letter, doubles) for feature, letter, doubles in WIDTHS if feature in features), ("", 0))


def with_wide_vectors(text: str, doubles: int) -> str:
    """The text, whose functions take the widest vectors, if these have so many doubles."""
    return text.replace("{ nounwind }", '{ nounwind "prefer-vector-width"="512" }') if doubles == WIDE else text


def one_lane(name: str, version: str, lanes: int, attributes: str, type_: str) -> str:
    """The function lane_NAME. Inlined, it would be in the way of vectorising."""
    vector = f"<{lanes} x {type_}>"
    variant = f"{version.removesuffix(name)}lane_{name}({version})"
    return f"""\
declare {vector} @{version}({vector}){attributes}

define internal {type_} @lane_{name}({type_} %x) noinline{attributes} "vector-function-abi-variant"="{variant}" {{
  %first = insertelement {vector} poison, {type_} %x, i64 0
  %lanes = shufflevector {vector} %first, {vector} poison, <{lanes} x i32> zeroinitializer
  %results = call {vector} @{version}({vector} %lanes)
  %result = extractelement {vector} %results, i64 0
  ret {type_} %result
}}"""


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
