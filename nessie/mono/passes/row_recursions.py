"""Pass: a recursion on all rows of a sequence becomes one on each row, where users wish that rows have owners.

  in    mono, after inlining
  out   mono: `let b = f(rows, k) in ...`, where a wish names b, is {f'(r, k) : r in rows}, with a function f' of one
        row; without rows f is called, as it was
  how   f goes on with rows as they are, or as {body : r in rows}, where the body mentions no other rows; it may pass
        them on to itself and to others of the same kind. Its conditions, what it binds, and its other arguments mention
        no rows. So f' has a row in their place, and a let in place of the apply-to-each.
  sound each row goes through the same rounds in both, as rows decide nothing; checks fail in the same rounds. With no
        rows the conditions and arguments may fail, or never end, all the same: so f is called then.
  why   each round of f is a launch; an owner goes through all rounds of f' with a row in one. f' is said to be of a row
        of f, so that f is called where no owner goes through f' (flatten.calls).
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from nessie.base.names import Names, stem
from nessie.base.types import BOOL, INT, Seq, Type
from nessie.mono import nodes as mono
from nessie.mono.nodes import Exp
from nessie.mono.walk import binders, called, is_trivial, let_chain, map_parts, mentioned, opened

Rows = dict[str, int]           # functions that treat each row by itself, and which of their parameters has the rows


def row_recursions(program: mono.Program, wished: Collection[str]) -> mono.Program:
    """Return the program, in which calls that these names are bound to, or end the functions of these names, go through
    rows one by one."""
    functions = {f.name: f for f in program.functions}
    rows = of_rows(functions) if wished else {}
    if not rows:
        return program
    changed = Change(functions, rows, Names(binders(program)), Names(functions), frozenset(wished))
    found = [f if f.name in rows else replace(f, body=changed.ending(f.body) if stem(f.name) in wished else
                                              changed.inside(f.body)) for f in program.functions]
    return replace(program, functions=(*found, *changed.made.values()))


def of_rows(functions: dict[str, mono.Function]) -> Rows:
    """The functions that call themselves, and treat each row by itself."""
    recursive = {name for name, f in functions.items() if name in called(f.body) and f.fold is None}
    found = {name: k for name in recursive for k, p in reversed([*enumerate(functions[name].parameters)])
             if p.type == functions[name].result and isinstance(p.type, Seq) and isinstance(p.type.element, Seq)}
    while True:
        failing = [name for name, k in found.items()
                   if not by_rows(functions[name].body, functions[name].parameters[k].name, found)]
        if not failing:
            return found
        for name in failing:
            del found[name]


def by_rows(exp: Exp, rows: str, known: Rows) -> bool:
    """Is the expression what becomes of each row by itself, or the rows?"""
    match exp:
        case mono.Var(name):
            return name == rows
        case mono.If(condition, then, orelse):
            return rows not in mentioned(condition) and by_rows(then, rows, known) and by_rows(orelse, rows, known)
        case mono.Let(_, value, body):
            return rows not in mentioned(value) and by_rows(body, rows, known)
        case mono.Each(body, (generator,), None):
            return rows not in mentioned(body) and by_rows(generator.source, rows, known)
        case mono.Call(function, arguments) if function in known:
            return all([by_rows(argument, rows, known) if k == known[function] else rows not in mentioned(argument)
                        for k, argument in enumerate(arguments)])
    return False


class Change:
    """Changes calls; `made`: the functions of one row, by those of all rows."""

    def __init__(self, functions: dict[str, mono.Function], rows: Rows, names: Names, of_functions: Names,
                 wished: frozenset[str]) -> None:
        self.functions, self.rows, self.names, self.of_functions = functions, rows, names, of_functions
        self.wished = wished
        self.called: dict[str, str] = {}
        self.made: dict[str, mono.Function] = {}

    def inside(self, exp: Exp) -> Exp:
        """The expression, in which what has wished names is computed by rows."""
        if isinstance(exp, mono.Let) and stem(exp.name) in self.wished:
            return replace(exp, value=self.ending(exp.value), body=self.inside(exp.body))
        return map_parts(exp, self.inside)

    def ending(self, exp: Exp) -> Exp:
        """The expression, of which the call at its end, if it is one, goes through rows one by one."""
        bound, last = opened(exp)
        if not (isinstance(last, mono.Call) and last.function in self.rows):
            return self.inside(exp)
        bound, arguments = [(name, self.inside(value)) for name, value in bound], list[Exp]()
        for argument, parameter in zip(last.arguments, self.functions[last.function].parameters, strict=True):
            argument = self.inside(argument)
            if not is_trivial(argument):
                bound.append((self.names.fresh(parameter.name), argument))
                argument = mono.Var(bound[-1][0], parameter.type)
            arguments.append(argument)
        k, row = self.rows[last.function], self.names.fresh("row")
        type_ = element_of(last.type)
        by_row = [mono.Var(row, type_) if at == k else argument for at, argument in enumerate(arguments)]
        count = mono.Prim("length", (arguments[k],), INT, origin=last.origin)
        none = mono.Prim("==", (count, mono.Const(0, INT)), BOOL, origin=last.origin)
        each = mono.Each(mono.Call(self.of_row(last.function), tuple(by_row), type_, origin=last.origin),
                         (mono.Generator(row, arguments[k]),), origin=last.origin)
        return let_chain(bound, mono.If(none, replace(last, arguments=tuple(arguments)), each, origin=last.origin))

    def of_row(self, name: str) -> str:
        """The function of one row, which is made if there is none."""
        if name not in self.called:
            self.called[name] = self.of_functions.fresh(name)
            function, k = self.functions[name], self.rows[name]
            names = {p.name: self.names.fresh(p.name) for p in function.parameters}
            parameters = [mono.Parameter(names[p.name], element_of(p.type) if at == k else p.type)
                          for at, p in enumerate(function.parameters)]
            body = self.row(function.body, function.parameters[k].name, names)
            self.made[name] = replace(function, name=self.called[name], parameters=tuple(parameters),
                                      result=element_of(function.result), body=body, row_of=name)
        return self.called[name]

    def row(self, exp: Exp, rows: str, names: dict[str, str]) -> Exp:
        """What becomes of one row, by names of its own."""
        match exp:
            case mono.Var(name):
                return replace(exp, name=names[name], type=element_of(exp.type))
            case mono.If(condition, then, orelse):
                return replace(exp, condition=self.copied(condition, names), then=self.row(then, rows, names),
                               orelse=self.row(orelse, rows, names))
            case mono.Let(name, value, body):
                value = self.copied(value, names)
                inner = {**names, name: self.names.fresh(name)}
                return replace(exp, name=inner[name], value=value, body=self.row(body, rows, inner))
            case mono.Each(body, (generator,)):
                source = self.row(generator.source, rows, names)
                inner = {**names, generator.name: self.names.fresh(generator.name)}
                return mono.Let(inner[generator.name], source, self.copied(body, inner), origin=exp.origin)
            case mono.Call(function, arguments):
                given = [self.row(argument, rows, names) if at == self.rows[function] else self.copied(argument, names)
                         for at, argument in enumerate(arguments)]
                return replace(exp, function=self.of_row(function), arguments=tuple(given), type=element_of(exp.type))
        raise TypeError(exp)

    def copied(self, exp: Exp, names: dict[str, str]) -> Exp:
        """The expression with names of its own."""
        match exp:
            case mono.Var(name):
                return replace(exp, name=names.get(name, name))
            case mono.Let(name, value, body):
                value = self.copied(value, names)
                inner = {**names, name: self.names.fresh(name)}
                return replace(exp, name=inner[name], value=value, body=self.copied(body, inner))
            case mono.Each(body, generators, filter_):
                sources = [self.copied(generator.source, names) for generator in generators]
                inner = {**names, **{generator.name: self.names.fresh(generator.name) for generator in generators}}
                made = tuple([mono.Generator(inner[generator.name], source)
                              for generator, source in zip(generators, sources, strict=True)])
                return replace(exp, generators=made, body=self.copied(body, inner),
                               filter=None if filter_ is None else self.copied(filter_, inner))
        return map_parts(exp, lambda part: self.copied(part, names))


def element_of(type_: Type) -> Type:
    assert isinstance(type_, Seq)
    return type_.element
