"""What nessie doctor says of the things that Nessie can use."""
from __future__ import annotations

import configparser
import importlib.metadata
import re
import sys
from pathlib import Path

import pytest
from paths import ROOT

import nessie
from nessie.tool.cli import main
from nessie.tool.commands import doctor
from nessie.tool.commands.doctor import as_text, examine


def test_the_doctor_says_what_is_here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    here = importlib.metadata.version("llvmlite")
    assert lines[0] == f"nessie {nessie.__version__}"
    assert any(re.match(rf"  llvmlite +{re.escape(here)} +compiles kernels for the processor", line) for line in lines)
    monkeypatch.setattr("nessie.tool.commands.doctor.metadata.version", missing)
    told = {found.name: found for found in examine()}
    extras = {"PyCUDA": "cuda", "Matplotlib": "plot", "prompt_toolkit": "repl", "Pygments": "repl",
              "argcomplete": "completion", "PyArrow": "python", "Awkward Array": "python"}
    wanted = {"llvmlite": "pip install llvmlite", "IPython": "pip install ipython",
              **{name: f"in a clone of Nessie: pip install '.[{extra}]'" for name, extra in extras.items()}}
    for name, get in wanted.items():
        assert told[name].version is None and told[name].get == get
        assert re.search(rf"  {name} +missing +{re.escape(told[name].gives)}; {re.escape(get)}\n",
                         as_text("0", [told[name]]))
    assert "CBC (of PuLP)" in told


def test_the_doctor_knows_every_extra_that_programs_can_use() -> None:
    """All packages of setup.cfg's extras, save for those of who works on Nessie."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = {name: value for name, value in setup["options.extras_require"].items()
              if name not in ("test", "docs", "dev")}
    packages = {re.split(r"\W*[ ;>]", line)[0] for value in extras.values() for line in value.strip().splitlines()}
    source = Path(doctor.__file__).read_text("utf-8")
    assert packages and all(f'"{package}"' in source for package in packages)


def missing(name: str) -> str:
    raise importlib.metadata.PackageNotFoundError(name)


def test_a_broken_package_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nessie.tool.commands.doctor.metadata.version", missing)
    monkeypatch.setitem(sys.modules, "pulp", None)          # importing it fails
    (solver,) = [found for found in examine() if found.name == "CBC (of PuLP)"]
    assert solver.version is None
