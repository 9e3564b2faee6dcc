"""Functions of the host that are loops: whoever holds all that they work on can go through their rounds by himself.

A loop calls itself as its last step, or not at all; what else it calls are loops that call neither it nor what it was
called from. So no stack is needed. Its kernels walk sequences, each by itself: apply-to-each, reductions, scans.

    kept_lengths    which results are as long as which parameters, in any number of rounds
    why_no_loop     the reason why a function is no such loop
"""
from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.scope import statements

Functions = Mapping[str, ir.Function]
Kernels = Mapping[str, ir.Kernel]
Keys = dict[str, Hashable]
Classes = tuple[int, ...]
ANY = "any"                     # the key of what no call that ends has given so far


def tail_call(block: ir.Block, function: str) -> ir.Call | None:
    """The call of the function by itself that is the block's last step: results of the block are its results, at their
    places, or scalars that are known before."""
    last = block.statements[-1] if block.statements else None
    if not isinstance(last, ir.Call) or last.function != function or len(last.results) != len(block.results):
        return None
    names = {result.name for result in last.results}
    own = [isinstance(atom, ir.Var) and atom.name == result.name
           for atom, result in zip(block.results, last.results, strict=True)]
    known = [not isinstance(result.type, ir.Array) and not (isinstance(atom, ir.Var) and atom.name in names)
             for atom, result in zip(block.results, last.results, strict=True)]
    return last if all(a or b for a, b in zip(own, known, strict=True)) else None


def last_branch(block: ir.Block) -> ir.Branch | None:
    """The conditional that is the block's last step, and whose results are the block's."""
    last = block.statements[-1] if block.statements else None
    if isinstance(last, ir.Branch) and block.results == tuple([ir.Var(r.name) for r in last.results]):
        return last
    return None


def why_no_loop(functions: Functions, kernels: Kernels, name: str, around: tuple[str, ...] = ()) -> str:
    """The reason why the function, called from those around, is no loop; '' if it is one."""
    function, around = functions[name], (*around, name)
    ends = {id(call) for call in ends_of(function.body, name)}
    for statement in statements(function.body):
        match statement:
            case ir.Call(function=called) if called in around:
                if id(statement) not in ends:
                    return f"{shown(name)} calls {shown(called)} otherwise than as its last step"
            case ir.Call(function=called):
                if reason := why_no_loop(functions, kernels, called, around):
                    return reason
            case ir.Run(kernel=kernel):
                if reason := why_not_walked(kernels[kernel]):
                    return f"{shown(name)} {reason}"
            case ir.Effect():
                return f"{shown(name)} has effects"
            case ir.Data(values=(_, *_)):
                return f"{shown(name)} makes a sequence of constants"
    return ""


def ends_of(block: ir.Block, name: str) -> Iterator[ir.Call]:
    """The calls of the function by itself that are last steps."""
    if (call := tail_call(block, name)) is not None:
        yield call
    elif (branch := last_branch(block)) is not None:
        yield from ends_of(branch.then, name)
        yield from ends_of(branch.orelse, name)


OTHERS: dict[type[ir.Soac], str] = {
    ir.Filter: "filters", ir.Partition: "takes sequences apart", ir.Order: "sorts",
    ir.Permute: "writes at places that it computes", ir.ReduceByIndex: "combines by index"}


def why_not_walked(kernel: ir.Kernel) -> str:
    """What the function does there that is none of a row alone, or nothing."""
    for bind in kernel.binds:
        match bind.soac:
            case ir.Once() | ir.Map(space=ir.Flat()) | ir.Reduce(space=ir.Flat()):
                pass
            case ir.Scan(space=ir.Flat(), total=False):
                pass
            case soac:
                return OTHERS.get(type(soac), "has sequences in sequences")
    return ""


def shown(name: str) -> str:
    """What users call the function."""
    return name.rstrip("~")


# Lengths ----------------------------------------------------------------------------------------


def kept_lengths(functions: Functions, name: str, alike: Classes) -> tuple[Hashable, ...]:
    """The key of each result of the function, which is called with parameters of which some are `alike`: the number of
    the parameter that it always is, of those that are alike the first."""
    return Lengths(functions, name, alike).given[name]


class Lengths:
    """`classes`: for each parameter of a function the first that is always the same; `given`: the keys of results. Both
    are less and less, until nothing changes: what a call passes tells parameters apart."""

    def __init__(self, functions: Functions, name: str, alike: Classes) -> None:
        self.functions = functions
        self.classes: dict[str, Classes] = {name: alike}
        self.given: dict[str, tuple[Hashable, ...]] = {}
        before: object = None
        while before != (before := (dict(self.classes), dict(self.given))):
            for each in list(self.classes):
                self.look(each)

    def look(self, name: str) -> None:
        function, classes = self.functions[name], self.classes[name]
        keys: Keys = {param.name: key for param, key in zip(function.params, classes, strict=True)}
        given = self.block(function.body, keys)
        self.given[name] = tuple([key if isinstance(key, int) or key == ANY else None for key in given])

    def block(self, block: ir.Block, keys: Keys) -> tuple[Hashable, ...]:
        for statement in block.statements:
            match statement:
                case ir.HostLet(result, ir.Var(other)):
                    keys[result.name] = keys.get(other, other)
                case ir.Call(results, called, arguments):
                    passed = [key_of(argument, keys) for argument in arguments]
                    classes = tuple(map(passed.index, passed))
                    known = self.classes.get(called, classes)
                    both = list(zip(known, classes, strict=True))
                    self.classes[called] = tuple(map(both.index, both))
                    for result, key in zip(results, self.given.get(called, (ANY,) * len(results)), strict=True):
                        keys[result.name] = passed[key] if isinstance(key, int) else key or result.name
                case ir.Branch(results, _, then, orelse):
                    for result, one, other in zip(results, self.block(then, keys), self.block(orelse, keys),
                                                  strict=True):
                        keys[result.name] = other if one == ANY else one if other in (ANY, one) else result.name
                case ir.Choose(results, cases):
                    keys |= {result.name: key for result, key in
                             zip(results, self.block(cases[-1].block, keys), strict=True)}
        return tuple([key_of(atom, keys) for atom in block.results])


def key_of(atom: ir.Atom, keys: Keys) -> Hashable:
    return keys.get(atom.name, atom.name) if isinstance(atom, ir.Var) else ("constant", atom.type, repr(atom.value))
