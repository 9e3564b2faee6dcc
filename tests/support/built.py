"""What passes make of programs; loops of NESL programs; and programs of lambda_cu, ready for devices and on them: the
passes behind `fuse`, without a driver. `width`: items a chunk of a CPU's, as narrow as a test likes."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from nessie.base.source import Source
from nessie.base.text.places import Places
from nessie.cudagen.cpu import llvm
from nessie.cudagen.cpu.assemble import CpuProgram, assemble
from nessie.cudagen.cpu.device import Cpu
from nessie.cudagen.cuda import cuda
from nessie.cudagen.cuda.cudasim.counted import counted
from nessie.cudagen.cuda.cudasim.counting import Counting, CountingGpu
from nessie.cudagen.cuda.device import Gpu
from nessie.cudagen.cuda.driver import Driver
from nessie.cudagen.cuda.link import GpuProgram, link
from nessie.cudagen.generate import generate
from nessie.cudagen.host import host
from nessie.cudagen.host.translate import translate
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.unread import unread
from nessie.driver import compile_program, steps
from nessie.forms import TEXT
from nessie.lambda_cu import nodes as ir
from nessie.pipeline import Job, pass_named
from nessie.syntax.parser import parse_type


def generated(text: str, entry: str, argument: str) -> Module:
    """The loops that a NESL program has on the CPU, of this function, for an argument of this type."""
    job = Job(entry=entry, argument=parse_type(Source("type", argument)))
    module = compile_program(job, TEXT, Source("program", text), pass_named("generate"))
    assert isinstance(module, Module)
    return module


def run_passes(names: list[str], text: str, job: Job) -> str:
    """The text that the named passes make of the text of a program."""
    passes = tuple(pass_named(name) for name in names)
    start = passes[0].inputs[0]
    source = Source("text", text)
    assert start.parse is not None
    *_, last = steps(job, start, start.parse(source, Places(source)), passes)
    return last.ran.output.show(last.program)


def cpu_code(program: ir.Program, width: int | None = None) -> CpuProgram:
    module = generate(program, "cpu", width)
    return assemble(program, translate(program), module, llvm.llvm(module))


def gpu_code(program: ir.Program) -> GpuProgram:
    """Without comments, so that tests may look at the code alone."""
    module = unread(generate(program, "cuda"))
    return link(program, translate(program), module, cuda.cuda(module))


def cpu_device(program: ir.Program, threads: int | None = None, width: int | None = None) -> Cpu:
    return Cpu(cpu_code(program, width), threads)


def gpu_device(program: ir.Program | GpuProgram, driver: Driver) -> Gpu:
    return Gpu(program if isinstance(program, GpuProgram) else gpu_code(program), driver)


def counting_device(program: ir.Program) -> CountingGpu:
    """Its driver counts what kernels do to memory."""
    module = unread(generate(program, "cuda"))
    text = counted(module)
    built = replace(link(program, translate(program), module, ""), text=text.text)
    return CountingGpu(built, Counting(text.points))


def offers_noted(device: Any) -> list[bool]:
    """Whether what was offered was done, each time from now on."""
    done: list[bool] = []
    launch = device.launch

    def noted(kernel: str, given: Any, spare: Any = ()) -> Any:
        found = launch(kernel, given, spare)
        if kernel in device.offers:
            done.append(bool(found[0]))
        return found

    device.launch = noted
    return done


def execute(program: ir.Program, arguments: Any, device: Any, *options: Any, **named: Any) -> Any:
    """host.execute, of a program that nobody has translated."""
    return host.execute(program, translate(program), arguments, device, *options, **named)
