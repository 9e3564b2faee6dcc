"""setup.cfg installs what there is, and `import nessie` works in a bare checkout."""
from __future__ import annotations

import configparser
import subprocess
import sys
from pathlib import Path

import nessie

ROOT = Path(__file__).parent.parent
setup = configparser.ConfigParser()
setup.read(ROOT / "setup.cfg")
PACKAGES = setup["options"]["packages"].split()
FOLDERS = dict(line.split(" = ") for line in setup["options"]["package_dir"].strip().splitlines())


def folder(package: str) -> Path:
    """Where setup.cfg says that a package lies."""
    known = max((p for p in FOLDERS if package == p or package.startswith(p + ".")), key=len)
    return ROOT.joinpath(FOLDERS[known], *package[len(known):].strip(".").split("."))


def test_every_package_is_installed() -> None:
    there = {path.parent for path in ROOT.glob("*/**/__init__.py")
             if path.relative_to(ROOT).parts[0] in {Path(f).parts[0] for f in FOLDERS.values()}}
    assert {folder(package) for package in PACKAGES} == there


def test_package_data_exists() -> None:
    for package, patterns in setup["options.package_data"].items():
        for pattern in patterns.replace(",", " ").split():
            assert list(folder(package).glob(pattern)), (package, pattern)


def test_version_has_one_source() -> None:
    assert setup["metadata"]["version"] == "attr: nessie.__version__"
    assert nessie.__version__.count(".") == 2


def test_bare_checkout() -> None:
    """No installation, only the checkout's root on the path; -S leaves site-packages out, -E the environment."""
    code = ("import nessie, nessie.base.types, nessie.lambda_cu.ops, nessie.frontend.mono; "
            "print(nessie.lambda_cu.ops.__file__)")
    run = subprocess.run([sys.executable, "-S", "-E", "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert Path(run.stdout.strip()) == ROOT / "lambda_cu" / "ops.py"


def test_top_level_names_are_not_taken() -> None:
    """A package named schedule or flatten would hide others of that name: all are installed inside nessie."""
    assert all(package.split(".")[0] == "nessie" for package in PACKAGES)
