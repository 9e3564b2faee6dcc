"""The messages that users can meet, as patterns: what the code says where it makes an error.

They are the first arguments, as far as they are written down, of what makes errors (MAKERS). Where such a function is
given a message by its caller, the caller is one of them, too. Messages of checks at run time are those of the prelude
and of flattening.
"""
from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from paths import ROOT

FOLDERS = ("nessie", "flatten", "schedule", "cudagen", "lambda_cu")
LETTERS = 8             # of a message, at least: one with fewer is found in lines of others
MAKERS = {"NessieError": 0, "Unsupported": 0, "UsageError": 0, "complaint": 0, "complain": 3, "complain_word": 1,
          "Misfit": 0, "error": 0, "LostOutput": 0, "fail": 0, "wrong": 1, "check": 1, "check_indices": 2, "located": 0,
          "TooMany": 0, "Unmappable": 1, "WrongRank": 1, "NoCase": 1, "refuse": 1}
HOLE = "\0"


def messages() -> set[tuple[str, str]]:
    """The text of each message, with HOLE for what is computed, and the file that makes it."""
    found: set[tuple[str, str]] = set()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            made = [*said(tree), *(checks(tree) if folder == "flatten" else ())]
            found |= {(text, str(path.relative_to(ROOT))) for text in made if re.search(r"\w\w", text)}
    prelude = (ROOT / "nessie" / "library" / "prelude.nesl").read_text("utf-8")
    made = re.findall(r'(?<!\w)_check\([^"]*"([^"]*)"', prelude)
    return found | {(text, "nessie/library/prelude.nesl") for text in made}


def is_vague(text: str) -> bool:
    """Whether the message has so few letters of its own that lines of others look like it."""
    return HOLE in text and len(re.findall(r"[a-z]", text)) < LETTERS


def checks(tree: ast.AST) -> Iterator[str]:
    """The messages of checks are sentences."""
    documentation = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in documentation \
                and re.fullmatch(r"[A-Z][^\n]*\.", str(node.value)):
            yield str(node.value).replace("{}", HOLE)


def said(tree: ast.AST) -> Iterator[str]:
    tables = {target.id: node.value for node in ast.walk(tree) if isinstance(node, ast.Assign)
              for target in node.targets if isinstance(target, ast.Name)}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            local: dict[str, list[ast.expr]] = {}
            for node in ast.walk(function):
                for name, value in assigned(node, tables):
                    local.setdefault(name, []).append(value)
            for node in ast.walk(function):
                if isinstance(node, ast.Call):
                    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                    if name in MAKERS and len(node.args) > MAKERS[name]:
                        argument = node.args[MAKERS[name]]
                        values = local.get(argument.id, []) if isinstance(argument, ast.Name) else [argument]
                        for value in values:
                            yield from texts(value)


def assigned(node: ast.AST, tables: dict[str, ast.expr]) -> Iterator[tuple[str, ast.expr]]:
    """What the node assigns to names; to each of `message, hint = TABLE[..]`, whatever the table's rows have there."""
    if not isinstance(node, ast.Assign):
        return
    match node.targets[0], node.value:
        case ast.Name(name), value:
            yield name, value
        case ast.Tuple(targets), ast.Tuple(values):
            yield from ((t.id, value) for t, value in zip(targets, values, strict=False) if isinstance(t, ast.Name))
        case ast.Tuple(targets), ast.Subscript(table):
            rows = tables.get(table.id) if isinstance(table, ast.Name) else table
            for row in rows.values if isinstance(rows, ast.Dict) else ():
                if isinstance(row, ast.Tuple):
                    yield from ((t.id, value) for t, value in zip(targets, row.elts, strict=True)
                                if isinstance(t, ast.Name))


def texts(node: ast.expr) -> Iterator[str]:
    """What the expression may say, with HOLE for what is computed."""
    match node:
        case ast.Constant(str(text)):
            yield text
        case ast.JoinedStr(parts):
            yield "".join(part.value if isinstance(part, ast.Constant) else HOLE for part in parts)
        case ast.IfExp(_, one, other):
            yield from texts(one)
            yield from texts(other)
        case ast.BinOp(left, ast.Add(), right):
            yield from (a + b for a in texts(left) for b in texts(right))


def pattern(text: str) -> str:
    return ".*".join(re.escape(part) for part in text.split(HOLE))


# The lines of the page that are examples of vague messages.
VAGUE = {
    ("one of \0", "nessie/tool/values.py"): "--target: gpu is not one of cpu",
    ("\0 needs \0", "nessie/tool/command_line.py"): "-e or --entry needs ENTRY",
    ("\0 needs \0", "nessie/tool/options.py"): "run needs FILE",
    ("\0 needs \0", "nessie/tool/prompt/commands.py"): ":type needs an expression",
    ("\0 is not \0", "nessie/files/formats/matrix_market.py"): 'm.mtx, line 3: "x" is not an integer',
    ("\0 is not \0", "nessie/files/formats/text.py"): 'v.txt, line 2: "x" is not an int',
    ("\0, but \0 and \0", "nessie/arguments/types.py"): "join takes [a], [a] :: (a in any), but argument 1 is",
    ("\0: not \0: \0", "nessie/files/formats/numpy_format.py"): "v.npy: not a NumPy array",
    ("\0, not \0", "nessie/mono/copies/copies.py"): "add takes a, a :: (a in number), not [int]",
    ("\0, but gets \0", "nessie/typing/advice/messages.py"): "take takes [a], int :: (a in any), but gets int, [int]",
}

# Why the page has no example of these: of a file, or of a message.
PYTHON = "is told to Python programs, beside the rest of what they see in tests/api/test_python_*.py"
ARRAYS = "is told to Python programs, beside what tests/arrays/bodies/refused.txt shows"
FORMS = "what is wrong in the text of a form is for who works on the compiler; the page has two examples"
MACHINE = "depends on the machine: the page tells of it in words"
HOLDS_NOT = "another message tells it: this one is for what comes without a place in a file, or never"
COUNTING = "what `nessie profile` says where the interpreter cannot count; no error"
WORKERS = "is told where there are workers (tests/cudagen/cluster)"
NO_EXAMPLES = {
    **dict.fromkeys((*[f"nessie/api/partitions/{name}.py"
                       for name in ("arguments", "calling", "map_partitions")],
                     "the program is closed, and has no workers any more",
                     "nessie/files/partitions/readers.py", "nessie/api/partitions/results.py",
                     "map_partitions takes files, and here are none",
                     "map_partitions takes files: a path, a folder, a pattern, or several, not \0"),
                    "is told to Python programs (tests/api/partitions)"),
    "\0: cannot be written: it is no plain file": MACHINE,
    "workers are started on this machine, and cluster names those that there are": WORKERS,
    "nessie/base/system/seen_files.py": "is told where there are workers (tests/files/test_tables_by_workers.py)",
    "nessie/files/written_by_workers.py": "is told where there are workers (tests/files/test_results_by_workers.py)",
    "cudagen/cluster/engine.py": WORKERS, "cudagen/cluster/on_dask.py": WORKERS,
    "cudagen/cluster/processes/own_workers.py": WORKERS, "cudagen/cluster/processes/fitness.py": WORKERS,
    "cudagen/cluster/processes/questions.py": WORKERS,
    "cudagen/cluster/tasks/chunks.py": WORKERS, "cudagen/cluster/tasks/elements.py": WORKERS,
    "cudagen/cluster/tasks/wanted.py": WORKERS, "cudagen/cluster/files/hands.py": WORKERS,
    "cudagen/cluster/files/arrays.py": "depends on the disk (tests/cudagen/cluster/test_arrays_in_files.py)",
    "nessie/serve/live.py": "the live page says it (tests/serve)",
    "cannot serve at port \0: \0": "depends on what else this computer serves",
    **dict.fromkeys((
        "nessie/base/text/tokens.py", "nessie/base/text/types_text.py", "nessie/mono/parser.py",
        "nessie/typing/parser.py", "schedule/graph/text.py", "schedule/text.py", "cudagen/loops/parser.py",
        "cudagen/host/text.py", "lambda_cu/text/parser.py", "lambda_cu/text/parser_expressions.py",
        "lambda_cu/text/soacs.py", "lambda_cu/mappings/text.py"), FORMS),
    "\0 is one kernel only where somebody holds a whole segment, and on the CPU nobody does: --target cudasim, or cuda":
        FORMS,
    **dict.fromkeys((
        "nessie/base/system/deep.py", "nessie/inspect/pictures.py", "nessie/session/streams.py",
        "cudagen/cuda/device.py", "cudagen/cuda/cudasim/compiler.py", "cudagen/cuda/cudasim/driver.py",
        "cudagen/cuda/nvidia/compiler.py", "cudagen/cuda/nvidia/cubin_files.py", "cudagen/cuda/nvidia/detection.py",
        "cudagen/cuda/nvidia/driver.py"), MACHINE),
    **dict.fromkeys((f"nessie/api/{name}.py" for name in (
        "values/arguments", "values/awkward_arrays", "calls", "values/datatypes", "values/device", "function",
        "values/graphs", "held", "values/lists", "magics", "values/numpy_arrays", "options", "parameters", "program",
        "values/results", "values/sequences", "values/tables", "values/taking", "tuning", "views")), PYTHON),
    **dict.fromkeys((f"nessie/arrays/{name}.py" for name in (
        "array", "checks", "composed", "devices", "operations", "others", "protocols", "recorded", "values",
        *[f"bodies/{one}" for one in ("functions", "loops", "outside", "source", "statements")],
        *[f"bodies/expressions/{one}" for one in ("arithmetic", "calls", "expressions", "iterations", "names",
                                                  "sequences", "truth")],
        *[f"sections/{one}" for one in ("axes", "calls", "grids", "methods", "shapes", "unions")],
        *[f"shapes/{one}" for one in ("axes", "joining", "parts", "products", "reshaping")])), ARRAYS),
    "\0 is no command here": "other users of sessions than the prompt and files see it",
    **dict.fromkeys(("nessie/session/profile.py", "nessie/session/variables.py", "nessie/session/with_values.py"),
                    COUNTING),
    "a line of input is {\"id\": ..., \"source\": \"...\"}, in JSON": "it is told in an answer, see test_errors.py",
    "\0: nested too deeply": MACHINE,
    "there is no folder for a cache": MACHINE,
    "\0: PyArrow reads and writes such files, and is not installed": MACHINE,
    "recursion takes more than \0 bytes, \0 calls deep": "a gigabyte; test_endless.py has a smaller one",
    "completion needs argcomplete": MACHINE,
    "plots are drawn by matplotlib, which is not here": MACHINE,
    "the language server needs pygls": MACHINE,
    "\0 has its lengths on a GPU, where they are not compared with its type's": MACHINE,
    "\0: out of memory while reading it": MACHINE,
    "\0: cannot be written: permission denied": MACHINE,
    "out of memory: what is read takes more than \0 bytes": MACHINE,
    "holds a number out of range": HOLDS_NOT,
    "does not hold what is wanted": HOLDS_NOT,
    "holds \0, which is no NESL value": HOLDS_NOT,
    "the signature of a function is a function type": "the grammar says so first, in other words",
    "there is no pass \0; the passes are \0": "the command line says so first, in other words",
    "recursion is deeper than the stack allows": MACHINE,
    "a scalar function recurs too deeply": "the host's stack is larger than the recursion that it may do",
    "index \0 is out of range, and no check has found it": "what --unchecked meets on the host, before it does damage",
    "GPUs find equal keys by sorting: --target cuda says how": "what the inspector says of a kernel made for a CPU",
    "GPUs combine such values by sorting them: --target cuda says how": "what the inspector says of a kernel made for "
                                                                        "a CPU",
    "without its checks, the program went wrong: \0": "what --unchecked leads to, which may be anything",
    "\0 calls itself otherwise than as its last step, inside an apply-to-each": "the inspector's note: such functions "
                                                                             "are lifted where they are compiled",
    "a \0 matrix \0": HOLDS_NOT,
}
