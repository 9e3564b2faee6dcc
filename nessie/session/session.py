"""A session. It evaluates top-level forms one after another; each form sees the definitions before it.

Functions and datatypes go into the environment. An expression or assignment is compiled to a program whose parameters
are the top-level variables that it uses, and is run on the target. The session keeps the run-time values of its names.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from functools import partial
from typing import Any

from nessie import driver, pipeline
from nessie.base.fitted import fitted
from nessie.base.names import shown_name
from nessie.base.records import dataclass
from nessie.base.source import (
    Consequence,
    InternalError,
    Interrupted,
    LostOutput,
    NessieError,
    Source,
    Span,
    as_error,
    blamed,
)
from nessie.base.text.types_text import show_scheme
from nessie.base.text.values_text import show_value
from nessie.base.types import Data, Fun, Pair, Scheme, Type, expand, unnest_right
from nessie.base.values import arrays
from nessie.base.widths import FULL
from nessie.library import library
from nessie.mono.copies.copies import monomorphic_expression
from nessie.mono.copies.erase import content, erase
from nessie.pragmas import mistakes_in, of_source
from nessie.running.results import matched, restore
from nessie.running.targets import Target
from nessie.schedule.wishes.unmet import unmet, unmet_so_far
from nessie.session.calling import Prepared, prepare_call, tuple_of
from nessie.session.checking import names_before, names_defined
from nessie.session.outcome import Outcome
from nessie.syntax import nodes as syntax
from nessie.syntax import parse
from nessie.syntax import text as syntax_text
from nessie.syntax.types import tells_lengths
from nessie.typing import infer
from nessie.typing import nodes as typed
from nessie.typing.advice.hints import doubts, named, narrowed
from nessie.typing.environment import Entry, Environment, function_scheme, pattern_type

QUIT = syntax.Evaluate(syntax.Name("quit"))         # leaves, where nothing has that name


@dataclass
class Session:
    """A session. `values` are run-time values by internal name; `forms` counts the evaluated forms; `ended`: a form has
    asked to leave; `verbose`: tell the launches of each form; `by_name`: functions that are called have programs of
    their own. `listener` takes the session's messages; None: they go to the program's output."""
    target: Target = field(default_factory=Target)
    job: pipeline.Job = field(default_factory=pipeline.Job)
    environment: Environment = field(default_factory=library.library)
    values: dict[str, Any] = field(default_factory=dict)
    print_length: int = 100
    verbose: bool = False
    listener: Callable[[str], object] | None = None
    forms: int = 0
    unseen: list[NessieError] = field(default_factory=list)         # warnings
    seen: set[object] = field(default_factory=set)                  # what warnings about wishes have been about
    ended: bool = False
    declarations: dict[str, syntax.TypeFun] = field(default_factory=dict)   # that tell lengths, by internal name
    drew: dict[int, Span | None] = field(default_factory=dict)      # where a seed's numbers were assigned; None: told
    by_name: bool = False

    def __post_init__(self) -> None:
        if self.job.widths != FULL:
            self.environment.widths = self.job.widths

    def run(self, source: Source, ends_itself: bool = False) -> Iterator[Outcome | NessieError | InternalError]:
        """The outcome of each form of the text. `ends_itself`: the last form needs no `;`."""
        return self.outcomes(parse.forms(source, ends_itself))

    def outcomes(self, forms: Iterable[syntax.TopLevel | NessieError],
                 evaluate: Callable[[syntax.TopLevel], Outcome] | None = None) -> \
            Iterator[Outcome | NessieError | InternalError]:
        """The outcome of each form, by `evaluate` if it is given, else by the session's own. A failed form does not
        end the rest."""
        evaluate = evaluate or self.evaluate
        failed: set[str] = set()                # names of which a definition has failed
        for form in forms:
            if self.ended:
                return
            if isinstance(form, NessieError):
                failed |= names_before(form)
                yield form
                continue
            try:
                yield evaluate(form)
            except (BrokenPipeError, LostOutput):       # nobody reads what is printed
                raise
            except Exception as error:
                places = [(form.span, "while evaluating this")] if form.span else []
                found = blamed(as_error(error, *places), self.job.unchecked, *places)
                if isinstance(found, Consequence) and named(found.span).lower() not in failed:
                    found = NessieError(found.message, *found.places, hint=found.hint)
                failed |= names_defined(form)
                yield found

    def evaluate(self, form: syntax.TopLevel) -> Outcome:
        """Evaluate one form. Unless it fails, its definitions stay."""
        return self.target.in_time(lambda: self.evaluated(form), form.span)

    def evaluated(self, form: syntax.TopLevel) -> Outcome:
        if isinstance(form, syntax.Command):
            from nessie.session.commands import obey
            obey(self, form)
            return Outcome()
        if form == QUIT and self.environment.lookup("quit") is None:
            self.ended = True
            return Outcome()
        program, environment = self.inferred(form)
        before, self.environment = self.environment, environment
        try:
            outcomes = [self.define(form, definition) for definition in program.definitions]
        except BaseException:
            self.environment = before
            raise
        for definition in program.definitions:
            self.tell_of_old_callers(definition, before)
            if isinstance(definition, typed.Function):
                self.unseen += narrowed(form, function_scheme(definition).type)
        self.unseen += [*doubts(form), *mistakes_in(form)]
        return outcomes[-1] if outcomes else Outcome()

    def tell_of_old_callers(self, definition: typed.Definition, before: Environment) -> None:
        """Tell the user if a definition changes a name's type: earlier callers keep the old definition."""
        if isinstance(definition, typed.Variable):
            return
        name = shown_name(definition.name)
        old = before.program.entry(name)
        if old is not None and old.kind in ("function", "constructor") and old.name != definition.name:
            self.tell(f"Redefining {name} with a new type. Old calls will not be modified.\n")

    def tell_of_same_numbers(self, form: syntax.TopLevel) -> None:
        """Warn once of an assignment that has drawn the random numbers that another one drew."""
        world = self.target.world
        if not world.asked or not isinstance(form, syntax.Assign) or form.pattern.span is None:
            return
        earlier = self.drew.setdefault(world.seed, form.pattern.span)
        if earlier is not None and earlier != form.pattern.span:
            self.unseen.append(NessieError("two forms draw the same random numbers", (earlier, "drawn here"),
                                           (form.pattern.span, "and here"),
                                           hint="each form begins at the seed; rand_seed(1); sets another"))
            self.drew[world.seed] = None

    def define(self, form: syntax.TopLevel, definition: typed.Definition) -> Outcome:
        match definition:
            case typed.Variable(pattern, value):
                type_ = pattern_type(pattern)
                self.target.world.asked = False
                result = self.compute(value, type_, self.call_of(form))
                self.tell_of_same_numbers(form)
                self.values |= matched(pattern, result, self.environment)
                if isinstance(form, syntax.FileVariable):       # NESL tells its type only
                    self.tell(f"{bound_text(form)} : {show_scheme(type_)}\n")
                    return Outcome()
                return self.outcome(bound_text(form), result, type_)
            case typed.Function() | typed.Datatype():
                self.declarations.pop(definition.name, None)        # it may be defined anew
                if isinstance(form, syntax.FunctionDef) and form.signature is not None:
                    assert isinstance(form.signature.type, syntax.TypeFun)      # as a signature is
                    if tells_lengths(form.signature.type):
                        self.declarations[definition.name] = form.signature.type
                scheme = self.environment.global_scheme(definition.name)
                return Outcome(shown_name(definition.name), "fn", show_scheme(scheme.type) if scheme else "")

    def outcome(self, bound: str, value: Any, type_: Type) -> Outcome:
        """The outcome with a run-time value as it is printed."""
        whole = restore(value, type_, self.environment)
        contents = partial(content, environment=self.environment)
        return Outcome(bound, show_value(whole, type_, self.print_length, contents, self.digits), show_scheme(type_))

    @property
    def digits(self) -> int:
        """The digits of floats that are shown."""
        return self.environment.widths.shown_digits

    def compute(self, exp: typed.Exp, type_: Type, prepared: Prepared | None = None) -> Any:
        """The run-time value of the expression, by running `prepared` if it is given."""
        world = self.target.world
        seed = world.seed
        try:
            return self.run_prepared(prepared or self.prepare(exp, type_))
        except Interrupted:                 # it has no values, and is awaited
            raise
        except NessieError as error:
            from nessie.session.with_values import with_values
            raise with_values(error, exp, self.values, self.environment, seed) from error.__cause__

    def call_of(self, form: syntax.TopLevel) -> Prepared | None:
        """The call that the form is, if it is one of the function whose thresholds the session has."""
        match form:
            case syntax.Evaluate(syntax.Apply(syntax.Name(name), argument)) \
                    | syntax.Assign(_, syntax.Apply(syntax.Name(name), argument)):
                tuning, entry = self.target.tuning, self.environment.lookup(name)
                if tuning and tuning.entry == name and entry and entry.kind == "function" and not entry.defaults:
                    return replace(prepare_call(self, name, [argument]), alone=False)
        return None

    def prepare(self, exp: typed.Exp, type_: Type) -> Prepared:
        """The program that computes the expression, and the values of the variables that it takes."""
        made = monomorphic_expression(self.environment, exp, type_)
        return Prepared(made.program, [self.values[name.name] for name in made.variables
                                       if erase(name.type, self.environment)])

    def run_prepared(self, prepared: Prepared) -> Any:
        self.dump("monomorphise", prepared.program)
        job = replace(self.job_of_form(), strict=True) if prepared.alone else self.job_of_form()
        before = replace(self.target.stats)
        self.target.held = self.held()
        try:
            result = self.target.run(job, prepared.program, prepared.arguments)
        finally:
            self.target.world.end_line()
        if self.verbose:
            done = self.target.stats
            self.tell(f"launches: {done.launches - before.launches}, elements: {done.elements - before.elements}\n")
        return result

    def inferred(self, form: syntax.TopLevel) -> tuple[typed.Program, Environment]:
        """The form, typed, and the environment after it."""
        self.forms += 1
        written = syntax.Program((form,))
        self.dump("parse", written)
        program, environment = infer.infer(written, self.environment)
        self.dump("infer", program)
        return program, environment

    def job_of_form(self) -> pipeline.Job:
        """The job for this form. If forms are dumped, each has a folder of its own."""
        dump = self.job.dump
        return self.job if dump is None else replace(self.job, dump=dump / f"{self.forms:02}")

    def dump(self, made_by: str, program: Any) -> None:
        driver.dump(self.job_of_form(), pipeline.pass_named(made_by), program)

    # Calls with values from outside ---------------------------------------------------------

    def call(self, function: str, arguments: list[syntax.Exp],
             refuse: Callable[[Type], None] = lambda type_: None) -> tuple[Any, Type]:
        """The run-time value and the type of a function's result on these expressions; without any, of a variable.
        `refuse` may refuse the type before anything runs."""
        applied: syntax.Exp = syntax.Name(function)
        if arguments:
            tuple_ = tuple_of(arguments)
            applied = syntax.Apply(applied, tuple_)         # written nowhere: arguments are places, the call is none
        exp, type_ = self.infer_expression(applied)
        refuse(type_)
        by_name = self.by_name or self.job.wishes or self.job.sizes or self.target.tuning
        prepared = prepare_call(self, function, arguments) if arguments and by_name else None
        return self.compute(exp, type_, prepared), type_

    def infer_expression(self, exp: syntax.Exp) -> tuple[typed.Exp, Type]:
        """The typed expression and its type. Adds the expression's anonymous functions to the environment."""
        program, environment = self.inferred(syntax.Evaluate(exp, span=exp.span))
        (definition,) = program.definitions
        assert isinstance(definition, typed.Variable)       # an expression is one
        self.environment = environment
        return definition.value, pattern_type(definition.pattern)

    def type_of(self, exp: syntax.Exp) -> Type:
        """The type of an expression. The session keeps nothing of it."""
        program, _ = infer.infer(syntax.Program((syntax.Evaluate(exp, span=exp.span),)), self.environment)
        (definition,) = program.definitions
        assert isinstance(definition, typed.Variable)       # an expression is one
        return pattern_type(definition.pattern)

    def value_of(self, exp: syntax.Exp) -> Any:
        """The flat value of an expression."""
        found, type_ = self.infer_expression(exp)
        return restore(self.compute(found, type_), type_, self.environment)

    def memory(self) -> int:
        """Bytes that may be taken beyond those that the session holds."""
        return max(0, self.target.memory() - self.held())

    def held(self) -> int:
        """Bytes of the values that the session holds, if memory is limited; else 0, as free memory already excludes
        them."""
        if self.target.limits.memory is None:
            return 0
        return sum({id(array): array.nbytes for value in self.values.values() for array in arrays(value)}.values())

    def hold(self, wish: str, value: Any, type_: Type) -> syntax.Name:
        """Hold a flat value from outside. Returns its name, as an expression."""
        environment = self.environment.copy()
        internal = environment.internal_name(wish)
        environment.program.entries[internal] = Entry("variable", internal, Scheme((), type_))
        self.environment = environment
        self.values[internal] = fitted(value, expand(type_, self.content), environment.widths)
        return syntax.Name(internal)

    def parameter_types(self, function: str, count: int) -> list[Type | None]:
        """The types of a function's first `count` arguments; None for those unknown. The last takes the rest of the
        parameters, as a tuple, unless these have defaults."""
        entry = self.environment.lookup(function)
        if entry is None or not isinstance(entry.scheme.type, Fun):
            return [None] * count
        types: list[Type | None] = []
        rest: Type = entry.scheme.type.argument
        while len(types) < count - 1 and isinstance(rest, Pair):
            types.append(rest.first)
            rest = rest.second
        if 0 < entry.arity - count <= len(entry.defaults) and isinstance(rest, Pair):
            rest = rest.first
        return [*types, rest, *[None] * (count - len(types) - 1)][:count]

    def declared(self, function: str) -> syntax.TypeFun | None:
        """The type with which the function is declared, as written, if it tells lengths."""
        entry = self.environment.lookup(function) if self.declarations else None     # every call asks
        return None if entry is None else self.declarations.get(entry.name)

    def parts_of(self, function: str, written: syntax.TypeExp, count: int) -> list[syntax.TypeExp]:
        """The parts of a written type that stand for the function's first `count` arguments; the last takes the rest,
        unless what is left has defaults, of which the type may tell, too."""
        entry, parts = self.environment.lookup(function), list[syntax.TypeExp]()
        while len(parts) < count - 1 and isinstance(written, syntax.TypePair):
            parts.append(written.first)
            written = written.second
        left = len(unnest_right(written, syntax.TypePair)) - 1
        if entry is not None and 0 < left <= len(entry.defaults) and entry.arity == count + left:
            assert isinstance(written, syntax.TypePair)
            written = written.first
        return [*parts, written]

    def unmet(self) -> list[str]:
        """The wishes for kernels that no form so far has met, and the warnings that nobody has seen."""
        wanted = [wish for wish in self.job.wishes if wish not in self.seen]
        return [*unmet(wanted, self.job.met), *self.warnings()]

    def unmet_so_far(self) -> list[str]:
        """While forms are still to come, the wishes for names that no form has, and those that forms have not met;
        each is told once."""
        wanted = [wish for wish in self.job.wishes if wish not in self.seen]
        found = unmet_so_far(wanted, self.job.met, self.bound()) if wanted else {}
        self.seen |= found.keys()
        return [*found.values(), *self.untold()]

    def bound(self) -> set[str]:
        """The names that the texts of the session's definitions bind."""
        names = self.environment.program
        sources = {span.source for name in names.names() if (entry := names.entry(name)) for span in entry.origin}
        return {b.name for source in sources for b in of_source(source)[1]}

    def untold(self) -> list[str]:
        """The warnings of compiled forms about wishes, those since the last call."""
        told = {key: text for key, text in self.job.met.told.items() if key not in self.seen}
        self.seen |= told.keys()
        return list(told.values())

    def warnings(self) -> list[str]:
        """The warnings since the last call: about wishes, doubtful parts of forms that have not failed, and pragmas
        that would be errors if their form, which has not run, were compiled."""
        found, self.unseen = self.unseen, []
        return [*self.untold(), *[error.told() for error in found]]

    def content(self, data: Data) -> Type:
        return content(data, self.environment)

    def tell(self, text: str) -> None:
        (self.listener or self.target.world.print)(text)


def bound_text(form: syntax.TopLevel) -> str:
    """The names that the form binds, as NESL prints them."""
    match form:
        case syntax.Assign(pattern) | syntax.FileVariable(pattern):
            return syntax_text.show_pattern(pattern)
    return "it"
