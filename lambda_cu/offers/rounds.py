"""Functions of the host that are loops: whoever holds all that they work on can go through their rounds by himself.

A loop calls itself as its last step, or not at all; what else it calls are loops that call neither it nor what it was
called from. So no stack is needed. Its kernels walk sequences, each by itself: apply-to-each, reductions, scans.

    why_no_loop     the reason why a function is no such loop
    Same            what is the same in all rounds: which results are which parameters, or one number
"""
from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.offers.rows import items
from nessie.lambda_cu.scope import statements

Functions = Mapping[str, ir.Function]
Kernels = Mapping[str, ir.Kernel]
Keys = tuple[Hashable, ...]
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


# What stays the same ----------------------------------------------------------------------------


def of_rows(called: ir.Function) -> Keys:
    """What is known of a function's parameters that is called for a row: sequences begin at 0 and are equally long."""
    rows = [item.at for item in items(called.params) if item.arrays]
    known: dict[int, Hashable] = {}
    for at in rows:
        known |= {at: Known(0), at + 1: rows[0] + 1, at + 2: rows[0] + 1}
    return tuple([known.get(at, at) for at in range(len(called.params))])


@dataclass(frozen=True)
class Known:
    """The key of an int that is always this one."""
    value: int


class Same:
    """What is always the same, of the function of this name and of those that it calls. `params`: the key of each
    parameter, an int, or the number of the first parameter that is always the same; `given`: of each result, or None;
    `passed`: of what calls pass, by their identities. Less and less is the same, until nothing changes: calls tell
    parameters apart."""

    def __init__(self, functions: Functions, name: str) -> None:
        self.functions = functions
        self.params: dict[str, Keys] = {name: of_rows(functions[name])}
        self.given: dict[str, Keys] = {}
        self.passed: dict[int, Keys] = {}
        before: object = None
        while before != (before := (dict(self.params), dict(self.given))):
            for each in list(self.params):
                self.look(each)

    def look(self, name: str) -> None:
        function = self.functions[name]
        keys = {param.name: key for param, key in zip(function.params, self.params[name], strict=True)}
        given = self.block(function.body, keys)
        self.given[name] = tuple([key if isinstance(key, int | Known) or key == ANY else None for key in given])

    def block(self, block: ir.Block, keys: dict[str, Hashable]) -> Keys:
        for statement in block.statements:
            match statement:
                case ir.HostLet(result, ir.Var() | ir.Const() as value):
                    keys[result.name] = key_of(value, keys)
                case ir.Call(results, called, arguments):
                    self.call(statement, tuple([key_of(argument, keys) for argument in arguments]))
                    given = self.given.get(called, (ANY,) * len(results))
                    keys |= {result.name: result.name if key is None else self.in_caller(key, statement)
                             for result, key in zip(results, given, strict=True)}
                case ir.Branch(results, _, then, orelse):
                    for result, one, other in zip(results, self.block(then, keys), self.block(orelse, keys),
                                                  strict=True):
                        keys[result.name] = other if one == ANY else one if other in (ANY, one) else result.name
                case ir.Choose(results, cases):
                    keys |= {result.name: key for result, key in
                             zip(results, self.block(cases[-1].block, keys), strict=True)}
        return tuple([key_of(atom, keys) for atom in block.results])

    def call(self, call: ir.Call, passed: Keys) -> None:
        self.passed[id(call)] = passed
        if ANY in passed:                       # nobody gets here so far
            return
        now = apart(passed, passed)
        self.params[call.function] = apart(self.params.get(call.function, now), now)

    def in_caller(self, key: Hashable, call: ir.Call) -> Hashable:
        """The key of a result, where the caller is."""
        return self.passed[id(call)][key] if isinstance(key, int) else key

    def stays(self, at: int, function: str, calls: Iterable[ir.Call]) -> bool:
        """Is the parameter of this number the same in all rounds, if these calls are the function's of itself?"""
        first = self.params[function][at]
        return isinstance(first, int) and all([self.passed[id(call)][at] == self.passed[id(call)][first] == first
                                               for call in calls])


def apart(one: Keys, other: Keys) -> Keys:
    """The keys of parameters of which those are the same that are so by both."""
    both = list(zip(one, other, strict=True))
    return tuple([a if a == b and isinstance(a, Known) else both.index((a, b)) for a, b in both])


def key_of(atom: ir.Atom, keys: Mapping[str, Hashable]) -> Hashable:
    if isinstance(atom, ir.Var):
        return keys.get(atom.name, atom.name)
    return Known(int(atom.value)) if atom.type == "int" else ("constant", atom.type, repr(atom.value))
