"""The commands of the command line that compile and do not run: check, compile, show, graph, inspect, map, passes."""
from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nessie import driver, forms, pipeline
from nessie.base.records import dataclass
from nessie.base.source import Source, UsageError
from nessie.base.widths import Widths
from nessie.session.streams import complain, say, say_followed, warn
from nessie.tool.formats import CUBIN, listed
from nessie.tool.options import FAILED, PIPE, format_asked, job_of, needed, sizes_of, tuning_of, widths_of, write_result

if TYPE_CHECKING:
    from nessie.cudagen.loops.module import Module
    from nessie.syntax.nodes import Program as Syntax


def check(options: argparse.Namespace) -> int:
    """Report every error of syntax and types, or the first of another form's program; evaluate nothing."""
    from nessie.syntax.parse import read_source
    form, source = forms.form_of_file(needed(options, "FILE")), read_source(options.operand)
    if form is forms.TEXT:
        return check_nesl(source, widths_of(options))
    forms.read(form, source)
    return 0


def check_nesl(source: Source, widths: Widths) -> int:
    from nessie.library import library
    from nessie.session import checking
    found = checking.check(source, library.library(widths), tell=complain)
    say_followed(found.followed)
    warn(doubt.told() for doubt in found.warnings)
    return FAILED if found.errors else 0


def compile_(options: argparse.Namespace) -> int:
    asked = format_asked(options, options.emit, "--emit says")
    if asked is None:
        raise UsageError("which form is to be printed? Name it with --emit",
                         hint=listed("compile") if options.output else "")
    if asked == CUBIN:
        return emit_cubins(options)
    if options.arch:
        raise UsageError(f"--arch is for --emit {CUBIN}")
    form = next(form for form in forms.FORMS if form.name == asked)
    if form is forms.CUDA and options.output not in (None, PIPE) and not Path(options.output).suffix:
        return emit_files(options)
    choose_target(options, form.name, form.targets)
    return emit(options, pipeline.pass_making(job_of(options), form))


def emit_files(options: argparse.Namespace) -> int:
    """Write CUDA code, a file for each kernel, to the folder that -o names."""
    from nessie.cudagen.cuda.files import cuda_files
    for name, text in cuda_files(loops_for_gpu(options, forms.CUDA.name), stem(options)).items():
        driver.write_into(Path(options.output), name, text)
        say(f"{Path(options.output) / name}\n")
    return 0


def emit_cubins(options: argparse.Namespace) -> int:
    """Print each function's use of the GPU's resources. If -o names a folder, write the machine code there, a file for
    each kernel. PTX is text: that of one kernel is also written to standard output."""
    from nessie.cudagen.cuda.nvidia.compiler import is_virtual
    printed = options.output == PIPE
    as_text = printed and is_virtual(options.arch or "")
    if (printed and not as_text) or Path(options.output or "").suffix in (f".{CUBIN}", ".ptx"):
        raise one_for_each(options.output)
    from nessie.cudagen.cuda.nvidia.cubin_files import cubin_files, usage_table
    files = cubin_files(loops_for_gpu(options, CUBIN), stem(options), options.arch)
    if as_text:
        if len(files) != 1:
            raise one_for_each(options.output)
        say(next(iter(files.values())).code.decode())
        return 0
    for name, file in files.items() if options.output else ():
        driver.write_into(Path(options.output), name, file.code)
    say(usage_table(files))
    return 0


def one_for_each(output: str) -> UsageError:
    more = "; --arch compute_90 prints the PTX of a program of one kernel" if output == PIPE else ""
    return UsageError(f"{output}: there is a cubin for each kernel", hint=f"name the folder for them with -o{more}")


def loops_for_gpu(options: argparse.Namespace, what: str) -> Module:
    """The plans and loops, for the target cuda unless another GPU target is asked for."""
    choose_target(options, what, forms.CUDA.targets)
    module: Module = compiled(options, pipeline.pass_named("headers"))
    return module


def stem(options: argparse.Namespace) -> str:
    """The common part of the names of the kernels' files. It differs between functions of FILE."""
    file, entry = Path(needed(options, "FILE")).stem, (options.entry or "").lower()
    return f"{file}_{entry}" if entry and entry != file.lower() else file


def show(options: argparse.Namespace) -> int:
    if options.after is None:
        raise UsageError("after which pass is the program to be printed? Name it with --after")
    until = pipeline.pass_named(options.after)
    format_asked(options, until.output.name, f"what {until.name} makes is")
    choose_target(options, f"what {until.name} makes", pipeline.targets_of(until))
    return emit(options, until)


def emit(options: argparse.Namespace, until: pipeline.Pass) -> int:
    """Print the program after the passes up to `until`."""
    program = compiled(options, until)
    write_result(options, until.output.show(program))
    return 0


def choose_target(options: argparse.Namespace, what: str, targets: tuple[str, ...]) -> None:
    """Choose the first of these targets unless the user has named one. UsageError if the named one is not among them.
    No targets means that any will do."""
    if targets and options.target not in (None, *targets):
        raise UsageError(f"{what} is code of the target {' or '.join(targets)}, not of {options.target}")
    options.target = options.target or next(iter(targets), None)


def compiled(options: argparse.Namespace, until: pipeline.Pass) -> Any:
    found = written(options)
    made = found.program
    if until is not pipeline.pass_named("parse") or found.syntax is None:
        job = job_for(job_of(options), options, found)
        tuning_of(options)          # warns
        made = driver.compile_program(job, found.form, made, until)
        warn(job.met.told.values())
    warn_of(found)
    return made


@dataclass(frozen=True)
class Written:
    """The program in FILE, of this form. `syntax`: the parsed forms, if FILE is NESL's text."""
    source: Source
    form: forms.Form[Any]
    program: Any
    syntax: Syntax | None = None


def written(options: argparse.Namespace) -> Written:
    from nessie.syntax.parse import read_source
    path = needed(options, "FILE")
    form, source = forms.form_of_file(path), read_source(path)
    program = forms.read(form, source)
    if form is not forms.TEXT:
        return Written(source, form, program)
    parsed = driver.compile_program(job_of(options), form, program, pipeline.pass_named("parse"))
    return Written(source, forms.SYNTAX, parsed, parsed)


def job_for(job: pipeline.Job, options: argparse.Namespace, found: Written) -> pipeline.Job:
    """The job for the function, whose own type tells the lengths of its arguments where the options do not."""
    from nessie.syntax import nodes as syntax
    name = (options.entry or "").lower()
    own = [form.signature.type for form in (found.syntax.forms if found.syntax else ())
           if isinstance(form, syntax.FunctionDef) and form.name == name and form.signature]
    if job.lengths is None and own and isinstance(own[-1], syntax.TypeFun):
        return replace(job, lengths=own[-1].argument)
    return job


def warn_of(found: Written) -> None:
    """Warn of doubtful parts of a program and of the files that it loads; and of pragmas with wrong names, in forms
    that were not compiled (otherwise they are errors)."""
    from nessie.pragmas import doubtful, mistakes
    from nessie.typing.advice.hints import doubts
    if found.syntax is not None:
        forms = found.syntax.forms
        spans = [span for form in forms if (span := getattr(form, "span", None))]
        sources = dict.fromkeys([found.source, *(span.source for span in spans)])
        more = [doubt for form in forms for doubt in doubts(form)]
        warn(said.told() for said in (*mistakes(sources), *doubtful(sources), *more))


def map_(options: argparse.Namespace) -> int:
    """Print what a mapping makes of a space."""
    from nessie.lambda_cu.mappings.shown import explained
    if not options.space:
        raise UsageError("map needs a space: --space 'iv < [n, m]'")
    sizes = {name: int(size) for name, size in sizes_of(options).items()}
    say(explained(needed(options, "MAPPING"), options.space, sizes))
    return 0


def passes(options: argparse.Namespace) -> int:
    rows = [(p.name, f"{' + '.join(form.name for form in p.inputs)} -> {p.output.name}",
             f"{p.when.said}: {p.does}" if p.when.said else p.does) for p in pipeline.PASSES]
    name, way = (max(len(row[column]) for row in rows) for column in (0, 1))
    say("".join(f"{row[0]:{name}}  {row[1]:{way}}  {row[2]}\n" for row in rows))
    return 0
