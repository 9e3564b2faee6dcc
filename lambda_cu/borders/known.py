"""What is known of the int expressions of a thunk: their linear forms, and what lets bind.

An atom of a form may be an expression that is known before the inner axis is walked, and reads nothing that an element
may not read. So it is said of each expression for which elements it is surely evaluated.
"""
from __future__ import annotations

from collections.abc import Mapping

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.borders.forms import INT_OPS, Form, atom, combined, minus, number
from nessie.lambda_cu.borders.ranges import Ranges
from nessie.lambda_cu.parts import children, subexpressions
from nessie.lambda_cu.rename import substitute
from nessie.lambda_cu.scope import binds, free_names

INTS = ("int", "int32")
NONE, ROWS, ALL = 0, 1, 2       # the elements for which something is surely evaluated: ROWS are those of the interior's
LARGEST = 30                    # parts of what is known before an axis is walked


class Known:
    """`forms`: of ints that have a name; `lets`: what lets bind; `varying`: the names that change with the index."""

    def __init__(self, ranges: Ranges, names: Mapping[str, ir.Type], params: tuple[str, ...]) -> None:
        self.ranges, self.names = ranges, names
        self.forms: dict[str, Form | None] = {axis.index.name: atom(axis.index) for axis in ranges.axes}
        self.forms.update((name, atom(ir.Var(name))) for name, type_ in names.items() if type_ == "int")
        self.lets: dict[str, ir.Exp] = {}
        self.surely: dict[str, int] = {}        # the elements for which what is known is computed
        self.varying = set(params)

    def note(self, names: tuple[str, ...], value: ir.Exp, sure: int) -> None:
        """Note what lets bind."""
        items = value.items if isinstance(value, ir.Tuple) and len(names) > 1 else (value,)
        for name, item in zip(names, items if len(items) == len(names) else (None,) * len(names), strict=True):
            self.surely[name] = sure
            self.forms[name] = None if item is None else self.form(item, sure)
            if item is not None:
                self.lets[name] = item
        if not self.varying.isdisjoint(free_names(value)):
            self.varying.update(names)

    def note_rounds(self, fold: ir.Fold, count: Form | None) -> None:
        """Note what a fold binds: the number of a round is below the count."""
        self.varying.update(binds(fold))
        self.forms.update((name, None) for name in binds(fold))
        if count is not None:
            self.ranges.rounds[ir.Var(fold.index)] = count
            self.forms[fold.index] = atom(ir.Var(fold.index))

    def form(self, exp: ir.Exp, sure: int) -> Form | None:
        """The linear form of an int expression, if it has one."""
        match exp:
            case ir.Const(int(value), "int"):
                return number(value)
            case ir.Var(name):
                return self.forms.get(name)
            case ir.Op("neg", (a,)):
                found = self.form(a, sure)
                return None if found is None else minus(number(0), found)
            case ir.Op(op, (a, b)):
                first, second = self.form(a, sure), self.form(b, sure)
                if first is not None and second is not None:
                    found = combined(op, first, second, self.ranges.natural)
                    if found is not None:
                        return found
        closed = self.closed(exp, sure)
        return None if closed is None else atom(closed)

    def closed(self, exp: ir.Exp, sure: int) -> ir.Exp | None:
        """The int expression without lets, if it is small and known before the inner axis is walked."""
        while (lets := {name: self.lets[name] for name in free_names(exp) if name in self.lets}):
            exp = substitute(exp, lets)
            sure = min([sure, *[self.surely[name] for name in lets]])
            if sum(1 for _ in subexpressions(exp)) > LARGEST:
                return None
        outer = {axis.index.name for axis in self.ranges.axes[:-1]}
        known = all(name in outer or name in self.names for name in free_names(exp))
        return exp if known and self.is_int(exp, sure) else None

    def is_int(self, exp: ir.Exp, sure: int) -> bool:
        match exp:
            case ir.Const():
                return exp.type == "int"
            case ir.Var(name):
                return self.names.get(name, "int") == "int"
            case ir.Read(array, index):
                type_ = self.names.get(array)
                there = sure == ALL or (sure == ROWS and self.ranges.axes[0].index.name in free_names(index))
                return there and isinstance(type_, ir.Array) and type_.base in INTS and self.is_int(index, sure)
            case ir.Op(op):
                return op in INT_OPS and all(self.is_int(part, sure) for part in children(exp))
        return False

    def is_level(self, exp: ir.Exp, sure: int) -> bool:
        """Is the int, or a branch of it, alike for all elements?"""
        match exp:
            case ir.If(_, then, orelse):
                return self.is_level(then, sure) or self.is_level(orelse, sure)
            case ir.Let(_, _, body):
                return self.is_level(body, sure)
        form = self.form(exp, sure)
        return form is not None and all(axis.index not in form.terms for axis in self.ranges.axes)

    def varies(self, exp: ir.Exp) -> bool:
        return not self.varying.isdisjoint(free_names(exp))

    def readable(self, exp: ir.Exp) -> ir.Exp:
        """The expression with what names of it stand for."""
        while isinstance(exp, ir.Var) and exp.name in self.lets:
            exp = self.lets[exp.name]
        return exp

    def told(self, exp: ir.Exp) -> ir.Exp:
        """The expression for readers: without names of lets, where it stays short."""
        while lets := {name: self.lets[name] for name in free_names(exp) if name in self.lets}:
            longer = substitute(exp, lets)
            if sum(1 for _ in subexpressions(longer)) > LARGEST:
                return exp
            exp = longer
        return exp
