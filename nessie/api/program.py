"""A NESL program as a Python object, whose attributes are its functions, datatypes and variables."""
from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Literal

from nessie.activity import Activity
from nessie.api.calls import COMPILING, Calls
from nessie.api.errors import Missing, as_nessie_errors
from nessie.api.function import Function
from nessie.api.lengths import in_form, vectors
from nessie.api.options import Options, a_path, a_text, check_target
from nessie.api.parameters import arranged
from nessie.api.plans import kinds_of, kinds_with_lengths, without_lists
from nessie.api.thresholds import Thresholds
from nessie.api.values.awkward_arrays import as_awkward
from nessie.api.values.datatypes import Datatypes
from nessie.api.values.results import Results
from nessie.api.values.taking import Taken, taken
from nessie.api.views import Picture, pictures
from nessie.arguments.types import Parameters
from nessie.arguments.with_lengths import Due
from nessie.arguments.with_lengths import due as due_for
from nessie.base.names import shown_name
from nessie.base.source import NessieError, Source, Span
from nessie.base.system.deep import run_deep
from nessie.base.system.limits import PYTHON
from nessie.base.system.memory import MemoryBudget
from nessie.base.text.types_text import show_scheme
from nessie.base.types import Fun, Type, holds_function
from nessie.base.values import arrays
from nessie.lengths.told import Told
from nessie.pipeline import Checking, Job
from nessie.running.results import restore
from nessie.running.target_names import target_of_code
from nessie.running.targets import Limits, Target
from nessie.running.world import World
from nessie.schedule.wishes.wishes import Met
from nessie.session.session import QUIT, Session
from nessie.syntax import nodes as syntax
from nessie.syntax.parse import parse, read_source
from nessie.syntax.types import tells_lengths
from nessie.typing.environment import Entry

CHECKS = Checking(share=0.02)       # the share of this process's compilations that is checked


class Program:
    """A program from `nessie.load` or `nessie.compile`. `program.f(x)` calls the program's function f; `program["f"]`
    is f even if Program has another attribute of that name. `program.point(1.0, 2.0)` makes a datatype's value, a named
    tuple. `program.v` is the value of a top-level variable. Several threads may call at once."""

    def __init__(self, source: Source | None = None, options: Options | None = None, job: Job | None = None) -> None:
        """`job`: how it is compiled; None: as the options say."""
        self._options = options or Options()
        world = World(lambda text: sys.stdout.write(text), seed=self._options.seed)
        limits = Limits(self._options.bytes, self._options.depth, self._options.seconds, PYTHON)
        activity = Activity() if job is None else job.activity
        target = Target(self._options.target, self._options.threads, limits, world, activity=activity,
                        where=self._options.where, tuning=self._options.tuned(source.name if source else ""))
        job = job or Job(
            target=target_of_code(self._options.target), asked_target=self._options.target, strict=False,
            widths=self._options.widths, wishes=self._options.wishes, unchecked=self._options.unchecked,
            versions=bool(self._options.tuning), checks=CHECKS, activity=activity)
        self._session = Session(target, job, listener=lambda text: sys.stderr.write(text))
        self._calls = Calls(self._session, self._options.threads, limits, self._options.where)
        self._datatypes = Datatypes(self._session)
        self._source = source or Source("program", "")
        self._sources: list[list[Source]] = []          # what it is made of: texts, each with the files that it loads
        self._parameters: dict[tuple[str, int, tuple[str, ...]], Parameters] = {}       # as far as calls have asked
        if source is not None:
            self._evaluate(source)

    def define(self, text: str, name: str = "program") -> Program:
        """Add the definitions of a text, which replace those of the same names. If one is wrong, none is added."""
        with as_nessie_errors():
            self._evaluate(Source(a_text(name, "the name of a program"), a_text(text, "a program")))
        return self

    def close(self) -> None:
        """End the workers that the target dask has started for this program, or leave the cluster. Results stay;
        later calls are errors, also those that need no workers. `with nessie.load(...) as program:` closes it, too."""
        self._calls.close()
        self._session.target.end()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def drawn(self) -> list[Picture]:
        """The pictures of the windows in which the program's functions have drawn since the last time. The windows are
        closed then. A notebook shows each."""
        return pictures(self._session.target.world.drawn())

    def _evaluate(self, source: Source) -> None:
        """Evaluate all forms of a text but expressions, whose values nobody would see."""
        sources = [source]

        def noted(path: str, places: list[tuple[Span, str]]) -> Source:
            sources.append(read_source(path, places))
            return sources[-1]
        self._take(lambda: parse(source, noted).forms)
        self._sources.append(sources)

    def _plain_job(self) -> Job:
        """How a worker of a cluster compiles it."""
        return replace(self._session.job, target="cpu", asked_target="", met=Met(), checks=Checking(),
                       activity=Activity())

    def _take(self, forms: Callable[[], Sequence[syntax.TopLevel]]) -> None:
        session = self._session

        def work() -> None:
            with COMPILING:
                before = session.environment, dict(session.values)
                try:
                    for form in forms():
                        if not isinstance(form, syntax.Evaluate) or form == QUIT:
                            session.evaluate(form)
                        if session.ended:
                            break
                except BaseException:
                    session.environment, session.values = before
                    raise
                finally:
                    session.ended = False
                    self._calls.forget()
                    self._parameters = {}
        run_deep(work)

    # Names --------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Any:
        entry = self._session.environment.program.entry(a_text(name, "a name").lower())
        if entry is None:
            raise self._missing(name)
        if entry.kind == "function":
            return Function(self, name.lower())
        if entry.kind == "constructor":
            return self._datatypes.kind(entry.name)
        return self._variable(entry)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __iter__(self) -> Iterator[str]:
        """The names that the program defines."""
        return iter([name for name in self._session.environment.program.names() if "'" not in name])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._session.environment.program.entry(name.lower()) is not None

    def __repr__(self) -> str:
        return f"<nessie.Program {self._source.name}: {', '.join(self) or 'nothing'}>"

    def _missing(self, name: str) -> Missing:
        near = get_close_matches(name.lower(), list(self), 1)
        if near:
            hint = f"did you mean {near[0]}?"
        elif self._session.environment.builtin(name.lower()) is not None:
            hint = f"{name} is of the library; call it in a function: function f(x) = {name}(x);"
        else:
            hint = f"it has {', '.join(self) or 'none'}"
        return Missing(f"the program defines no {name}", hint=hint)

    def _variable(self, entry: Entry) -> Any:
        type_ = entry.scheme.type
        with as_nessie_errors():
            value = restore(self._session.values[entry.name], type_, self._session.environment)
            return self._results([*arrays(value)]).value(shown_name(entry.name), value, type_)

    # Calls --------------------------------------------------------------------------------------

    def _call(self, function: str, given: Sequence[Any], named: Mapping[str, Any], target: str | None,
              asked: syntax.TypeExp | None = None, stay: bool = False) -> Any:
        """What the function gives. `stay`: arrays of the result stay on the device, wherever the arguments lie."""
        target = check_target(self._options.target if target is None else target)
        tells = (asked is not None and tells_lengths(asked)) or self._session.declared(function) is not None
        kinds, plain = None, given
        if target == "cpu" and not named:
            kinds = kinds_with_lengths(given) if tells else kinds_of(given)
            if kinds is None and not tells:
                plain = without_lists(given)
                kinds = kinds_of(plain)
        if kinds is None:
            return self._called(function, given, named, target, asked, Told(), stay)[0]
        key = function, asked, kinds
        plan = self._calls.plan_for(key)
        names = None if plan is None else plan.names(plain)
        if plan is None or names is None:
            plans, told = self._calls.plans, Told()
            result, arguments = self._called(function, given, named, target, asked, told, stay)
            self._calls.called(plans, key, plain, arguments, target, told if tells else None)
            return result
        held = self._calls.call_again(plan, names, lambda: self._taken(function, given, asked=asked))
        if plan.result is not None:
            return plan.result(held)
        value = plan.callers.flat_result(held)
        if plan.check is not None:
            plan.check(value)
        return self._results([]).plain(value, plan.found.result)

    def _called(self, function: str, given: Sequence[Any], named: Mapping[str, Any], target: str,
                asked: syntax.TypeExp | None, told: Told, stay: bool) -> tuple[Any, Taken]:
        """The result of any call, and its arguments, which extend what is `told`."""
        limit = self._calls.limits.deadline()
        arguments = self._taken(function, given, named, asked, told)
        arguments = replace(arguments, stay=stay)
        result, type_, variables = self._calls.call(function, arguments, target, limit)
        if check := self._calls.result_check(function, asked, told, type_):
            check(result)
        shared = [*arguments.shared, *(array for value in variables for array in arrays(value))]
        value = self._results(shared).plain(result, type_)
        for said in self._session.unmet_so_far():
            warnings.warn(said, stacklevel=4)       # where the user calls
        return as_awkward(value) if arguments.awkward else value, arguments

    def _results(self, shared: list[Any]) -> Results:
        return Results(self._session.content, self._datatypes.kind, shared)

    def _taken(self, function: str, given: Sequence[Any], named: Mapping[str, Any] | None = None,
               asked: syntax.TypeExp | None = None, told: Told | None = None) -> Taken:
        """The arguments as flat values, after the checks that inference does not make. `asked`: the type of the
        argument, as written, if it is not the function's own; `told` is extended by what they tell of lengths."""
        entry = self._session.environment.lookup(function)
        assert entry is not None
        given, by_name = arranged(function, entry, self._session.environment, given, named or {})
        key = function, len(given), tuple(by_name)
        parameters = self._parameters.get(key)
        if parameters is None:
            parameters = self._parameters[key] = self._parameters_of(function, entry, len(given), list(by_name))
        limits = self._calls.limits
        room = MemoryBudget(limits.memory, limits.hints.memory)
        if asked is None and self._session.declared(function) is None:
            return taken(self._datatypes, given, by_name, parameters, room)
        due = self._due(function, entry, len(given), list(by_name), asked, parameters)
        types = vectors(self._datatypes, due, [*given, *by_name.values()])
        parameters = replace(parameters, types=types, fitting=set())
        return in_form(taken(self._datatypes, given, by_name, parameters, room), due, told or Told(), room)

    def _due(self, function: str, entry: Entry, given: int, by_name: Sequence[str], asked: syntax.TypeExp | None,
             parameters: Parameters) -> Due:
        """What is due for so many arguments, and for those given by name."""
        due = due_for(self._session, function, entry.arity if by_name else given, asked, parameters.takes)
        if not by_name:
            return due
        names = [name for name, _ in entry.defaults]
        return due.of([*range(given), *[entry.arity - len(names) + names.index(name) for name in by_name]])

    def _parameters_of(self, function: str, entry: Entry, given: int, by_name: list[str]) -> Parameters:
        """The parameters of so many arguments, and of those given by name."""
        takes = entry.scheme.type.argument if isinstance(entry.scheme.type, Fun) else None
        here = [(span, "defined here") for span in entry.origin[:1]]
        if takes is not None and holds_function(takes):
            raise NessieError(f"{function} takes {shown(takes)}: a function cannot come from outside", *here,
                              hint=f"write a NESL function that calls {function}")
        if not given and not by_name:
            raise NessieError(f"{function} takes {shown(takes)}, here is no argument", *here)
        wanted = self._session.parameter_types(function, given)
        if by_name:
            every, defaults = self._session.parameter_types(function, entry.arity), [name for name, _ in entry.defaults]
            wanted = [*every[:given], *[every[defaults.index(name) - len(defaults)] for name in by_name]]
        return Parameters(f"{function} takes {shown(takes)}", wanted, self._session.content)

    def __reduce__(self) -> Any:
        raise NessieError("a program can neither be pickled nor copied",
                          hint="load it where it is used: what is compiled is kept on disk")


def shown(takes: Type | None) -> str:
    return show_scheme(takes) if takes else "nothing"


def load(path: str | os.PathLike[str], *, target: str = "cpu", threads: int | None = None,
         memory: int | str | None = None, depth: int | None = None, seconds: float | None = None, seed: int = 0,
         unchecked: bool = False, float: Literal[32, 64] = 64, int: Literal[32, 64] = 64,
         mappings: Mapping[str, str] | None = None, levels: Mapping[str, str] | None = None,
         tuning: str | os.PathLike[str] | Thresholds | None = None,
         cluster: Any = None, workers: int | None = None) -> Program:
    """The program in a file (see Program). `target`: cpu, cuda, cudasim, dask or reference; `threads` of the CPU;
    `memory`: a limit in bytes, or a text such as "2G"; `depth`: a limit on recursion; `seconds`: a limit for each
    call; `seed` of random numbers; `unchecked`: leave out run-time checks; `float`, `int`: the bits of the program's
    numbers, 32 or 64; `mappings`: how a GPU's threads walk what these names stand for, such as {"b": "Jing"};
    `levels`: who owns the rows of what these names stand for, such as {"b": "warp"}; `tuning`: thresholds of
    versions, a file that nessie tune has written, what Function.tune has found, or "none", for no versions;
    `cluster`: the address of a Dask scheduler, or a client, for the target dask; `workers`: so many on this machine.
    NessieError if the file cannot be read or the program is wrong."""
    with as_nessie_errors():
        return Program(read_source(a_path(path, "the path of a program")),
                       Options(target, threads, memory, depth, seconds, seed, unchecked, float, int, mappings, levels,
                               tuning, cluster, workers))


def compile(text: str, *, name: str = "program", target: str = "cpu", threads: int | None = None,
            memory: int | str | None = None, depth: int | None = None, seconds: float | None = None, seed: int = 0,
            unchecked: bool = False, float: Literal[32, 64] = 64, int: Literal[32, 64] = 64,
            mappings: Mapping[str, str] | None = None, levels: Mapping[str, str] | None = None,
            tuning: str | os.PathLike[str] | Thresholds | None = None,
            cluster: Any = None, workers: int | None = None) -> Program:
    """The program in a text, which messages call `name`. The options are those of `load`."""
    with as_nessie_errors():
        return Program(Source(a_text(name, "the name of a program"), a_text(text, "a program")),
                       Options(target, threads, memory, depth, seconds, seed, unchecked, float, int, mappings, levels,
                               tuning, cluster, workers))
