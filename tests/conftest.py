"""What all tests share: the options that write golden files anew, and that choose where tests for GPUs run; and their
GPU."""
from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from amounts import chosen
from hypothesis import settings

from nessie.base.system import disk_cache as cache
from nessie.cudagen.cuda.cudasim import compiler as cudasim
from nessie.cudagen.cuda.cudasim.driver import Cudasim
from nessie.cudagen.cuda.driver import Driver
from nessie.cudagen.cuda.nvidia import detection
from nessie.session import with_values


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what golden tests find into their files")
    parser.addoption("--on", choices=("cuda", "cudasim"), default="cuda", help="where tests/gpu/test_on_gpu*.py run")


def pytest_configure() -> None:
    """Signals do to tests what they do to commands, also where whoever has started them, as nohup does, lets them be
    ignored. No test fails for its time: errors tell values however busy the machine is."""
    with_values.SECONDS = 60.0
    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")
    usual = {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}
    for name, handler in usual.items():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what the profile (tests/support/amounts.py) does not run."""
    kept = chosen(items)
    config.hook.pytest_deselected(items=sorted({*items} - {*kept}, key=lambda item: item.nodeid))
    items[:] = kept


def pytest_collection_finish() -> None:
    """The garbage collector leaves alone what is there before the tests, which stays: among twenty thousand of them it
    would take a second each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The test's own, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache.cache_folder.cache_clear()
    yield tmp_path / "nessie"
    cache.cache_folder.cache_clear()


@pytest.fixture(scope="session")
def on(request: pytest.FixtureRequest) -> str:
    """The target of tests that take whatever GPU there is."""
    target = str(request.config.getoption("--on"))
    if target == "cuda" and (missing := detection.problem()):
        pytest.skip(f"{missing[0]}; --on cudasim does the same on the CPU")
    if target == "cudasim" and not cudasim.found():
        pytest.skip("there is no C++ compiler")
    return target


@pytest.fixture(scope="session")
def new_driver(on: str) -> Callable[[], Driver]:
    if on == "cudasim":
        return lambda: Cudasim(2, 1)
    from nessie.cudagen.cuda.nvidia.driver import Nvidia
    return Nvidia
