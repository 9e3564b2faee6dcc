"""Calls a function on a part of files, with the other arguments."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nessie.api.calls import Typed
from nessie.api.lengths import in_form
from nessie.api.parameters import arranged
from nessie.api.partitions.arguments import Given, Settled, Stream, plain
from nessie.api.values.taking import Argument, Taken
from nessie.arguments.types import GivenArgument, Parameters, types_of
from nessie.arguments.with_lengths import Due, as_given
from nessie.base.fitted import fitted
from nessie.base.records import dataclass
from nessie.base.source import Interrupted, NessieError
from nessie.base.system.deadline import Deadline
from nessie.base.system.deep import run_deep
from nessie.base.system.memory import MemoryBudget
from nessie.base.types import Pair, Type, expand, unnest_right
from nessie.base.values import Flat, arrays
from nessie.files.files import made
from nessie.files.partitions.partitions import Partition, refuse_changed
from nessie.files.partitions.readers import some_rows
from nessie.files.parts import File
from nessie.lengths.told import Told
from nessie.syntax import nodes as syntax

if TYPE_CHECKING:
    from nessie.api.program import Program

OTHER = ("all parts are of the type that the first one has; a type of the function's parameter, or one that is asked "
         "for, can be wider")

Parts = Sequence[Partition]     # one of each of the files that are read together


@dataclass(frozen=True)
class PartCall:
    """Calls of a function of a program, on arguments that are settled. `asked`: the type of its argument, as written,
    if it is not the function's own."""
    program: Program
    function: str
    asked: syntax.TypeExp | None
    settled: Settled

    def taken(self, parts: Parts, files: Sequence[File]) -> Taken:
        """The arguments, of which these files are some."""
        program, settled = self.program, self.settled
        content, widths, room = program._session.content, program._session.environment.widths, room_of(program)
        parameters, due = due_of(program, self.function, self.asked, len(settled.types), settled.names)
        values = list(settled.values)
        for place, part, file in zip(settled.streams, parts, files, strict=True):
            type_ = settled.types[place]
            refuse_other(part, file, replace(parameters, types=[type_], fitting=set()))
            values[place] = fitted(made(part.path, file, type_, content), expand(type_, content), widths)
        refuse_lengths(parts, [values[place] for place in settled.streams])
        arguments = [Argument(value, type_, plain("", program._datatypes))
                     for value, type_ in zip(values, settled.types, strict=True)]
        return in_form(Taken(tuple(arguments), settled.names, room.used), due, Told(), room)

    def typed(self, taken: Taken) -> Typed:
        return run_deep(lambda: self.program._calls.at_types(self.function, taken.types, taken.names))

    def result(self, parts: Parts, files: Sequence[File]) -> tuple[Any, Type]:
        """The flat result and its type. NessieError, with the first row that fails if there is one."""
        taken, limit = self.taken(parts, files), self.program._calls.limits.deadline()
        try:
            found = self.called(taken, limit)
        except Interrupted:
            raise
        except NessieError as error:
            row, told = self.failing_row(taken, limit) or (None, error)
            where = str(parts[0]) if row is None else parts[0].row(row)
            raise NessieError(f"{where}: {told.message}", *told.places, hint=told.hint) from None
        for part in parts:
            refuse_changed(part)
        return found

    def called(self, taken: Taken, limit: Deadline) -> tuple[Any, Type]:
        calls, target = self.program._calls, self.program._options.target
        result, type_, _ = calls.call(self.function, taken, target, limit)
        return result, type_

    def value(self, result: Any, type_: Type) -> Any:
        """The result as Python's value."""
        given = [array for value in self.settled.values if value is not None for array in arrays(value)]
        return self.program._results(given).plain(result, type_)

    def failing_row(self, taken: Taken, limit: Deadline) -> tuple[int, NessieError] | None:
        """The first row on which the call fails, if it fails on one alone, and its error, which has that row's values;
        None, too, if the part's time is up before it is found."""
        calls, streams = self.program._calls, self.settled.streams

        def error_of(first: int, last: int, call: Callable[[Taken], object]) -> NessieError | None:
            try:
                call(rows_of(taken, streams, first, last))
            except Interrupted:
                raise
            except NessieError as error:
                if limit.passed():
                    raise
                return error
            return None

        def run(some: Taken) -> None:
            found = calls.at_types(self.function, some.types, some.names)
            calls.run(found, found.arguments(some.values), some, self.program._options.target)

        def search() -> tuple[int, NessieError] | None:
            first, last = 0, taken.values[streams[0]].length
            while last - first > 1:
                middle = (first + last) // 2
                if error_of(first, middle, run):
                    last = middle
                elif error_of(middle, last, run):
                    first = middle
                else:
                    return None
            error = error_of(first, last, lambda some: self.called(some, limit)) if last > first else None
            return None if error is None else (first, error)
        try:
            return None if limit.passed() else run_deep(search, limit)
        except Interrupted:
            raise
        except NessieError:             # time is up
            return None


def rows_of(taken: Taken, streams: Sequence[int], first: int, last: int) -> Taken:
    """The arguments, with these rows alone of those that come by parts."""
    arguments = list(taken.arguments)
    for place in streams:
        arguments[place] = replace(arguments[place], value=some_rows(arguments[place].value, first, last))
    return replace(taken, arguments=tuple(arguments))


def refuse_other(part: Partition, file: File, wanted: Parameters) -> None:
    """NessieError for a part of another type than the first one."""
    try:
        types_of([GivenArgument(str(part), file, file)], wanted)
    except NessieError as error:
        raise NessieError(error.message, *error.places, hint=error.hint or OTHER) from None


def refuse_lengths(parts: Parts, values: Sequence[Any]) -> None:
    """NessieError unless there are sequences of one length."""
    for part, value in zip(parts, values, strict=True):
        if not isinstance(value, Flat):
            raise NessieError(f"{part} is one value, which has no parts")
        if value.length != values[0].length:
            raise NessieError(f"{part} has {value.length} rows, and {parts[0]} has {values[0].length}")


# Before the first call --------------------------------------------------------------------------


def settled(program: Program, function: str, asked: syntax.TypeExp | None, given: Sequence[Any],
            named: Mapping[str, Any], parts: Parts, files: Sequence[File]) -> Settled:
    """The arguments, of which some are streams, of which these are the first parts."""
    entry = program._session.environment.lookup(function)
    assert entry is not None                # the program has found it
    given, by_name = arranged(function, entry, program._session.environment, given, named)
    every: list[Given | Stream] = [*given, *by_name.values()]
    where = [f"argument {name}" for name in [*range(1, len(given) + 1), *by_name]]
    parameters, due = due_of(program, function, asked, len(every), tuple(by_name))
    if isinstance(every[-1], Stream) and isinstance(due.types[-1], Pair):       # rows are no tuple of all the rest
        raise NessieError(f"{function} takes {len(every) - 1 + len(unnest_right(due.types[-1], Pair))} arguments, and "
                          f"gets {len(every)}", hint="the others come after the files, or by name")
    opened = [GivenArgument(f"{called} ({parts[one.number]})", files[one.number], files[one.number])
              if isinstance(one, Stream) else one.opened(called, type_)
              for one, called, type_ in zip(every, where, due.types, strict=True)]
    types = types_of(opened, replace(parameters, types=as_given(opened, due, parameters), fitting=set()))
    content, widths = program._session.content, program._session.environment.widths
    values = [None if isinstance(one, Stream) else fitted(one.made(called, type_), expand(type_, content), widths)
              for one, called, type_ in zip(every, where, types, strict=True)]
    numbers = {one.number: place for place, one in enumerate(every) if isinstance(one, Stream)}
    return Settled(tuple(types), tuple(values), tuple([numbers[number] for number in range(len(numbers))]),
                   tuple(by_name))


def due_of(program: Program, function: str, asked: syntax.TypeExp | None, count: int,
           names: Sequence[str]) -> tuple[Parameters, Due]:
    """The parameters of a call, of whose so many arguments the last have these names, and what is due for them."""
    entry = program._session.environment.lookup(function)
    assert entry is not None                # the program has found it
    parameters = program._parameters_of(function, entry, count - len(names), list(names))
    if asked is None and program._session.declared(function) is None:
        return parameters, Due(list(parameters.types), [])
    return parameters, program._due(function, entry, count - len(names), names, asked, parameters)


def room_of(program: Program) -> MemoryBudget:
    limits = program._calls.limits
    return MemoryBudget(limits.memory, limits.hints.memory)


def refuse_effects(call: PartCall, taken: Taken) -> None:
    """NessieError if the function, at the parts' type, does more than compute."""
    function = call.function
    effect = run_deep(lambda: call.program._calls.effect(function, taken))
    if effect == "_seed":
        raise NessieError(f"{function} draws random numbers, and parts are computed anywhere, in any order",
                          hint="let the rows have those that it needs")
    if effect:
        raise NessieError(f"{function} has effects ({effect}), and parts are computed anywhere, in any order",
                          hint="let it give what it wants to print")
