"""setup.cfg installs what there is; `import nessie` works in a bare checkout, beside a wheel, and editable."""
from __future__ import annotations

import configparser
import json
import shutil
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
from paths import ROOT
from processes import finished

import nessie

setup = configparser.ConfigParser()
setup.read(ROOT / "setup.cfg")
PACKAGES = setup["options"]["packages"].split()
FOLDERS = dict(line.split(" = ") for line in setup["options"]["package_dir"].strip().splitlines())


EXAMPLES = "nessie.nesl_examples"       # programs in NESL, and no code


def folder(package: str) -> Path:
    """Where setup.cfg says that a package lies."""
    known = max((p for p in FOLDERS if package == p or package.startswith(p + ".")), key=len)
    return ROOT.joinpath(FOLDERS[known], *package[len(known):].strip(".").split("."))


def test_every_package_is_installed() -> None:
    there = {path.parent for path in ROOT.glob("*/**/__init__.py")
             if path.relative_to(ROOT).parts[0] in {Path(f).parts[0] for f in FOLDERS.values()} - {FOLDERS[EXAMPLES]}}
    assert {folder(package) for package in PACKAGES if package != EXAMPLES} == there


def test_package_data_exists() -> None:
    for package, patterns in setup["options.package_data"].items():
        for pattern in patterns.replace(",", " ").split():
            assert list(folder(package).glob(pattern)), (package, pattern)


def test_version_has_one_source() -> None:
    assert setup["metadata"]["version"] == "attr: nessie.__version__"
    assert nessie.__version__.count(".") == 2


MODULES = ("nessie.base.types", "nessie.mono.nodes", "nessie.lambda_cu.ops")


def found(cwd: Path, *options: str, path: str = "") -> list[Path]:
    """Where a Python that is started in the folder finds one module of each kind; `path`: where it looks last."""
    code = (f"import importlib, sys; sys.path.append({path!r})\n"
            f"for name in {MODULES}: print(importlib.import_module(name).__file__)")
    run = finished([sys.executable, *options, "-c", code], cwd=cwd, check=True)
    return [Path(line) for line in run.stdout.splitlines()]


IN_CHECKOUT = [ROOT / "nessie/base/types.py", ROOT / "nessie/mono/nodes.py", ROOT / "lambda_cu/ops.py"]


def test_bare_checkout() -> None:
    """No installation, only the checkout's root on the path; -S leaves site-packages out, -E the environment."""
    assert found(ROOT, "-S", "-E") == IN_CHECKOUT


def test_beside_a_wheel(tmp_path: Path) -> None:
    """What a wheel installs is found where there is no checkout, and left alone where there is one."""
    for package in PACKAGES:
        shutil.copytree(folder(package), tmp_path / package.replace(".", "/"), dirs_exist_ok=True,
                        ignore=lambda at, names: {n for n in names if Path(at, n).is_dir()})
    installed = [tmp_path / (name.replace(".", "/") + ".py") for name in MODULES]
    assert found(tmp_path.parent, "-S", "-E", path=str(tmp_path)) == installed
    assert found(ROOT, "-S", "-E", path=str(tmp_path)) == IN_CHECKOUT


def editable() -> bool:
    """Is this checkout what is installed?"""
    origins = [json.loads(found.read_text("direct_url.json") or "{}") for found in distributions(name="nessie-nesl")]
    return any(origin.get("url") == ROOT.as_uri() and origin["dir_info"].get("editable") for origin in origins)


@pytest.mark.skipif(not editable(), reason="this checkout is not installed; README's command for the tests installs it")
def test_installed_editable(tmp_path: Path) -> None:
    assert found(tmp_path, "-E") == found(ROOT, "-E") == IN_CHECKOUT


def test_top_level_names_are_not_taken() -> None:
    """A package named schedule or flatten would hide others of that name: all are installed inside nessie."""
    assert all(package.split(".")[0] == "nessie" for package in PACKAGES)


def test_files_of_tests_have_names_of_their_own() -> None:
    """pytest imports them by these alone."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
