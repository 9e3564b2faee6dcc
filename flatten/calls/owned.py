"""Loops over rows that owners hold: a recursion that calls itself as its last step, on a row and scalars, for each row.

    done, results = f^rows          an offer (lambda_cu.offers): the owner of a row goes through all rounds by himself
    results if done, else those of f^, the lifted version, in which a round is a launch for all rows

An offer is made only where users ask for levels: whether the owner that they name does it is decided later
(schedule.wishes.offers). The rows of an activation must be equally long, and those of the result as long as they are,
in any number of rounds; so they lie where the arguments' rows lie.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

from nessie.base.types import Base, Pair, Seq, Type
from nessie.flatten.calls.apart import runs_alone, sequences_in
from nessie.flatten.calls.boundary import Packer, nothing_for, params_of, received, unpack
from nessie.flatten.translator import Translator
from nessie.flatten.values.contexts import Context
from nessie.flatten.values.domains import HOST, Domain, atom_of
from nessie.flatten.values.emitter import LoopMade, Tables
from nessie.flatten.values.materialise import elements
from nessie.flatten.values.spaces import space_for
from nessie.flatten.values.values import Both, Scalar, Sequence, Value, dense, pull, seq_of
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.offers.rounds import Same, why_no_loop
from nessie.lambda_cu.offers.rows import items
from nessie.lambda_cu.rename import rename_space, rename_type
from nessie.lambda_cu.scope import space_names
from nessie.mono import nodes as mono

ROWS = "^rows"                  # the end of such an offer's name
NOT_ALONE = "it passes on parts of sequences, or sequences in sequences, or has effects"
Made = Callable[[], str]        # makes a version of a function, and returns its name


def offered_rows(t: Translator, call: mono.Call, arguments: list[Value], domain: Domain, hint: str, alone: Made,
                 lifted: Callable[[], Value]) -> Value | None:
    """Offer the loop to owners of rows, if it is one and users ask for owners. `alone` makes its version for one
    activation, `lifted` calls the one for all."""
    name = owners_loop(t, call, arguments, domain, alone)
    return Rows(t, arguments, domain, hint).offered(call, name, lifted) if name else None


def owners_loop(t: Translator, call: mono.Call, arguments: list[Value], domain: Domain, alone: Made) -> str:
    """The version for one activation of the loop that owners of rows can be offered; '' where there is none."""
    function = t.functions[call.function]
    if (not t.owners or domain is HOST or t.frame.function == function.name or not t.summaries[function.name].again
            or not any([isinstance(p.type, Seq) for p in function.parameters])):
        return ""
    name, why = "", rows_differ(t, arguments, domain) if runs_alone(t, function) else NOT_ALONE
    if not why:
        name = alone()
        kernels = {kernel.name: kernel for kernel in t.emitter.kernels}
        why = why_no_loop(t.emitter.functions, kernels, name) or why_other_lengths(t.emitter.functions, name)
    t.emitter.made.loops.append(LoopMade(call.origin, function.name, why))
    return "" if why else name


def why_other_lengths(functions: dict[str, ir.Function], name: str) -> str:
    called, given = functions[name], Same(functions, name).given[name]
    first = next(item.at + 1 for item in items(called.params) if item.arrays)
    if all([given[item.at + 1] == first for item in items(called.results) if item.arrays]):
        return ""
    return "rows of the result may be longer or shorter than those that it is given"


def sequences_of(value: Value) -> Iterator[Sequence]:
    match value:
        case Both(first, second):
            yield from sequences_of(first)
            yield from sequences_of(second)
        case Sequence():
            yield value


def rows_differ(t: Translator, arguments: list[Value], domain: Domain) -> str:
    """The reason why not all rows that an activation has are its own, and equally long; '' if they are."""
    if not isinstance(domain.size, str):
        return "the number of rows is a constant"
    context, lengths = Context(t.emitter, domain), set[ir.Exp]()
    for argument in arguments:
        if any([sequence.home is HOST for sequence in sequences_of(argument)]):
            return "it is given a sequence that is no row: all rows have it"
        for term in sequences_in(pull(argument, domain, domain.here(), context)):
            lengths.add(context.close(term.length))
    return "rows that it is given together may differ in length" if len(lengths) > 1 else ""


class Rows:
    """The rows over a domain that owners are offered, in one space."""

    def __init__(self, t: Translator, arguments: list[Value], domain: Domain, hint: str) -> None:
        self.t, self.emitter, self.arguments, self.domain, self.hint = t, t.emitter, arguments, domain, hint
        sources = [sequence for argument in arguments for sequence in sequences_of(argument)]
        lying = [source.space for source in sources if source.dense and source.home is domain]
        self.space = lying[0] if lying else space_for(
            t.emitter, domain, lambda at, c: seq_of(pull(sources[0], domain, at, c)).length)
        self.over = t.emitter.walked(self.space)
        assert not isinstance(self.over, ir.Flat)

    def offered(self, call: mono.Call, name: str, lifted: Callable[[], Value]) -> Value:
        emitter = self.emitter
        done, given = self.called(call, name)
        otherwise, statements = emitter.block(lambda: list(self.packed(lifted(), call.type)))
        results = self.declared(call.type)
        emitter.emit(ir.Branch(tuple(results), ir.Var(done.name), ir.Block((), tuple([ir.Var(p.name) for p in given])),
                               ir.Block(statements, tuple(otherwise)), origin=call.origin))
        return self.unpacked(call.type, received(results))

    def called(self, call: mono.Call, name: str) -> tuple[ir.Param, list[ir.Param]]:
        """Emit the call of the offer; return whether it was done, and what it gives."""
        emitter, function = self.emitter, self.t.functions[call.function]
        emitter.origin = call.origin
        atoms = [atom for argument, p in zip(self.arguments, function.parameters, strict=True)
                 for atom in self.packed(argument, p.type, alike=True)]
        offer, passed = self.offer(name, atoms, function)
        done, given = emitter.declare("done", "bool"), self.declared(call.type)
        emitter.emit(ir.Call((done, *given), offer, (*passed, *atoms), origin=call.origin))
        return done, given

    def offer(self, name: str, atoms: list[ir.Atom], function: mono.Function) -> tuple[str, list[ir.Atom]]:
        """Make the offer; return its name, and what it is given before these."""
        emitter, size = self.emitter, self.domain.size
        assert isinstance(size, str)
        mentioned = [name for name in dict.fromkeys(space_names(self.over)) if name != size]
        names: dict[str, str] = {}
        first = []
        for old in (size, *mentioned):
            first.append(emitter.declare(old, rename_type(emitter.types[old], names)))
            names[old] = first[-1].name
        rest = [emitter.declare("x", rename_type(self.type_of(atom), names)) for atom in atoms]
        results = [emitter.declare(p.name, rename_type(p.type, names)) for p in self.declared(function.result)]
        held, emitter.tables = emitter.tables, Tables(known=emitter.tables.known)
        none, statements = emitter.block(lambda: nothing_for(emitter, results))
        emitter.tables = held
        made = emitter.fresh(function.name + ROWS)
        over = rename_space(self.over, names)
        assert not isinstance(over, ir.Flat)
        emitter.functions[made] = ir.Function(
            made, (*first, *rest), (ir.Param(emitter.fresh("done"), "bool"), *results),
            ir.Block(statements, (ir.Const(False, "bool"), *none)), name, over, origin=function.origin)
        return made, [atom_of(old) for old in (size, *mentioned)]

    def type_of(self, atom: ir.Atom) -> ir.Type:
        return self.emitter.types[atom.name] if isinstance(atom, ir.Var) else atom.type

    # By types -------------------------------------------------------------------------------

    def declared(self, type_: Type) -> list[ir.Param]:
        match type_:
            case Pair(first, second):
                return [*self.declared(first), *self.declared(second)]
            case Seq(item):
                return params_of(self.emitter, item, self.space, None, self.hint)
        return params_of(self.emitter, type_, self.domain, None, self.hint)

    def packed(self, value: Value, type_: Type, alike: bool = False) -> Iterator[ir.Atom]:
        """The elements of sequences over the space, scalars over the domain, or, where `alike`, of the host."""
        packer = Packer(self.emitter, self.hint, self.t.frame)
        match value, type_:
            case Both(a, b), Pair(first, second):
                yield from self.packed(a, first, alike)
                yield from self.packed(b, second, alike)
            case Scalar(home), Base():
                yield from packer.pack(value, type_, HOST if alike and home is HOST else self.domain)
            case Sequence(), Seq(item):
                yield from packer.pack(elements(self.emitter, value, self.space, self.domain), item, self.space)

    def unpacked(self, type_: Type, atoms: Iterator[ir.Atom]) -> Value:
        match type_:
            case Pair(first, second):
                one = self.unpacked(first, atoms)
                return Both(one, self.unpacked(second, atoms))
            case Seq(item):
                return dense(self.domain, self.space, unpack(self.emitter, item, self.space, atoms))
        return unpack(self.emitter, type_, self.domain, atoms)
