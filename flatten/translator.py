"""The state and helpers that the rules of flattening share. The translator carries the program and the output written
so
far; the helpers translate pure expressions, which every rule may meet.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from nessie.base.ints import MIN_INT
from nessie.base.records import dataclass
from nessie.base.types import Base
from nessie.flatten.calls.crossing import Frame, Lying
from nessie.flatten.threads.thread import Purity, thread
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, Domain
from nessie.flatten.values.emitter import Emitter
from nessie.flatten.values.materialise import from_host_term, solid
from nessie.flatten.values.values import Both, Scalar, Sequence, Value, constant, delayed
from nessie.lambda_cu import nodes as ir
from nessie.mono import nodes as mono
from nessie.mono.analysis.summaries import Summary
from nessie.mono.node_types import type_of
from nessie.mono.walk import expressions, map_parts

Values = Mapping[str, Value]


@dataclass
class Translator:
    """The state of one program's translation. `translate` is flat mode itself (flatten.translate). A rule calls the
    translator, so no rule need know the others."""
    translate: Callable[[Translator, mono.Exp, Values, Domain, str], Value]
    program: mono.Program
    emitter: Emitter
    purity: Purity
    functions: dict[str, mono.Function]
    summaries: dict[str, Summary] = field(default_factory=dict)
    frame: Frame = field(default_factory=Frame)
    recursion: bool = True              # may threads recur?
    owners: bool = False                # may somebody hold rows? (flatten.calls.owned)
    versions: dict[str, dict[Lying, str]] = field(default_factory=dict)     # their names, by how arguments lie
    asked: list[ir.Size] | None = None  # within a reduction in rounds: the lengths that must be short for it

    def value(self, exp: mono.Exp, env: Values, domain: Domain, hint: str = "a") -> Value:
        """Return the value of the expression over the domain. `hint` is the base of the names of its results."""
        return self.translate(self, exp, env, domain, hint)


def let_value(t: Translator, exp: mono.Exp, env: Values, domain: Domain, name: str) -> Value:
    """Return the value that a let binds. It is computed now, whether it is used or not."""
    value = t.value(exp, env, domain, name)
    return value if isinstance(exp, mono.Var) else solid(t.emitter, value, domain, name, light=True)


def pure(t: Translator, exp: mono.Exp, env: Values, domain: Domain, hint: str) -> Value:
    """Return the pull value of a pure expression. It is stored at once if it can fail, so that it fails for all of its
    own domain and for no other."""
    match exp:
        case mono.Var(name):
            return env[name]
        case mono.Const(number, Base(base)):
            return constant(number, base)
        case mono.Prim("neg", (mono.Const(int(number) | float(number), Base(base)),)) if number != MIN_INT:
            return constant(0 - number, base)          # -0.0 of 0.0 is 0.0
    exp, env = with_data(t, exp, env)
    if domain is HOST:
        return from_host_term(t.emitter, thread(exp, env, HOST, HOST.here(), t.emitter.host()), hint)
    context = Context(t.emitter, domain)
    shape = thread(exp, env, domain, domain.here(), context)
    value = delayed(domain, lambda at, c: thread(exp, env, domain, at, c), shape)
    return solid(t.emitter, value, domain, hint) if context.failing else value


def with_data(t: Translator, exp: mono.Exp, env: Values) -> tuple[mono.Exp, Values]:
    """Replace literals of constants in the expression by variables; the constants are made now."""
    if not any(isinstance(e, mono.String | mono.Literal) for e in expressions(exp)):
        return exp, env
    inner = dict(env)

    def go(part: mono.Exp) -> mono.Exp:
        match part:
            case mono.String() | mono.Literal():
                name = f"#data{len(inner)}"
                inner[name] = t.value(part, {}, HOST)
                return mono.Var(name, type_of(part))
            case mono.Prim("error"):
                return part
            case mono.Prim("check", (condition, message, value)):
                return replace(part, arguments=(go(condition), message, go(value)))
        return map_parts(part, go)

    return go(exp), inner


def pure_on_values(t: Translator, exp: mono.Prim | mono.Call, values: list[Value], domain: Domain, hint: str) -> Value:
    """Translate a pure operation whose arguments are not pure: the arguments stand as variables."""
    names = [f"#{k}" for k in range(len(values))]
    variables = tuple([mono.Var(name, type_of(a)) for name, a in zip(names, exp.arguments)])
    return pure(t, replace(exp, arguments=variables), dict(zip(names, values)), domain, hint)


def both(value: Value) -> Both:
    assert isinstance(value, Both)
    return value


def sequence(value: Value) -> Sequence:
    assert isinstance(value, Sequence)
    return value


def scalar(value: Value) -> Scalar:
    assert isinstance(value, Scalar)
    return value
