"""Running passes: each is timed, what it makes is checked, and dumped if that is asked for.

A pass that fails by a mistake of Nessie's own is told apart from errors of the user's, and what it was given is kept.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from nessie.base.records import dataclass
from nessie.base.source import IllFormed, InternalError, NessieError, UsageError
from nessie.base.system.writing import write
from nessie.forms import MONO, Form
from nessie.pipeline import PASSES, Job, Pass, stages, stages_between

if TYPE_CHECKING:
    from nessie.cudagen.cpu.assemble import CpuProgram
    from nessie.cudagen.cuda.link import GpuProgram
    from nessie.lambda_cu import nodes as ir
    from nessie.mono import nodes as mono

    Built = ir.Program | CpuProgram | GpuProgram        # what the reference, a CPU, a GPU runs


@dataclass(frozen=True)
class PassResult:
    """A pass that has run: the checked program that it made, and the seconds it took, checks apart."""
    ran: Pass
    program: Any
    seconds: float


def steps(job: Job, start: Form[Any], program: Any, passes: tuple[Pass, ...]) -> Iterator[PassResult]:
    """Run the passes one by one, and yield each with the checked program that it made."""
    made, checks = {start.name: program}, job.checks
    for ran in passes:
        missing = [form.name for form in ran.inputs if form.name not in made]
        if missing:
            raise UsageError(f"{ran.name} needs a {missing[0]} program too; start from an earlier form")
        job.activity.begin(f"compiling: {ran.name}")
        began = perf_counter()
        inputs = [made[form.name] for form in ran.inputs]
        program = guarded(ran, inputs, partial(ran.run, job, *inputs))
        seconds = perf_counter() - began
        made[ran.output.name] = program
        dump(job, ran, program)
        checks.spent += seconds
        if checks.checking <= checks.share * checks.spent:
            began = perf_counter()
            guarded(ran, inputs, partial(check, ran, inputs, program))
            checks.checking += perf_counter() - began
        yield PassResult(ran, program, seconds)


def run_through(job: Job, start: Form[Any], program: Any, until: Pass) -> dict[str, PassResult]:
    """Run the passes up to `until`: what each has made, by its name."""
    return {step.ran.name: step for step in steps(job, start, program, stages_between(job, start, until))}


def made(steps: Iterable[PassResult]) -> dict[Form[Any], Any]:
    """Each form that the steps have made, as the last of them has left it."""
    return {step.ran.output: step.program for step in steps}


def compile_program(job: Job, start: Form[Any], program: Any, until: Pass) -> Any:
    """The form that the passes up to `until` make of the program."""
    for step in steps(job, start, program, stages_between(job, start, until)):
        program = step.program
    return program


def built(job: Job, program: mono.Program) -> Built:
    """The built program, which the job's target runs."""
    found: Built = compile_program(job, MONO, program, stages(job)[-1])
    return found


def guarded(ran: Pass, inputs: list[Any], work: Callable[[], Any]) -> Any:
    """work(), a failure of Nessie itself told apart from the user's errors, and the pass's input kept."""
    try:
        return work()
    except (NessieError, MemoryError):
        raise
    except IllFormed as broken:
        what = f"made an ill-formed {ran.output.name} program: {broken}"
        raise InternalError(f"the pass {ran.name} {what}{saved_inputs(ran, inputs)}") from broken
    except Exception as error:
        what = f"failed: {type(error).__name__}: {error}"
        raise InternalError(f"the pass {ran.name} {what}{saved_inputs(ran, inputs)}") from error


def check(ran: Pass, inputs: list[Any], program: Any) -> None:
    """Raises IllFormed if the program that the pass made of its inputs is."""
    if ran.output.check is not None:
        ran.output.check(program)
    if ran.certify is not None:
        ran.certify(*inputs, program)


def saved_inputs(ran: Pass, inputs: list[Any]) -> str:
    """Write the inputs of a pass that failed; the end of the message, which names their folder."""
    try:
        import tempfile  # only after a mistake
        folder = Path(tempfile.mkdtemp(prefix="nessie-"))
        for form, program in zip(ran.inputs, inputs, strict=True):
            write_into(folder, f"{ran.name}.{form.name}", form.show(program))
    except Exception:           # the error to be told is the pass's
        return ""
    return f"\nwhat it was given is in {folder}"


def dump(job: Job, ran: Pass, program: Any) -> None:
    """Keep what the pass made, if the job says so."""
    if job.dump is not None:
        write_into(job.dump, f"{PASSES.index(ran) + 1:02}-{ran.name}.{ran.output.name}", ran.output.show(program))


def write_into(folder: Path, name: str, content: str | bytes) -> None:
    """A file in a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NessieError(f"cannot write {folder / name}: {error.strerror}") from None
    write(folder / name, content)
