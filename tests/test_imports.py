"""The package imports, is whole, and keeps to the map of imports: one way, along the pipeline."""
from __future__ import annotations

import ast
import importlib.util
import pkgutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

STAGES = ("base", "frontend", "lambda_cu", "flatten", "schedule", "cudagen")

# What a part, a package or a module, may import of Nessie, besides itself.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "base": (),
    "frontend": ("base",),
    "lambda_cu": ("base",),
    "flatten": ("base", "lambda_cu", "frontend"),
    "schedule": ("base", "lambda_cu"),
    "cudagen": ("base", "lambda_cu"),
    "files": ("base",),
    "argument_types": ("base", "files", "frontend"),
    "call_arguments": ("argument_types", "base", "files", "frontend", "session"),
    "show_value": ("base",),
    "outcome": ("base",),
    "restore": ("base", "frontend"),
    "loading": ("base", "file_names", "frontend"),
    "forms": STAGES,
    "pipeline": (*STAGES, "forms", "loading"),
    "driver": ("base", "cudagen", "forms", "frontend", "lambda_cu", "pipeline"),
    "calling": ("base", "frontend", "restore", "session"),
    "stopwatch": ("cudagen", "targets"),
    "calibrate": ("base", "cudagen", "driver", "forms", "lambda_cu", "pipeline", "schedule", "stopwatch", "targets"),
    "doctor": ("base", "cudagen", "pictures"),
    "explaining": (*STAGES, "calling", "driver", "forms", "kept", "pipeline", "session", "stopwatch"),
    "inspect": (*STAGES, "driver", "forms", "pipeline"),
    "kept": (*STAGES, "driver", "pipeline"),
    "free_memory": ("base",),
    "file_names": (),
    "formats": ("base", "files", "forms"),
    "pictures": ("base", "pipeline", "schedule"),
    "shell_completion": ("base", "command_line", "file_names", "forms", "frontend", "loading"),
    "expected": ("base", "frontend", "show_value"),
    "testing": ("base", "expected", "frontend", "loading", "options", "restore", "session", "show_value", "streams"),
    "world": ("base", "files", "processes", "text_streams"),
    "processes": ("base", "text_streams"),
    "text_streams": ("base",),
    "targets": (*STAGES, "driver", "forms", "free_memory", "kept", "pipeline", "world"),
    "options": ("base", "formats", "frontend", "pipeline", "schedule", "session", "targets", "world", "command_line",
                "streams"),
    "compiling": ("base", "cudagen", "driver", "formats", "forms", "frontend", "inspect", "loading", "options",
                  "pictures", "pipeline", "schedule", "streams"),
    "progress": ("base", "streams"),
    "screen": ("base", "streams"),
    "history": ("base", "cudagen"),
    "highlighting": ("base", "frontend"),
    "completion": ("base", "frontend", "commands", "file_names", "prompt_commands", "targets"),
    "prompt": ("frontend", "completion", "highlighting", "history"),
    "prompt_commands": ("base", "commands", "driver", "explaining", "formats", "forms", "frontend", "inspect",
                        "loading", "pictures", "pipeline", "profile", "profile_text", "repl", "schedule", "targets"),
    "commands": ("base", "describe", "driver", "forms", "frontend", "loading", "pipeline", "session"),
    "describe": ("base", "frontend", "loading"),
    "session": ("base", "driver", "frontend", "pipeline", "schedule", "targets", "restore", "show_value", "loading",
                "outcome", "commands", "calling", "with_values"),
    "variables": ("base", "frontend", "restore"),
    "with_values": ("base", "frontend", "variables"),
    "profile": ("base", "calling", "frontend", "lambda_cu", "session", "targets", "variables", "world"),
    "profile_text": ("base", "frontend", "profile"),
    "command_line": ("base", "formats", "forms", "pipeline", "streams", "targets"),
    "cli": ("base", "frontend", "files", "forms", "pipeline", "schedule", "targets", "restore", "loading", "commands",
            "session", "call_arguments", "command_line", "compiling", "options", "streams", "progress", "repl",
            "profile", "profile_text", "explaining", "calibrate", "doctor", "shell_completion", "signals", "testing"),
    "streams": ("base", "outcome"),
    "api": (*STAGES, "argument_types", "calling", "driver", "explaining", "files", "forms", "inspect", "kept",
            "loading", "pipeline", "restore", "session", "streams", "targets", "world"),
    "repl": ("base", "frontend", "loading", "outcome", "progress", "prompt", "prompt_commands", "screen", "session",
             "signals", "streams"),
    "signals": (),
    "__main__": ("base", "cli", "signals"),
}
PACKAGES = {*STAGES, "api", "files", "inspect"}

# Parts that need an optional extra of setup.cfg.
NEEDS = {"history": "prompt_toolkit", "prompt": "prompt_toolkit", "highlighting": "pygments"}


def modules(package: str = "nessie") -> list[str]:
    """All modules; in a checkout, the package's path leads to the checkout's other folders as well."""
    found = []
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        part = module.name.split(".")[1]
        if module.ispkg and part in PACKAGES:
            found += [module.name, *modules(module.name)]
        elif not module.ispkg:
            found.append(module.name)
    return sorted(found)


def source(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin)


def imported(path: Path) -> set[str]:
    """The modules of Nessie that the file names in imports, at the top or later."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name for name in found if name.startswith("nessie.")}


@pytest.mark.parametrize("name", [name for name in modules() if name != "nessie.__main__"])
def test_imports(name: str) -> None:
    if needed := NEEDS.get(name.split(".")[1]):
        pytest.importorskip(needed)
    importlib.import_module(name)


@pytest.mark.parametrize("name", modules())
def test_imports_run_one_way(name: str) -> None:
    part = name.split(".")[1]
    others = {target.split(".")[1] for target in imported(source(name))} - {part, "__version__"}
    assert others <= set(MAY_IMPORT[part])


@pytest.mark.parametrize("name", modules())
def test_no_property_is_kept_under_a_lock_of_its_class(name: str) -> None:
    """nessie.base.forking has the one that a process may fork beside."""
    named = set[str]()
    for node in ast.walk(ast.parse(source(name).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "functools":
            named.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "functools":
            named.add(node.attr)
    assert "cached_property" not in named or name == "nessie.base.forking"


def test_there_are_all_parts() -> None:
    assert {name.split(".")[1] for name in modules()} >= PACKAGES


def test_data_files_are_installed() -> None:
    assert resources.files("nessie.frontend").joinpath("prelude.nesl").is_file()
    assert resources.files("nessie").joinpath("py.typed").is_file()
    assert all(resources.files("nessie.inspect").joinpath(f"page.{kind}").is_file() for kind in ("html", "css", "js"))


def test_start_up_leaves_heavy_packages_alone() -> None:
    """What only building a kernel or a schedule needs is imported there."""
    heavy = ("networkx", "pulp", "ply", "llvmlite", "highspy", "scipy", "prompt_toolkit", "pygments")
    code = f"import sys, nessie.cli; print([name for name in {heavy!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_importing_nessie_imports_nothing_else() -> None:
    code = "import sys, nessie; print([n for n in sys.modules if n.startswith('nessie.') or n in ('numpy', 'awkward')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_calls_from_python_import_numpy_alone() -> None:
    """Once a program is kept on disk, a call needs none of the packages that compile."""
    heavy = ("networkx", "pulp", "highspy", "awkward", "pyarrow", "IPython", "scipy")
    code = ("import sys, nessie; nessie.compile('function g(x) = {a + 1 : a in x};').g([1]); "
            f"print([name for name in {heavy!r} if name in sys.modules])")
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
