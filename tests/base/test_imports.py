"""The package imports, is whole, and keeps to the map of imports: one way, along the pipeline."""
from __future__ import annotations

import ast
import importlib.util
import pkgutil
import subprocess
import sys
from collections import Counter
from functools import cache
from importlib import resources
from pathlib import Path

import networkx as nx
import pytest

STAGES = ("syntax", "typing", "mono", "lambda_cu", "flatten", "schedule", "cudagen")
PIPELINE = ("driver", "forms", "pipeline", "program_cache")

# What a room of the house, a folder or a module of the root, may import of Nessie, besides itself. The longest name
# that a module's begins with counts.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "base": (),
    "activity": ("base",),
    "syntax": ("base",),
    "library.primitives": ("base",),
    "typing": ("base", "library.primitives", "syntax"),
    "library": ("base", "library.primitives", "syntax", "typing"),
    "mono": ("base", "library.primitives", "syntax", "typing"),
    "interpreter": ("base", "library.primitives", "typing"),
    "lambda_cu": ("base",),
    "lengths": ("base", "lambda_cu", "syntax"),
    "flatten": ("base", "lambda_cu", "library.primitives", "mono"),
    "schedule": ("base", "lambda_cu"),
    "cudagen": ("base", "lambda_cu"),
    "pragmas": ("base", "lambda_cu", "schedule", "syntax"),
    "forms": ("base", "cudagen", "lambda_cu", "library", "mono", "schedule", "syntax", "typing"),
    "tuning.file": ("base", "lambda_cu", "syntax"),
    "tuning.thresholds": ("base", "lambda_cu", "tuning.file"),
    "pipeline": ("activity", "base", "forms", "lengths", "library", "pragmas", "tuning.file",
                 "tuning.thresholds", *STAGES),
    "driver": ("base", "cudagen", "forms", "lambda_cu", "mono", "pipeline"),
    "program_cache": ("base", "cudagen", "driver", "mono", "pipeline", "schedule"),
    "files": ("base",),
    "pictures": ("base",),
    "running": ("activity", "base", "cudagen", "files", "lambda_cu", "mono", "pictures", "tuning.file", "typing",
                *PIPELINE),
    "tuning": ("base", "cudagen", "lambda_cu", "running", "tuning.file"),
    "measuring": ("base", "lambda_cu", "mono", "running", "schedule", "driver", "forms", "pipeline"),
    "session": ("activity", "base", "interpreter", "lambda_cu", "library", "library.primitives", "measuring", "mono",
                "pragmas", "running", "schedule", "syntax", "typing", "driver", "forms", "pipeline"),
    "arguments": ("base", "files", "lengths", "session", "syntax", "typing"),
    "inspect": ("base", "cudagen", "flatten", "lambda_cu", "measuring", "mono", "running", "schedule", "session",
                "syntax", "typing", *PIPELINE),
    "serve": ("base", "inspect", "library", "pictures", "pragmas", "running", "schedule", "session", "syntax", "typing",
              "driver", "forms", "pipeline"),
    "bounds": ("base", "library.primitives", "typing"),
    "lsp": ("base", "bounds", "library", "schedule", "session", "syntax", "typing", "driver", "forms", "pipeline"),
    "api": ("activity", "arguments", "base", "cudagen", "files", "inspect", "lambda_cu", "lengths", "library", "mono",
            "pictures", "running", "schedule", "session", "syntax", "tuning", "tuning.file", "typing", *PIPELINE),
    "tool": ("activity", "api", "arguments", "base", "cudagen", "files", "inspect", "lambda_cu", "library", "lsp",
             "measuring", "mono", "pictures", "pragmas", "running", "schedule", "serve", "session", "syntax", "tuning",
             "tuning.file", "typing", "driver", "forms", "pipeline"),
    "__main__": ("base", "tool"),
}

# Modules that need each other, also only for types, and why.
CIRCLES = [
    # an element is computed in a thunk's context, which asks what has been emitted, which is values
    {"flatten.values.contexts", "flatten.values.emitter", "flatten.values.values"},
    # expressions call functions, whose bodies are expressions
    {"lambda_cu.reference.calls", "lambda_cu.reference.thunks"},
    # a session obeys commands, which change it
    {"session.calling", "session.commands", "session.session"},
    # a program has functions, which belong to it
    {"api.function", "api.partitions.calling", "api.partitions.doing", "api.partitions.elsewhere",
     "api.partitions.map_partitions", "api.program", "api.views"},
    # lists hold arrays, whose elements are lists
    {"api.values.arguments", "api.values.awkward_arrays", "api.values.graphs", "api.values.lists",
     "api.values.numpy_arrays"},
    # sequences show themselves as tables
    {"api.values.sequences", "api.values.tables"},
    # the prompt obeys commands, which change it, and completes them
    {"tool.prompt.commands", "tool.prompt.completion", "tool.prompt.prompt", "tool.prompt.repl"},
]

# Parts that need an optional extra of setup.cfg.
NEEDS = {"tool.prompt.history": "prompt_toolkit", "tool.prompt.prompt": "prompt_toolkit",
         "tool.prompt.highlighting": "pygments", "lsp.server": "pygls", "lsp.places": "lsprotocol",
         "serve.server": "tornado"}


def modules(package: str = "nessie") -> list[str]:
    """All modules; in a checkout, the package's path leads to the checkout's other folders as well."""
    found = []
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if module.ispkg and (package != "nessie" or module.name.split(".")[1] in MAY_IMPORT):
            found += [module.name, *modules(module.name)]
        elif not module.ispkg:
            found.append(module.name)
    return sorted(found)


MODULES = {name.removeprefix("nessie."): name for name in modules()}


def source(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin)


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(source(name).read_text("utf-8"))


def imported(node: ast.AST) -> set[str]:
    """The modules of Nessie that the piece of code names in imports, without `nessie.`."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            found.update(alias.name for alias in part.names)
        elif isinstance(part, ast.ImportFrom) and part.module:
            names = {f"{part.module}.{alias.name}" for alias in part.names}
            found.update(name if name.removeprefix("nessie.") in MODULES else part.module for name in names)
    return {name.removeprefix("nessie.") for name in found if name.startswith("nessie.")}


def room(module: str) -> str:
    """The part of the map that the module is in."""
    return max((part for part in MAY_IMPORT if f"{module}.".startswith(f"{part}.")), key=len)


def test_there_are_all_rooms() -> None:
    assert {room(module) for module in MODULES} == set(MAY_IMPORT)


@pytest.mark.parametrize("name", [name for name in MODULES if name != "__main__"])
def test_imports(name: str) -> None:
    if needed := NEEDS.get(name):
        pytest.importorskip(needed)
    importlib.import_module(MODULES[name])


@pytest.mark.parametrize("name", MODULES)
def test_imports_run_one_way(name: str) -> None:
    others = {room(target) for target in imported(tree(MODULES[name]))} - {room(name)}
    assert others <= set(MAY_IMPORT[room(name)])


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_the_map_has_no_more_than_there_is(part: str) -> None:
    needed = {room(target) for name in MODULES if room(name) == part for target in imported(tree(MODULES[name]))}
    assert needed - {part} == set(MAY_IMPORT[part])


def test_the_map_has_no_circles() -> None:
    """Each room imports rooms above it in the table alone."""
    rooms = list(MAY_IMPORT)
    assert all(rooms.index(other) < at for at, part in enumerate(rooms) for other in MAY_IMPORT[part])


def test_modules_in_circles_are_named() -> None:
    graph = nx.DiGraph([(name, target) for name in MODULES for target in imported(tree(MODULES[name]))])
    circles = [part for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert sorted(map(sorted, circles)) == sorted(map(sorted, CIRCLES))


def test_late_imports_are_counted() -> None:
    """What is imported within a function is hidden from readers: it saves time where a command does not need it."""
    late = Counter(room(name) for name in MODULES for node in ast.walk(tree(MODULES[name]))
                   if isinstance(node, ast.FunctionDef) for target in imported(node))
    assert dict(late) == {
        "__main__": 3, "api": 32, "cudagen": 2, "files": 14, "inspect": 15, "mono": 1, "pictures": 2,
        "program_cache": 2, "running": 19, "schedule": 3, "session": 2, "syntax": 5, "tool": 54, "typing": 3}


def test_folders_hold_one_concept() -> None:
    """A folder has fifteen files at most, and a page that tells what is in them."""
    for name, whole in MODULES.items():
        path = source(whole)
        if path.name == "__init__.py":
            files = [other for other in path.parent.glob("*.py") if other.name != "__init__.py"]
            assert len(files) <= 15, name
            said = ast.get_docstring(tree(whole)) or ""
            assert len(tree(whole).body) == 1, name
            rooms = [other.parent.name for other in path.parent.glob("*/__init__.py")]
            missing = [file for file in (*(other.stem for other in files), *rooms) if file not in said]
            assert not missing, f"{name}: {missing}"


@pytest.mark.parametrize("name", MODULES)
def test_no_property_is_kept_under_a_lock_of_its_class(name: str) -> None:
    """nessie.base.system.forking has the one that a process may fork beside."""
    named = set[str]()
    for node in ast.walk(tree(MODULES[name])):
        if isinstance(node, ast.ImportFrom) and node.module == "functools":
            named.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "functools":
            named.add(node.attr)
    assert "cached_property" not in named or name == "base.system.forking"


def test_data_files_are_installed() -> None:
    assert resources.files("nessie.library").joinpath("prelude.nesl").is_file()
    assert resources.files("nessie.schedule.cost").joinpath("devices", "h200.json").is_file()
    assert resources.files("nessie.cudagen.cuda.cudasim").joinpath("cudasim.h").is_file()
    assert resources.files("nessie").joinpath("py.typed").is_file()
    assert all(resources.files("nessie.inspect").joinpath(f"page.{kind}").is_file() for kind in ("html", "css", "js"))


def test_start_up_leaves_heavy_packages_alone() -> None:
    """What only building a kernel or a schedule needs is imported there."""
    heavy = ("networkx", "pulp", "ply", "llvmlite", "highspy", "numpy", "scipy", "prompt_toolkit", "pygments")
    code = f"import sys, nessie.tool.cli; print([name for name in {heavy!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout.strip() == "[]"


def test_importing_nessie_imports_nothing_else() -> None:
    code = "import sys, nessie; print([n for n in sys.modules if n.startswith('nessie.') or n in ('numpy', 'awkward')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout.strip() == "[]"


def test_calls_from_python_import_numpy_alone() -> None:
    """Once a program is kept on disk, a call needs none of the packages that compile."""
    heavy = ("networkx", "pulp", "highspy", "awkward", "pyarrow", "IPython", "scipy", "numpy.ma")
    code = ("import sys, nessie; nessie.compile('function g(x) = {a + 1 : a in x};').g([1]); "
            "(nessie.array([1]) + 1).tolist(); "
            f"print([name for name in {heavy!r} if name in sys.modules])")
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert run.stdout.strip() == "[]"
