"""Texts as columns of code points and back, ASCII and others."""
from __future__ import annotations

import numpy as np
import pytest

from nessie.base.values import DTYPES, code_points, text_of_codes


@pytest.mark.parametrize("text", ["", "a", "abc\n\x00\x7f", "\x80", "ä", "naïve 😀", "x" * 1000 + "ß", chr(0xd800)])
def test_a_text_comes_back(text: str) -> None:
    codes = code_points(text)
    assert codes.dtype == DTYPES["char"] and codes.flags.writeable
    assert codes.tolist() == [ord(c) for c in text]
    assert text_of_codes(codes) == text
    assert text_of_codes(np.repeat(codes, 2)[::2]) == text
