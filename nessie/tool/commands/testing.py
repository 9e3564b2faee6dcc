"""The command `nessie test`: checks the examples in the comments of programs (nessie.syntax.examples).

Each example is evaluated as at the prompt, after the whole program without its bare expressions. No example sees
another, and all begin with the same random numbers.

    f(x) => [1, 2.5]            the value as NESL prints it, or an expression for it
    f(x) => error               an error at run time
    f(x) => error: Divide       ... whose message begins so

The output lists failures. A line that seems to lack a => gets a warning. The status is 0 if all examples hold, 1 if
some do not, 2 if a program has errors of its own or if there is no example at all.
"""
from __future__ import annotations

import argparse
import re
from dataclasses import replace
from typing import Any

from nessie.base.source import Interrupted, NessieError, Source, Span, Unsupported, UsageError
from nessie.base.system.deadline import NEVER, Deadline
from nessie.base.system.deep import run_deep
from nessie.base.text.types_text import show_scheme
from nessie.base.text.values_text import show_value
from nessie.base.types import Type
from nessie.running.results import restore
from nessie.session.session import Session
from nessie.session.streams import complain, say, say_aside, warn
from nessie.syntax import nodes as syntax
from nessie.syntax.examples import Example, examples, without_arrow
from nessie.syntax.parse import parse, read_source
from nessie.syntax.parser import parse_expression
from nessie.tool.commands.expected import NoValue, difference, read_shown
from nessie.tool.options import FAILED, MISUSED, new_session
from nessie.typing import nodes as typed

ERROR = re.compile(r"error\b\s*(?::(.*))?", re.DOTALL | re.IGNORECASE)
EXAMPLE = "a line of a comment with => outside of brackets is an example: an expression, before it prose and a colon"


class Failed(Exception):
    """An example does not hold. The message says why, with the place."""


def test(options: argparse.Namespace) -> int:
    if not options.operand:
        raise UsageError("test needs FILE, one or more", hint="nessie test --help tells more")
    status, total, failures = 0, 0, 0
    for path in options.operand:
        try:
            source = read_source(path)
            session = new_session(options, say_aside)
            functions = define_all(session, source)
        except NessieError as error:
            complain(error)
            say(f"{path}: has errors of its own\n")
            status = MISUSED
            continue
        found = list(examples(source))
        failed = sum(not holds(session, example) for example in found)
        warn(f"no example: => is missing\n{sign.excerpt()}" for sign in without_arrow(source, functions))
        say(f"{path}: {counted(len(found), failed)}\n")
        warn(session.unmet())
        total, failures = total + len(found), failures + failed
    if len(options.operand) > 1:
        say(f"{len(options.operand)} files: {counted(total, failures)}\n")
    if not total and not status:
        raise UsageError("there is no example in what is to be tested",
                         hint="an example is a line of a comment: % twice([1, 2]) => [2, 4] %")
    return status or (FAILED if failures else 0)


def counted(examples: int, failures: int) -> str:
    number = f"{examples} example{'' if examples == 1 else 's'}"
    if not examples:
        return "no examples"
    return f"{number}, {failures} failed" if failures else f"{number}, all hold"


def define_all(session: Session, source: Source) -> set[str]:
    """Evaluate the forms of a file except bare expressions, up to the first error. Returns the functions' names."""
    session.listener = say_aside
    forms = parse(source).forms
    for form in forms:
        if not isinstance(form, syntax.Evaluate):
            session.evaluate(form)
    return {form.name for form in forms if isinstance(form, syntax.FunctionDef)}


def holds(session: Session, example: Example) -> bool:
    """Whether the example holds. If not, print why."""
    why = why_not(session, example)
    say(f"failed: {why}\n" if why else "")
    return not why


def why_not(session: Session, example: Example, limit: Deadline = NEVER) -> str:
    """Why the example does not hold; empty if it does."""
    world = session.target.world
    seed = world.seed
    try:
        run_deep(lambda: session.target.in_time(lambda: check(session, example)), limit)
    except Failed as failed:
        return str(failed)
    except Interrupted:
        raise
    except NessieError as error:
        error.places = tuple([(in_file(span, example.expression.source), label) for span, label in error.places])
        if not any(example.expression.holds(span) or example.expected.holds(span) for span, _ in error.places):
            error.places = (*error.places, (example.expression, "in this example"))
        return error.told()
    except MemoryError:
        return f"out of memory\n{example.expression.excerpt()}"
    finally:
        world.seed = seed
    return ""


def check(session: Session, example: Example) -> None:
    """Raise an error if the example does not hold. Its definitions are dropped."""
    if example.unclosed:
        raise NessieError("this bracket is not closed", (example.unclosed, ""))
    before = session.environment
    try:
        exp, type_ = session.infer_expression(expression(example.expression))
        wanted = ERROR.fullmatch(text_of(example.expected))
        if wanted:
            check_error(session, example, exp, type_, " ".join((wanted[1] or "").split()))
        else:
            check_value(session, example, value_of(session, exp, type_), type_)
    finally:
        session.environment = before


def check_value(session: Session, example: Example, value: Any, type_: Type) -> None:
    expected = expected_value(session, example, type_)
    try:
        place = difference(expected, value, type_, session.content)
    except NessieError as error:
        error.places = ((example.expression, ""),)
        raise
    if place is not None:
        where = f", which differs at {place}" if place else ""
        raise unlike(example, shown(session, expected, type_), shown(session, value, type_) + where)


def expected_value(session: Session, example: Example, type_: Type) -> Any:
    """The expected value: a printed value, or else the value of an expression of the same type."""
    try:
        return read_shown(text_of(example.expected), type_, session.content)
    except NoValue:
        exp, found = session.infer_expression(expression(example.expected))
    if found != type_:
        raise NessieError("the types are not the same", (example.expression, f"of type {show_scheme(type_)}"),
                          (example.expected, f"of type {show_scheme(found)}"))
    return value_of(session, exp, type_)


def check_error(session: Session, example: Example, exp: typed.Exp, type_: Type, message: str) -> None:
    """Check that the expression fails while it runs, with an error that begins with the message."""
    expected = f"error: {message}" if message else "an error"
    prepared = session.prepare(exp, type_)
    try:
        value = session.compute(exp, type_, prepared)
    except (Unsupported, Interrupted):
        raise
    except NessieError as error:
        if not " ".join(error.message.split()).startswith(message):
            raise unlike(example, expected, f"error: {error.message}") from None
        return
    raise unlike(example, expected, shown(session, restore(value, type_, session.environment), type_))


def in_file(span: Span, source: Source) -> Span:
    """The span in the whole file, if it is in the part of the file that an expression was read from."""
    part = span.source.name == source.name and source.text.startswith(span.source.text)
    return replace(span, source=source) if part else span


def value_of(session: Session, exp: typed.Exp, type_: Type) -> Any:
    return restore(session.compute(exp, type_), type_, session.environment)


def shown(session: Session, value: Any, type_: Type) -> str:
    return show_value(value, type_, session.print_length, session.content, session.digits)


def unlike(example: Example, expected: str, came: str) -> Failed:
    return Failed(f"another value came than is expected\n{example.expression.excerpt()}\n"
                  f"expected: {expected}\ncame:     {came}")


def text_of(span: Span) -> str:
    return span.source.text[span.start:span.end]


def expression(span: Span) -> syntax.Exp:
    """The expression that fills the span."""
    until = replace(span.source, text=span.source.text[:span.end])
    try:
        return parse_expression(until, span.start)
    except NessieError as error:
        error.hint = error.hint or EXAMPLE
        raise
