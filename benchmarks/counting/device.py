"""A device whose kernels' code has hooks: what each kernel does is counted, as amounts by name.

    Counting(built)     `found` has them by kernel, of the launches while `counting`

Chunks run one after the other, so that nothing is counted twice or missed. What a phase does on several threads is
divided among them: each chunk goes to the thread that has least to do, as long as chunks are few, else all have alike.
"""
from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from counting.hooks import COUNTS, hooked
from nessie.cudagen.cpu import machine_code
from nessie.cudagen.cpu.assemble import CpuProgram
from nessie.cudagen.cpu.device import ENTRY, LARGE, Cpu, CpuLauncher
from nessie.cudagen.host.device import Array
from nessie.cudagen.host.memory import view

MODEL = Path(__file__).parent / "machine.c"
KINDS, CACHES = ("stream", "free", "chained", "stored", "alone"), ("l1", "l2", "l3", "far")
EVENTS = (*[f"{kind}_{cache}" for kind in KINDS for cache in CACHES], "pages", "far_pages", "turns", "run")
MISSING = [number for number, name in enumerate(EVENTS) if name.endswith(("_l2", "_l3", "_far"))]
FEW = 64                        # chunks that are told apart
FORGOTTEN = 16384               # lines from beyond the second cache after which it has nothing that was there before


@lru_cache(maxsize=1)
def machine() -> np.ndarray[Any, Any]:
    """The model of a processor, for hooks to find; what it counts."""
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder) / "machine.so")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", str(MODEL), "-o", library], check=True)
        binding, _ = machine_code.tools()
        machine_code.just_in_time()
        binding.load_library_permanently(library)
        found = (ctypes.c_int64 * len(EVENTS)).in_dll(ctypes.CDLL(library), "hook_found")
    return np.ctypeslib.as_array(found)


class Counting(Cpu):
    """See above."""

    def __init__(self, built: CpuProgram, threads: int | None = None) -> None:
        super().__init__(built, threads)
        self.events = machine()
        text, blocks = hooked(machine_code.optimised(built.text))
        binding, target = machine_code.tools()
        module = binding.parse_assembly(text)
        module.verify()
        entries = [f"{name}.call" for name in built.names]
        places = machine_code.load(target.emit_object(module), [*entries, COUNTS])
        self.functions = {name: ENTRY(places[entry]) for name, entry in zip(built.names, entries, strict=True)}
        self.quick = frozenset()
        self.runs_of_blocks = np.ctypeslib.as_array((ctypes.c_int64 * len(blocks)).from_address(places[COUNTS]))
        self.names = sorted({name for amounts in blocks for name in amounts})
        self.amounts = np.array([[amounts[name] for name in self.names] for amounts in blocks], float)
        self.counting = False
        self.found: dict[str, Counter[str]] = defaultdict(Counter)
        self.here: Counter[str] = Counter()             # of this launch
        self.moved = 0.0                                # lines so far
        self.moved_before: dict[str, float] = {}        # when a kernel was last launched
        for launcher in self.launchers.values():
            assert isinstance(launcher, CpuLauncher)
            self.watch(launcher, launcher.run)

    def native(self, host: Any) -> None:
        """Python launches all kernels."""

    def watch(self, launcher: CpuLauncher, real: Callable[..., None]) -> None:
        def run(step: Any, device: Cpu, words: list[int], cells: Any, arrays: dict[str, Array],
                arguments: Sequence[Any], spare: Container[int]) -> None:
            real(step, device, words, cells, arrays, arguments, spare)
            for buffer in step.buffers:
                if buffer.fill is not None:
                    self.filled("filled", view(arrays[buffer.name]).nbytes)
                elif buffer.copy is not None and words[buffer.slot] != words[buffer.copy]:
                    self.filled("copied", view(arguments[buffer.copy]).nbytes)
            if step.sort:
                length = max(argument.length for argument in arguments if isinstance(argument, Array))
                self.here.update(libraries=1, library=length * np.log2(length + 2))

        def run_chunks(device: Cpu, step: Any, chunks: int, packed: Any, chains: int = 1) -> None:
            self.run_phase(launcher, step, chunks, packed, chains)

        launcher.run, launcher.run_chunks = run, run_chunks     # type: ignore[method-assign]

    def filled(self, kind: str, size: int) -> None:
        handed = size >= LARGE
        self.here.update({kind: size / (self.pool.threads if handed else 1), "fills": 1, "handed": int(handed)})
        self.moved += size / 64

    def run_phase(self, launcher: CpuLauncher, step: Any, chunks: int, packed: Any, chains: int) -> None:
        """What `launcher` does in a phase, and what that was."""
        most = chains if step.in_order else 1 if chunks <= launcher.inline else chunks
        threads = max(1, min(self.pool.threads, most))
        function, self.runs_of_blocks[:], self.events[:] = self.functions[step.function], 0, 0
        alone = launcher.recursive or not launcher.inline      # on threads that Python wakes
        shares: list[float] = []
        if alone:
            pool = self.deep(chunks) if launcher.recursive else self.pool
            pool.run(lambda first, last, words: function(0, chunks, words), 1, packed, self.interrupt_word, True)
        elif threads == 1 or step.in_order or chunks > FEW:
            function(0, chunks, packed)
        else:
            for chunk in range(chunks):
                before = self.work()
                function(chunk, chunk + 1, packed)
                shares.append(self.work() - before)
        part = largest(shares, threads) if shares else -(-most // threads) / most if most <= FEW else 1 / threads
        amounts = dict(zip(self.names, map(float, self.runs_of_blocks @ self.amounts * part), strict=True))
        events = dict(zip(EVENTS, map(float, self.events * part), strict=True))
        self.here.update({**amounts, **events, "phases": 1, "woken": int(threads > 1 and not alone),
                          "handed": int(alone)})
        self.moved += float(self.events[MISSING].sum())

    def work(self) -> float:
        return float((self.runs_of_blocks @ self.amounts).sum())

    def launch(self, kernel: str, arguments: Sequence[Any], spare: Container[int] = ()) -> list[Any]:
        gone = self.moved - self.moved_before.get(kernel, -FORGOTTEN)
        self.here = Counter(launches=1, cold=min(1.0, gone / FORGOTTEN))
        results = super().launch(kernel, arguments, spare)
        self.here["words"] = len(arguments) + len(results)
        if self.counting:
            self.found[kernel].update(self.here)
        self.moved_before[kernel] = self.moved
        return results


def largest(shares: Sequence[float], threads: int) -> float:
    """The part of the work that the busiest thread does, if each share goes to the one that has least so far."""
    loads = [0.0] * threads
    for share in shares:
        loads[loads.index(min(loads))] += share
    return max(loads) / max(1.0, sum(loads))
