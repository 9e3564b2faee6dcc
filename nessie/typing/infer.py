"""Pass: find the types of a program.

  in    syntax, and the environment of everything before it
  out   typed, and the environment after it
  how   Hindley-Milner: unification of types whose variables have classes (typing.unify); a definition is general in
        the variables that stay open in its type. Functions are nominal: a function's type names the function.
        A signature is unified with the inferred type, so it can make a function less general, never more.
"""
from __future__ import annotations

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Origin, Span
from nessie.base.text.types_text import BASES, letters, show, show_scheme
from nessie.base.types import Data, Fun, Identity, Pair, Scheme, Type, Var, free_variables, substitute, unnest_right
from nessie.syntax import nodes as syntax
from nessie.syntax import patterns
from nessie.typing import nodes as typed
from nessie.typing import signatures
from nessie.typing.advice import messages as complaints
from nessie.typing.advice.hidden import with_hidden
from nessie.typing.advice.hints import hidden_parameters
from nessie.typing.advice.reasons import reasons
from nessie.typing.advice.undefined import Undefined, with_others
from nessie.typing.environment import Entry, Environment, constructor_scheme, function_scheme
from nessie.typing.inference.patterns import pattern, refuse_function
from nessie.typing.inference.resolve import Resolution
from nessie.typing.inference.state import SELF, Inference
from nessie.typing.inference.structure import RULES
from nessie.typing.unify import Clash


def infer(program: syntax.Program, environment: Environment) -> tuple[typed.Program, Environment]:
    """Return the typed program and the new environment; the given environment stays as it is."""
    environment = environment.copy()
    definitions: list[typed.Definition] = []
    for form in program.forms:
        definition = infer_form(form, environment)
        if definition is not None:
            environment.program.add(definition)
            definitions.append(definition)
    return typed.Program(tuple(definitions)), environment


def infer_form(form: syntax.TopLevel, environment: Environment) -> typed.Definition | None:
    """Return the typed form, None for declarations and commands; the environment gets the names that it binds."""
    try:
        return typed_form(form, environment)
    except Undefined as error:
        raise with_others(error, form, environment.names()) from None
    except NessieError as error:
        raise with_hidden(error, form) from None


def typed_form(form: syntax.TopLevel, environment: Environment) -> typed.Definition | None:
    match form:
        case syntax.FunctionDef(body=None):
            declare(form, environment)
        case syntax.FunctionDef():
            return function(form, environment)
        case syntax.DatatypeDef():
            return datatype(form, environment)
        case syntax.Assign(bound, value) | syntax.FileVariable(bound, value):
            return variable(bound, value, form.span, environment)
        case syntax.Background(name):
            raise complaints.complaint("nothing can be left to run in the background", (form.span, ""),
                                       hint=f"{name} = ...; evaluates it at once")
        case syntax.Evaluate(value):
            return variable(syntax.NamePattern("it", None, span=form.span), value, form.span, environment)
    return None


def at(span: Span | None) -> Origin:
    return (span,) if span else ()


def refuse_protected(name: str, span: Span | None, environment: Environment) -> None:
    """Refuse a definition of a primitive or a constant."""
    if environment.is_protected(name):
        raise complaints.protected(name, span)

# Functions ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inferred:
    """A function whose types have variables of the unifier."""
    type: Fun
    parameter: typed.Pattern
    body: typed.Exp


def function(form: syntax.FunctionDef, environment: Environment) -> typed.Function:
    refuse_protected(form.name, form.span, environment)
    state = Inference(environment, form.name, RULES)
    defaults, arity = default_arguments(form.parameter), len(parameters(form.parameter))
    own = Fun(state.fresh(), state.fresh(), Identity(SELF))
    state.itself = form.name, Entry("function", SELF, Scheme((), own), at(form.span), defaults, arity)
    definition = resolved_function(state, form, inferred(state, form, own))
    environment.program.entries[form.name] = Entry("function", definition.name, function_scheme(definition),
                                                   at(form.span), defaults, arity,
                                                   reasons(state.unifier, own.argument))
    return definition


def inferred(state: Inference, form: syntax.FunctionDef, own: Fun) -> Inferred:
    """Infer the function, whose type in its own body is `own`."""
    if form.signature:
        declared = signature_type(state, form.signature)
        state.unify(own.result, declared.result, form.signature.span, declared=True)
    names: dict[str, Type] = {}
    matched = pattern(state, form.parameter, own.argument, names, None)
    if form.signature:
        agree(state, form, "argument", own.argument, declared.argument, form.parameter.span)
    assert form.body is not None
    try:
        with state.binding(names):
            body, body_type = state.exp(form.body)
    except NessieError as error:
        raise hidden_parameters(form.parameter, form.body.span, error) from None
    agree(state, form, "result", body_type, own.result, form.body.span)
    return Inferred(own, matched, body)


def resolved_function(state: Inference, form: syntax.FunctionDef, found: Inferred) -> typed.Function:
    """Return the function with its resolved types, under its internal name."""
    argument, result = found.type.argument, found.type.result
    settle = Resolution(state.unifier, [argument, result], state.environment.program.datatypes, state.lambdas)
    scheme = Scheme(settle.variables, Fun(settle.type(argument), settle.type(result), Identity(SELF)))
    settle.itself = name_for(form.name, "function", scheme, state.environment, form)
    settle.memo.clear()
    return typed.Function(settle.itself, settle.variables, settle.pattern(found.parameter), settle.type(result),
                          settle.exp(found.body), form.doc, origin=at(form.span))


def agree(state: Inference, form: syntax.FunctionDef, part: str, inferred: Type, declared: Type,
          where: Span | None) -> None:
    try:
        state.unify(inferred, declared, form.signature.span if form.signature else where, form.signature is not None)
    except Clash as clash:
        if form.signature is None or clash.kind == "infinite":
            raise complaints.complaint(f"the type of {form.name} would contain itself", (where, "")) from None
        raise complaints.signature_differs(form.name, part, state.resolve(inferred), state.resolve(declared), where,
                                           form.signature.span) from None


def parameters(written: syntax.Pattern) -> list[syntax.Pattern]:
    """Return the components of a function's parameter."""
    return unnest_right(written, syntax.PairPattern)


def default_arguments(written: syntax.Pattern) -> tuple[tuple[str, syntax.Exp], ...]:
    """Return the trailing parameters that have defaults, with these."""
    found: list[tuple[str, syntax.Exp]] = []
    for item in parameters(written):
        if isinstance(item, syntax.NamePattern) and item.default is not None:
            found.append((item.name, item.default))
        elif found:
            raise complaints.complaint("parameters with defaults come last", (item.span, "this one has none"))
    return tuple(found)


def signature_type(state: Inference, signature: syntax.Signature) -> Fun:
    """Return the type that a signature declares, its variables open."""
    classes = signatures.context_classes(signature.contexts)
    variables: dict[str, Type] = {name: state.unifier.fresh(cls) for name, cls in classes.items()}
    type_ = signatures.to_type(signature.type, variables, state.environment, state.fresh)
    if not isinstance(type_, Fun):
        raise complaints.complaint("the signature of a function is a function type", (signature.span, ""),
                                   hint="(int, float) -> bool, for example")
    return type_


def declare(form: syntax.FunctionDef, environment: Environment) -> None:
    """Declare function name(x) : type; the body comes later."""
    refuse_protected(form.name, form.span, environment)
    assert form.signature is not None
    state = Inference(environment, form.name, RULES)
    type_ = signature_type(state, form.signature)
    settle = Resolution(state.unifier, [type_.argument, type_.result], environment.program.datatypes, state.lambdas)
    scheme = Scheme(settle.variables, Fun(settle.type(type_.argument), settle.type(type_.result), Identity(SELF)))
    name = environment.internal_name(form.name)
    assert isinstance(scheme.type, Fun)
    full = Scheme(scheme.variables, Fun(scheme.type.argument, scheme.type.result, Identity(name, scheme.variables)))
    environment.program.entries[form.name] = Entry("function", name, full, at(form.span),
                                                   default_arguments(form.parameter), len(parameters(form.parameter)))


def name_for(name: str, kind: str, scheme: Scheme, environment: Environment,
             form: syntax.FunctionDef | None = None) -> str:
    """Return the internal name: that of the definition it replaces, if this has the same type, else a new one."""
    before = environment.program.entries.get(name)
    if before is not None and before.kind == kind:
        if canonical(before.scheme) == canonical(scheme):
            return before.name
        if kind == "function" and form is not None and environment.program.function(before.name) is None:
            raise complaints.complaint(
                f"{name} was declared with another type", (form.span, complaints.of_type(scheme.type)),
                *[(span, f"declared as {show_scheme(before.scheme.type)}") for span in before.origin[:1]])
    return environment.internal_name(name)


def canonical(scheme: Scheme) -> str:
    """Return a text that is equal for schemes that differ only in the names of variables, or in the function that they
    belong to."""
    type_ = scheme.type
    if isinstance(type_, Fun):
        type_ = Pair(type_.argument, type_.result)
    variables = list(dict.fromkeys(free_variables(type_)))
    names = {v.name: Var(n, v.cls) for v, n in zip(variables, letters(), strict=False)}
    return show(substitute(type_, dict(names))) + str([v.cls for v in variables])

# Datatypes and variables ----------------------------------------------------------------------------


def datatype(form: syntax.DatatypeDef, environment: Environment) -> typed.Datatype:
    if form.name in BASES:
        raise complaints.protected(form.name, form.span)
    refuse_protected(form.name, form.span, environment)
    classes = signatures.context_classes(form.contexts)
    written: dict[str, Type] = {name: Var(name, cls) for name, cls in classes.items()}
    itself = next((t for t in signatures.names(form.type) if t.name == form.name and t.name not in written), None)
    if itself is not None:
        raise complaints.complaint(f"the datatype {form.name} contains itself", (itself.span, ""),
                                   hint="a tree is kept in sequences, its edges as indices")
    content = signatures.to_type(form.type, written, environment, None)
    before = environment.program.entries.get(form.name)
    variables = tuple(dict.fromkeys(free_variables(content)))
    same = Data(before.name if before else form.name, variables)
    name = name_for(form.name, "constructor", Scheme(variables, Pair(content, same)), environment)
    definition = typed.Datatype(name, variables, content, origin=at(form.span))
    environment.program.entries[form.name] = Entry("constructor", name, constructor_scheme(definition), at(form.span))
    return definition


def variable(bound: syntax.Pattern, value: syntax.Exp, span: Span | None, environment: Environment) -> typed.Variable:
    shown = [found.name for found in patterns.names(bound) if found.name != "_"]
    for name in shown:
        refuse_protected(name, span, environment)
    state = Inference(environment, shown[0] if shown else "it", RULES)
    refuse_function(state, bound, "function {name}({parameter}) = ...;")
    exp, type_ = state.exp(value)
    names: dict[str, Type] = {}
    matched = pattern(state, bound, type_, names, (value.span, type_))
    settle = Resolution(state.unifier, [type_, *names.values()], environment.program.datatypes, state.lambdas)
    internal: dict[str, str] = {}
    resolved_function = settle.exp(exp)
    for name, named in names.items():
        general = settle.type(named)
        scheme = Scheme(tuple(dict.fromkeys(free_variables(general))), general)
        internal[name] = name_for(name, "variable", scheme, environment)
        environment.program.entries[name] = Entry("variable", internal[name], scheme, at(span))
    return typed.Variable(renamed(settle.pattern(matched), internal), resolved_function, origin=at(span))


def renamed(matched: typed.Pattern, names: dict[str, str]) -> typed.Pattern:
    match matched:
        case typed.NamePattern(name, type_):
            return typed.NamePattern(names.get(name, name), type_)
        case typed.PairPattern(first, second):
            return typed.PairPattern(renamed(first, names), renamed(second, names))
        case typed.DataPattern(constructor, types, argument):
            return typed.DataPattern(constructor, types, renamed(argument, names))
    raise TypeError(matched)
