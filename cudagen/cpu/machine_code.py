"""LLVM text to machine code, in process: build(text) gives object code, load(object, names) callable addresses;
piece(text, names) is the part of a text that some functions need.

Object code is plain bytes for this machine's CPU: it may be kept on disk and loaded by a later process, which takes
well under a millisecond. `fingerprint()` says for which LLVM and CPU it was made: make it part of the key under which
the code is kept.

Loaded code stays until the process ends, since other threads may be running in it; a program is loaded once, so this
costs a page or two for each. llvmlite is imported at the first use (it takes 50 to 150 ms).
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

from nessie.base.call_graph import reachable
from nessie.base.source import InternalError
from nessie.base.system.forking import across_forks
from nessie.cudagen.cpu.remainders import with_fast_remainders
from nessie.cudagen.cpu.vector_math import LIBRARY, vector_library, with_vector_versions

PROCESSOR = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU implementer", "CPU part")

FUNCTION = re.compile(r"^define [^\n]*?@([\w.]+)\(.*?^}\n", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"@([\w.]+)")
SELECT = re.compile(r"^( *%\S+ = select [^!\n]*)$", re.MULTILINE)
BEST, QUICK = 3, 0            # efforts at making code
EDITION = 4                   # of what is made of a text before LLVM reads it: kept code of another is not used

_LOCK = across_forks(Lock())
_loaded: list[Any] = []                 # the libraries in memory; one that is dropped is unmapped
_numbers = count()                      # names of libraries; one that an interrupt has left linked keeps its own


def build(text: str, quick: bool = False) -> bytes:
    """Object code of a module of LLVM IR text: optimised, or made in a twentieth of the time."""
    with _LOCK:
        try:
            module = parsed(text)
            module.verify()
        except RuntimeError as error:
            raise InternalError(f"LLVM refuses its text: {error}") from error
        if not quick:
            optimise(module)
        code: bytes = target_machine(QUICK if quick else BEST).emit_object(module)
        return code


def optimised(text: str) -> str:
    """The text after LLVM's passes: to see what was vectorised and inlined."""
    with _LOCK:
        module = parsed(text)
        optimise(module)
        return str(module)


def load(code: bytes, names: Iterable[str]) -> dict[str, int]:
    """Maps the object code into the process; the addresses of these functions in it."""
    binding, _ = tools()
    wanted = list(names)
    with _LOCK:
        builder = binding.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in wanted:
            builder.export_symbol(name)
        library = builder.link(just_in_time(), f"library {next(_numbers)}")
        _loaded.append(library)
        return {name: int(library[name]) for name in wanted}


def piece(text: str, names: Iterable[str]) -> str:
    """Return the text with these functions, those that they call, and no others. Declarations and notes stay."""
    found = {match[1]: set(NAME.findall(match[0])) for match in FUNCTION.finditer(text)}
    wanted = reachable({name: named & found.keys() for name, named in found.items()}, names)
    return FUNCTION.sub(lambda match: match[0] if match[1] in wanted else "", text)


def fingerprint() -> str:
    """The LLVM and the CPU that object code is made for. LLVM is not loaded where the system describes the CPU."""
    library = f"{LIBRARY if vector_library() else ''} {EDITION}"
    described, found = processor(), find_spec("llvmlite")
    if described and found is not None and found.origin is not None:
        released = Path(found.origin).with_name("_version.py")
        if released.is_file():
            return f"{released.read_text('utf-8')} {described} {library}"
    binding, machine = tools()
    version = ".".join(map(str, binding.llvm_version_info))
    return f"{version} {machine.triple} {binding.get_host_cpu_name()} {','.join(sorted(features()))} {library}"


def processor() -> str:
    """Linux's description of the first processor and its features; empty elsewhere."""
    try:
        first = Path("/proc/cpuinfo").read_text("utf-8").partition("\n\n")[0]
    except OSError:
        return ""
    told = [line for line in first.splitlines() if line.partition(":")[0].strip() in PROCESSOR]
    return "\n".join(told)


@lru_cache(maxsize=1)
def features() -> frozenset[str]:
    """The features of this CPU, as LLVM names them."""
    binding, _ = tools()
    return frozenset(name for name, there in binding.get_host_cpu_features().items() if there)


def optimise(module: Any) -> None:
    """LLVM's own pipeline for speed, with vectorised loops."""
    binding, machine = tools()
    tuning = binding.create_pipeline_tuning_options(speed_level=BEST)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def parsed(text: str) -> Any:
    """A module for this machine."""
    binding, machine = tools()
    for made in (with_vector_versions, with_fast_remainders):
        text = made(text, features())
    module = binding.parse_assembly(with_marked_selects(text))
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def with_marked_selects(text: str) -> str:
    """The text whose selects stay what they are. On a long path, LLVM makes branches of them, as if one could foresee
    what data choose: a chain of maps that look at their elements takes up to twice as long then."""
    return SELECT.sub(r"\1, !unpredictable !{}", text)


@lru_cache(maxsize=1)
def tools() -> tuple[Any, Any]:
    """llvmlite's binding and a target machine for this CPU."""
    from llvmlite import binding
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding, target_machine(BEST)


@lru_cache(maxsize=2)
def target_machine(level: int) -> Any:
    """This CPU, with code made at this level of effort."""
    from llvmlite import binding
    features = binding.get_host_cpu_features().flatten()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=level)


@lru_cache(maxsize=1)
def just_in_time() -> Any:
    """The linker that loads object code."""
    binding, machine = tools()
    if vector_library():
        binding.load_library_permanently(LIBRARY)
    return binding.create_lljit_compiler(machine)
