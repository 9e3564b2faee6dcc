"""The commands of the top level: describe, show, set and others. nessie.syntax.parse does `load`.

Their text goes to the session's output. NESL's commands that are not supported name a replacement.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nessie import driver, forms, pipeline
from nessie.base.records import dataclass
from nessie.base.source import NessieError, Span, Unsupported
from nessie.base.system.limits import PROMPT
from nessie.base.text.types_text import show_scheme
from nessie.base.types import CLASSES, Base, Fun, Type, free_variables, holds_function, show_type, substitute
from nessie.base.widths import SETTINGS as WIDTHS
from nessie.base.widths import Widths
from nessie.mono import nodes as mono
from nessie.mono.copies.copies import monomorphic
from nessie.session.describe import KINDS, apropos, code, describe, entry_of
from nessie.syntax import nodes as syntax
from nessie.syntax.parse import place, placed, quoted
from nessie.syntax.parser import parse_type
from nessie.typing.signatures import concrete_type

if TYPE_CHECKING:
    from nessie.session.session import Session

FORMS_HELP = """\
Each form ends with ; or $ and may take several lines:
  expression;                        its value, which is then called it
  name = expression;                 also (a, b) = ...; name |= ... shows the type only
  function name(x) "about" = ...;
  datatype name(int, float);
"""
WORD_BYTES = 8


@dataclass(frozen=True)
class Row:
    """A use of a command, which begins with `word`. Arguments in capitals are placeholders: NAME, EXPR, TYPE, TARGET,
    "FILE", .. `obey` takes the session, or the prompt (nessie.tool.prompt.commands)."""
    word: str
    arguments: str
    does: str
    obey: Callable[[Any, syntax.Command], None]


def obey(session: Session, command: syntax.Command) -> None:
    if command.word in INSTEAD:
        message, hint = INSTEAD[command.word]
        raise Unsupported(message, *place(command), hint=hint)
    row_of(NESL_COMMANDS, command.word).obey(session, command)


def row_of(rows: Sequence[Row], word: str) -> Row:
    """The first row of the word, which must have one."""
    return next(row for row in rows if row.word == word)


def help_text(rows: Sequence[Row], end: str) -> str:
    """The help: a line for each row. `end` is the text that ends a command."""
    uses = [f"{row.word} {row.arguments}".rstrip() + end for row in rows]
    width = max(map(len, uses))
    return "".join(f"  {use:{width}}  {row.does}\n" for use, row in zip(uses, rows, strict=True))


def help_(session: Session, command: syntax.Command) -> None:
    """Describe the name, if one is given; else tell all commands."""
    if command.text:
        return describe_(session, command)
    session.tell(f"{FORMS_HELP}Commands:\n{help_text(NESL_COMMANDS, ';')}")


def exit_(session: Session, command: syntax.Command) -> None:
    session.ended = True


def describe_(session: Session, command: syntax.Command) -> None:
    session.tell(describe(session.environment, command, name_in(command, command.text)))


def apropos_(session: Session, command: syntax.Command) -> None:
    session.tell(apropos(session.environment, command.text.strip('"').lower()))


def name_in(command: syntax.Command, text: str) -> str:
    """The one name that the command needs."""
    words = text.lower().split()
    if len(words) != 1:
        raise NessieError(f"{command.word} needs one name", *place(command))
    return words[0]


def shell(session: Session, command: syntax.Command) -> None:
    words, _ = quoted(command, "a command")
    world = session.target.world
    with placed(command):
        world.need_permission()
    printed, why = world.processes.shell(words, "", None)
    session.tell(printed)
    if why:
        raise NessieError(why, *place(command))


def no_form(session: Session, command: syntax.Command) -> None:
    """Refuse `load`, which only works where forms are read (nessie.syntax.parse.expanded)."""
    raise Unsupported(f"{command.word} is no command here", *place(command))

# show -----------------------------------------------------------------------------------------------


def show(session: Session, command: syntax.Command) -> None:
    what, rest = [*command.text.split(None, 1), "", ""][:2]
    match what.lower():
        case "status":
            session.tell("".join(f"{setting.name} {setting.value(session)}\n" for setting in SETTINGS))
        case "code":
            session.tell(code(session.environment, command, name_in(command, rest)))
        case "compiled":
            session.tell(compiled(session, command, rest, forms.FUSED))
        case name if name in SHOWN:
            session.tell(compiled(session, command, rest, SHOWN[name]))
        case name if name in SHOW_INSTEAD:
            raise Unsupported(f"there is nothing for {name} to show", *place(command), hint=SHOW_INSTEAD[name])
        case _:
            raise NessieError("there is no such thing to show", *place(command),
                              hint=f"show status, code, compiled, {', '.join(SHOWN)}")


BEFORE_MONO = (forms.TEXT, forms.SYNTAX, forms.TYPED)
SHOWN = {form.name: form for form in forms.FORMS if form not in BEFORE_MONO}


def compiled(session: Session, command: syntax.Command, text: str, form: forms.Form[Any]) -> str:
    """The text of a form of a function of the session; its argument's type may follow its name."""
    program = mono_of(session, command, text)
    target = session.job.target if session.job.target in form.targets else next(iter(form.targets), session.job.target)
    job = replace(session.job, target=target, dump=None)
    made = driver.compile_program(job, forms.MONO, program, pipeline.pass_making(job, form))
    return form.show(made).rstrip("\n") + "\n"


def mono_of(session: Session, command: syntax.Command, text: str) -> mono.Program:
    """A function of the session as a program of its own; its argument's type may follow its name."""
    if not text:
        raise NessieError(f"{command.word} needs the name of a function", *place(command),
                          hint="the type of its argument may follow: NAME [TYPE]")
    name, type_text = [*text.split(None, 1), "", ""][:2]
    where: list[tuple[Span, str]] = []
    if "(" in name:
        raise NessieError(f"{command.word} takes a function's name, no call", *place(command),
                          hint=f"the type of its argument may follow: {command.word} {name.partition('(')[0]} [int]")
    function = entry_of(session.environment, command, name.lower())
    type_ = function.scheme.type
    if function.kind != "function" or (isinstance(type_, Fun) and holds_function(type_.argument)):
        what = "takes a function" if function.kind == "function" else f"is a {KINDS.get(function.kind, function.kind)}"
        raise NessieError(f"{name} {what}, and is compiled where it is used", *place(command),
                          hint="show a function that uses it")
    written = None
    if type_text.lower() not in ("", "t", "f"):         # in NESL, t and f select one of two versions
        until = up_to(command, text)
        where = [(Span(until.source, until.end - len(type_text), until.end), "")]
        written = concrete_type(parse_type(until.source, where[0][0].start), session.environment)
    elif function.scheme.variables:
        raise NessieError(f"{name} : {show_scheme(function.scheme.type)} has code at given types only", *place(command),
                          hint=f"name its argument's type: {name} {example_type(type_)} for example")
    try:
        return monomorphic(session.environment, function.name, written).program
    except NessieError as misfit:
        misfit.places = (*where, *misfit.places) if written is not None else misfit.places
        raise


def example_type(function: Type) -> str:
    """A type without variables that the function's argument can have, as one writes it after the name."""
    assert isinstance(function, Fun)
    bases: dict[str, Type] = {}
    for variable in free_variables(function.argument):
        bases[variable.name] = Base(next(iter(CLASSES[variable.cls]), "int"))
    return show_type(substitute(function.argument, bases), top=False)


def up_to(command: syntax.Command, part: str) -> Span:
    """The span of this part of the command's text, after the first word or before a file's name, in a source that ends
    there."""
    assert command.span is not None         # the parser gives every form one
    span, text = command.span, command.text
    begins = span.source.text.index(text, span.start + len(command.word))       # only space stands between
    begins += len(text) - len(part) if text.endswith(part) else 0
    ends = begins + len(part)
    return Span(replace(span.source, text=span.source.text[:ends]), begins, ends)


# set ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """A setting. `takes` describes its values; `value` gives the current one; `set` sets it and returns whether the
    value is valid."""
    name: str
    takes: str
    value: Callable[[Session], str]
    set: Callable[[Session, str], bool]


def set_(session: Session, command: syntax.Command) -> None:
    name, value = [*command.text.lower().split(None, 1), "", ""][:2]
    setting = next((s for s in SETTINGS if s.name == name), None)
    if setting is not None:
        if not setting.set(session, value):
            raise NessieError(f"{name} cannot be set to {value or 'nothing'}", *place(command),
                              hint=f"it takes {setting.takes}, and is {setting.value(session)} now")
    elif name in SET_INSTEAD:
        raise Unsupported(f"there is nothing for {name} to set", *place(command), hint=SET_INSTEAD[name])
    elif name not in WITHOUT_EFFECT:
        raise NessieError("there is no such setting", *place(command),
                          hint=f"there are {', '.join(setting.name for setting in SETTINGS)}")


def set_print_length(session: Session, value: str) -> bool:
    if is_number(value):
        session.print_length = int(value)
    return is_number(value)


def set_arg_check(session: Session, value: str) -> bool:
    if value in SWITCH:
        session.job = replace(session.job, unchecked=not SWITCH[value])
    return value in SWITCH


def set_float(session: Session, value: str) -> bool:
    return set_widths(session, value, lambda widths, bits: replace(widths, floats=bits))


def set_int(session: Session, value: str) -> bool:
    return set_widths(session, value, lambda widths, bits: replace(widths, ints=bits))


def set_widths(session: Session, value: str, changed: Callable[[Widths, int], Widths]) -> bool:
    """Set the bits of the program's numbers, which it cannot change where it has begun."""
    if value not in map(str, WIDTHS) or any(True for _ in session.environment.program.names()):
        return False
    session.environment.widths = changed(session.environment.widths, int(value))
    session.job = replace(session.job, widths=session.environment.widths)
    return True


def set_verbose(session: Session, value: str) -> bool:
    if value in SWITCH:
        session.verbose = SWITCH[value]
    return value in SWITCH


def set_memory_size(session: Session, value: str) -> bool:
    if is_number(value):
        limits = session.target.limits
        hints = replace(limits.hints, memory=PROMPT.memory)         # the prompt's hint fits in a file, too
        session.target.limits = replace(limits, memory=int(value) * WORD_BYTES, hints=hints)
    return is_number(value)


def memory_size(session: Session) -> str:
    memory = session.target.limits.memory
    return "a share of what is free" if memory is None else str(memory // WORD_BYTES)


def is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) < 19


SWITCH = {"on": True, "off": False}
NUMBER, SWITCHED, BEFORE = "a number", "on or off", "32 or 64, before anything is evaluated"
SETTINGS = (
    Setting("print_length", NUMBER, lambda session: str(session.print_length), set_print_length),
    Setting("arg_check", SWITCHED, lambda session: "off" if session.job.unchecked else "on", set_arg_check),
    Setting("verbose", SWITCHED, lambda session: "on" if session.verbose else "off", set_verbose),
    Setting("float", BEFORE, lambda session: str(session.environment.widths.floats), set_float),
    Setting("int", BEFORE, lambda session: str(session.environment.widths.ints), set_int),
    Setting("memory_size", "a number of words of 8 bytes", memory_size, set_memory_size),
)
SHOW_INSTEAD = {
    "bugs": "what differs from the original stands in docs/language.md",
    "config": "nessie --target says where programs run; show status tells the settings",
    "configs": "nessie --target says where programs run; nessie --help lists the targets",
}
WITHOUT_EFFECT = ("debug", "redefine", "lnesl")         # settings of the original's implementation
SET_INSTEAD = {
    "trace": "print_debug(\"x\", x) prints a value where it is computed",
    "profile": "nessie profile tells what a program costs, time(e) the seconds that an expression takes",
    "config": "nessie --target says where programs run",
    "rsh_command": "programs run on this computer",
    "editor": "edit the file elsewhere, and load it",
}

# The commands -----------------------------------------------------------------------------------------

NESL_COMMANDS = (
    Row("load", '"FILE"', "evaluate the forms of a file", no_form),
    Row("describe", "NAME", "the type of a name and what it means", describe_),
    Row("apropos", "TEXT", "names that have to do with it", apropos_),
    Row("show", "code NAME", "its definition", show),
    Row("show", "compiled NAME [TYPE]", "its kernels", show),
    Row("show", "FORM NAME [TYPE]", f"another form of it: {', '.join(SHOWN)}", show),
    Row("show", "status", "the settings", show),
    Row("set", "print_length N", "how many elements of a sequence are printed", set_),
    Row("set", "arg_check on/off", "whether indices, lengths and divisors are checked", set_),
    Row("set", "verbose on/off", "tell how many kernels each form launches, over how many elements", set_),
    Row("set", "memory_size N", "the most memory for arrays, in words of 8 bytes", set_),
    Row("set", "float BITS", "the bits of floats, 32 or 64, before anything is evaluated", set_),
    Row("set", "int BITS", "the bits of ints, in the same way", set_),
    Row("shell", '"COMMAND"', "run another program, with --allow-shell", shell),
    Row("help", "[NAME]", "this; with a name, the same as describe", help_),
    Row("?", "[NAME]", "the same", help_),
    Row("exit", "", "leave", exit_),
)

# NESL's other commands, each with the reason why it is not supported, and a replacement.
INSTEAD = {
    "defconfig": ("there are no configurations of machines", "nessie --target says where programs run"),
    "dump": ("there is no VCODE to dump", "show fused name; shows kernels, nessie --dump DIR keeps every form"),
    "edit": ("there is no editor here", "edit the file elsewhere, and load it"),
    "get": ("no run is in the background",
            "get is a command where it begins a form; (get(v, i)) is a call, and so is v -> i"),
    "lisp": ("there is no Lisp beneath", "exit; leaves"),
}
