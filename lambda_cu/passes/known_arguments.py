"""Pass: drop the parameters and results of host functions that are known at every call.

  in    lambda_cu, flat
  out   lambda_cu in which no function takes a constant, or a value twice, at every call, nor gives back a constant, an
        argument, or a value twice. Kernels know the constants that they are given in every run; none copies a whole
        array (lambda_cu.passes.kernel_arguments).
  how   values are numbered across calls. At first, all parameters of a function are taken to be one constant; what a
        call passes tells some apart, until nothing changes. So it is with results. A recursion that passes on what it
        was given tells nothing apart.
  why   Flattening passes a sequence as bounds into a payload, since it may be a part. Mostly it is all of it, from 0
        on, in each round of a recursion: then its elements need not be brought into an array of their own, and what
        is written into it, for the last time, is written in place.
  sound because each value is the same value in every run: the numbering is the greatest that agrees with all calls.
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import field

from nessie.base.parts import updated
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import BLOCKS
from nessie.lambda_cu.passes.kernel_arguments import (
    renamed_atoms,
    renamed_param,
    renamed_params,
    renamed_statement,
    with_constant_arrays,
    with_constants,
    without_copies,
)
from nessie.lambda_cu.scope import called_from_outside, kept_items, results

Key = Hashable                  # of a value: equal for equal values
UNKNOWN = "not reached yet"     # the key of what a call gives that has not been looked into
Values = dict[str, Key]         # by name


def known_arguments(program: ir.Program) -> ir.Program:
    while True:
        program = with_constant_arrays(with_constants(Numbering(program).rewritten()))
        before, program = program, without_copies(program)
        if program is before:
            return program


def constant(value: ir.Const) -> Key:
    return "constant", value.type, repr(value.value)


def own(name: str) -> Key:
    return "name", name


@dataclass
class Numbering:
    """`params`: the keys of each function's parameters, by position; `given`: those of its results, in its own names.
    None: no call, no result is known so far. `constants`: by their keys."""
    program: ir.Program
    params: dict[str, list[Key] | None] = field(default_factory=dict)
    given: dict[str, list[Key] | None] = field(default_factory=dict)
    constants: dict[Key, ir.Const] = field(default_factory=dict)
    changed: bool = True

    def __post_init__(self) -> None:
        self.functions = {f.name: f for f in self.program.functions}
        self.params = dict.fromkeys(self.functions)
        self.given = dict.fromkeys(self.functions)
        self.outside = called_from_outside(self.program)
        self.params.update((name, [own(p.name) for p in self.functions[name].params]) for name in self.outside)

    def solved(self) -> dict[str, Values]:
        """The keys of all values, by function. Functions that are never called are left out."""
        while True:
            self.changed = False
            found = {name: self.numbered(f) for name, f in self.functions.items() if self.params[name] is not None}
            if self.changed:
                continue
            endless = [name for name in found if self.unknown(self.given[name])]
            for name in endless:                # they never give anything
                self.given[name] = [own(r.name) for r in self.functions[name].results]
            if not (self.with_a_result(found) or endless):
                return found

    def with_a_result(self, names: Iterable[str]) -> bool:
        """Have each function give one result, by which graphs call it; whether one gave none before."""
        bare = [f for name in names if (f := self.functions[name]).results
                and not any([key == own(r.name) for key, r in zip(self.given[name] or (), f.results, strict=True)])]
        for f in bare:
            self.given[f.name] = [own(f.results[0].name), *(self.given[f.name] or ())[1:]]
        return bool(bare)

    def unknown(self, keys: list[Key] | None) -> bool:
        return keys is None or UNKNOWN in keys

    # One function -------------------------------------------------------------------------------

    def numbered(self, function: ir.Function) -> Values:
        """The keys of the function's values; its calls, and its results, are noted."""
        keys = self.params[function.name]
        assert keys is not None
        values = {p.name: key for p, key in zip(function.params, keys, strict=True)}
        self.block(function.body, values)
        if function.name in self.outside:
            given = [own(r.name) for r in function.results]
        else:
            given = self.told(function, [self.key(a, values) for a in function.body.results])
        before = self.given[function.name]
        if before is not None:
            given = self.less(function, before, given)
        if given != before:
            self.given[function.name], self.changed = given, True
        return values

    def less(self, function: ir.Function, before: list[Key], after: list[Key]) -> list[Key]:
        """The keys of the results by what was known before and by what is known now."""
        first: dict[Key, Key] = {}
        return [new if old in (UNKNOWN, new) else first.setdefault((old, new), own(result.name))
                for old, new, result in zip(before, after, function.results, strict=True)]

    def told(self, function: ir.Function, keys: list[Key]) -> list[Key]:
        """The keys of the results for a caller: constants, parameters, and the first result of each other value."""
        params = {p.name for p in function.params}
        first: dict[Key, Key] = {}
        return [key if key == UNKNOWN or key in self.constants or (isinstance(key, tuple) and key[1] in params)
                else first.setdefault(key, own(result.name))
                for key, result in zip(keys, function.results, strict=True)]

    def key(self, atom: ir.Atom, values: Values) -> Key:
        if isinstance(atom, ir.Var):
            return values[atom.name]
        key = constant(atom)
        self.constants[key] = atom
        return key

    def block(self, block: ir.Block, values: Values) -> list[Key]:
        """Number the values of the block; the keys of its results."""
        for statement in block.statements:
            match statement:
                case ir.HostLet(ir.Param(name), ir.Var() | ir.Const() as atom) if name != "_":
                    values[name] = self.key(atom, values)
                case ir.Call(given, function, arguments):
                    self.call(given, self.functions[function], [self.key(a, values) for a in arguments], values)
                case ir.Branch(given) | ir.Choose(given):
                    first: dict[Key, Key] = {}
                    blocks = BLOCKS.of(statement)
                    inside = {p.name for b in blocks for s in b.statements for p in results(s)}
                    for result, *keys in zip(given, *[self.block(b, values) for b in blocks], strict=True):
                        if result.name != "_":
                            values[result.name] = self.joined(result.name, tuple(keys), inside, first)
                case _:
                    values.update((r.name, own(r.name)) for r in results(statement) if r.name != "_")
        return [self.key(a, values) for a in block.results]

    def joined(self, name: str, keys: tuple[Key, ...], inside: set[str], first: dict[Key, Key]) -> Key:
        """The key of a value that one of several blocks gives."""
        known = {key for key in keys if key != UNKNOWN} or {UNKNOWN}
        if len(known) == 1:
            (either,) = known
            if not (isinstance(either, tuple) and either[0] == "name" and either[1] in inside):
                return either
        return first.setdefault(keys, own(name))

    def call(self, given: tuple[ir.Param, ...], function: ir.Function, arguments: list[Key], values: Values) -> None:
        if UNKNOWN not in arguments:
            self.note(function, arguments)
        told = self.given[function.name] or [UNKNOWN] * len(given)
        passed = {p.name: key for p, key in zip(function.params, arguments, strict=True)}
        names = self.names_of(given, told)
        for result, key in zip(given, told, strict=True):
            if isinstance(key, tuple) and key not in self.constants:
                key = passed[key[1]] if key[1] in passed else own(names.get(key, ""))
            if result.name != "_":
                values[result.name] = key

    def names_of(self, given: tuple[ir.Param, ...], told: list[Key]) -> dict[Key, str]:
        """The first name that a call has for each value that it gives."""
        names: dict[Key, str] = {}
        for result, key in zip(given, told, strict=True):
            if result.name != "_":
                names.setdefault(key, result.name)
        return names

    def note(self, function: ir.Function, arguments: list[Key]) -> None:
        """Tell the function's parameters apart as far as this call does."""
        before = self.params[function.name]
        first: dict[Key, Key] = {}
        after: list[Key] = []
        for k, (param, key) in enumerate(zip(function.params, arguments, strict=True)):
            old = key if before is None else before[k]
            if key in self.constants and old == key:
                after.append(key)
            else:
                after.append(first.setdefault((key, old if before is not None else None), own(param.name)))
        if before != after:
            self.params[function.name], self.changed = after, True

    # What becomes of it -------------------------------------------------------------------------

    def rewritten(self) -> ir.Program:
        found = self.solved()
        return updated(self.program, functions=tuple([self.function(f, found[f.name]) if f.name in found else f
                                                      for f in self.program.functions]))

    def function(self, function: ir.Function, values: Values) -> ir.Function:
        names = {name: atom for name, key in values.items() if (atom := self.atom(key)) != ir.Var(name)}
        body = self.rewritten_block(function.body, names)
        keys = self.given[function.name]
        assert keys is not None
        told = {r.name: self.atom(key) for r, key in zip(function.results, keys, strict=True)}
        kept = [told[r.name] == ir.Var(r.name) for r in function.results]
        params = tuple([renamed_param(p, names) for p in function.params if p.name not in names])
        given = tuple([renamed_param(r, {**names, **told}) for r, keep in zip(function.results, kept) if keep])
        return updated(function, params=params, results=given,
                       body=updated(body, results=kept_items(body.results, kept)))

    def atom(self, key: Key) -> ir.Atom:
        if key in self.constants:
            return self.constants[key]
        assert isinstance(key, tuple)
        return ir.Var(key[1])

    def rewritten_block(self, block: ir.Block, names: Mapping[str, ir.Atom]) -> ir.Block:
        return updated(block, statements=tuple([self.rewritten_statement(s, names) for s in block.statements
                                                if not (isinstance(s, ir.HostLet) and s.result.name in names)]),
                       results=renamed_atoms(block.results, names))

    def rewritten_statement(self, statement: ir.Statement, names: Mapping[str, ir.Atom]) -> ir.Statement:
        match statement:
            case ir.Call(given, function, arguments):
                callee, keys, told = self.functions[function], self.params[function], self.given[function]
                assert keys is not None and told is not None
                taken = [self.atom(key) == ir.Var(p.name) for p, key in zip(callee.params, keys, strict=True)]
                kept = [self.atom(key) == ir.Var(r.name) for r, key in zip(callee.results, told, strict=True)]
                called = self.names_of(given, told)
                given = tuple([updated(r, name=called.get(key, "_")) for r, key in zip(given, told, strict=True)])
                return updated(statement, arguments=kept_items(renamed_atoms(arguments, names), taken),
                               results=renamed_params(kept_items(given, kept), names))
            case ir.Branch(given) | ir.Choose(given):
                kept = [r.name not in names for r in given]
                statement = BLOCKS.map(statement, lambda b: self.rewritten_block(
                    updated(b, results=kept_items(b.results, kept)), names))
                return renamed_statement(updated(statement, results=kept_items(given, kept)), names)
        return renamed_statement(statement, names)
