"""What is refused, and how it is told: with the user's own line, and what to write instead. Nothing is lost by it."""
from __future__ import annotations

import numpy as np
import pytest
from paths import ROOT
from refused_bodies import REFUSED, A

import nessie
from nessie.arrays import running
from nessie.arrays.bodies import source

GOLDEN = ROOT / "tests" / "arrays" / "bodies" / "refused.txt"


def told(name: str) -> str:
    with pytest.raises(nessie.NessieError) as failed:
        REFUSED[name]()
    assert failed.value.places and failed.value.hint, name
    return f"# {name}\n{failed.value}\n"


def test_what_is_refused_says_so(update_golden: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = "\n".join(map(told, REFUSED))
    if update_golden:
        GOLDEN.write_text(found, "utf-8")
    assert found == GOLDEN.read_text("utf-8")
    assert len(REFUSED) >= 40 and "Traceback" not in found and "internal error" not in found


def test_places_are_the_same_where_python_tells_no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before Python 3.11."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(source, "instructions", lambda code: ())
    source.written_code.cache_clear()
    try:
        assert "\n".join(map(told, REFUSED)) == GOLDEN.read_text("utf-8")
    finally:
        source.written_code.cache_clear()


@pytest.mark.parametrize("name", REFUSED)
def test_arrays_and_what_is_compiled_survive(name: str) -> None:
    def computed() -> list[int]:
        return A.combine(np_table, lambda x, y: x * y).tolist()     # type: ignore[no-any-return]
    np_table = np.array([1, 2, 3])
    computed()
    with pytest.raises(nessie.NessieError):
        REFUSED[name]()
    before = running.COUNTS.compiled
    assert computed() == [1, 4, 9] and running.COUNTS.compiled == before
