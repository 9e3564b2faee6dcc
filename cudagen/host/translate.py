"""Pass: host functions of lambda_cu as flat lists of instructions.

  in    lambda_cu
  out   a Code per function: instructions over numbered slots, one per name
  how   branches and choices become jumps, their results moves. A walk from the end keeps the set of names that are read
        later; what an instruction reads for the last time it lists as `dead`. A name that only one side of a branch
        reads dies at the beginning of the other.

    function total (n : int, xs : [float; n]) ...       host total (#0, #1) slots 5 {
      let (k : int, ys : [float; k]) = run K1 (n, xs)     0: launch K1 (#0, #1) -> #2, #3 dead #0, #1
      let (r : float) = call f (k, ys)                    1: call f (#2, #3) -> #4 dead #2, #3
      return r                                            2: give (#4) dead #4
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nessie.cudagen.host.nodes import (
    Code,
    Compute,
    Constant,
    Decide,
    Drop,
    Give,
    Instruction,
    Invoke,
    Jump,
    JumpUnless,
    Launch,
    Move,
    Operand,
    Perform,
    Program,
    Results,
    Signature,
    Slot,
    Slots,
    slots_of,
)
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import BLOCKS
from nessie.lambda_cu.scope import condition_names, free_names, version_name


def translate(program: ir.Program) -> Program:
    kernels = tuple([Signature(k.name, len(k.params), len(k.returns)) for k in program.kernels])
    return Program(program.sites, program.scalar_functions, kernels, tuple(map(translate_function, program.functions)),
                   program.entry, program.tunables)


class Slotted(dict[str, Slot]):
    """The slots of the names of a function, which has this name."""
    function = ""


def translate_function(function: ir.Function) -> Code:
    slots = Slotted({name: slot for slot, name in enumerate(bound_names(function))})
    slots.function = function.name
    operands = tuple(operand(a, slots) for a in function.body.results)
    live = set(slots_of(operands))
    # Backwards: each statement's instructions are put before those of what follows it.
    pieces: list[list[Instruction]] = [[Give(operands, tuple(sorted(live)))]]
    for statement in reversed(function.body.statements):
        pieces.append(translate_statement(statement, slots, live))
    parameters = tuple(slot if (slot := slots.get(p.name)) in live else None for p in function.params)
    return Code(function.name, parameters, len(slots), tuple(placed(list(joined(pieces)))))


def joined(pieces: list[list[Instruction]]) -> Iterator[Instruction]:
    for piece in reversed(pieces):
        yield from piece


def bound_names(function: ir.Function) -> Iterator[str]:
    return (param.name for param in bound(function))


def slot_types(function: ir.Function) -> tuple[ir.Type, ...]:
    """The types of what the function's slots hold."""
    return tuple({param.name: param.type for param in bound(function)}.values())


def bound(function: ir.Function) -> Iterator[ir.Param]:
    """Parameters, then what statements bind, each once."""
    yield from named(function.params)
    waiting = [function.body]
    while waiting:
        for statement in waiting.pop().statements:
            match statement:
                case ir.HostLet(result) | ir.Data(result):
                    yield from named((result,))
                case ir.Branch(results) | ir.Choose(results):
                    waiting += BLOCKS.of(statement)
                    yield from named(results)
                    if isinstance(statement, ir.Choose):
                        yield from [decision(case) for case in statement.cases[:-1]]
                case ir.Run(results) | ir.Call(results) | ir.Effect(results):
                    yield from named(results)


def decision(case: ir.Case) -> ir.Param:
    """What says whether the case's condition holds, which has no name in the program."""
    return ir.Param(f"case {id(case)}", "bool")


def named(results: tuple[ir.Param, ...]) -> Iterator[ir.Param]:
    return (r for r in results if r.name != "_")


def operand(atom: ir.Atom, slots: Slotted) -> Operand:
    return slots[atom.name] if isinstance(atom, ir.Var) else atom


# Statements -------------------------------------------------------------------------------------
#
# `live` holds the slots that are read after the statement, and is changed into those read before it.

def translate_statement(statement: ir.Statement, slots: Slotted, live: set[Slot]) -> list[Instruction]:
    match statement:
        case ir.Run(results, kernel, arguments, origin=origin):
            operands = tuple(operand(a, slots) for a in arguments)
            bound = bind(results, slots, live)
            return [Launch(bound, kernel, operands, last_uses(slots_of(operands), live), origin=origin)]
        case ir.Call(results, function, arguments, origin=origin):
            operands = tuple(operand(a, slots) for a in arguments)
            bound = bind(results, slots, live)
            return [Invoke(bound, function, operands, last_uses(slots_of(operands), live), origin=origin)]
        case ir.Effect(results, name, arguments, takes, gives, origin=origin):
            operands = tuple(operand(a, slots) for a in arguments)
            bound = bind(results, slots, live)
            return [Perform(bound, name, operands, takes, gives, last_uses(slots_of(operands), live), origin=origin)]
        case ir.HostLet(result, value, origin=origin):
            names = {name: slots[name] for name in free_names(value)}
            bound = bind((result,), slots, live)
            return [Compute(bound[0], value, names, last_uses(tuple(names.values()), live), origin=origin)]
        case ir.Data(result, values):
            assert isinstance(result.type, ir.Array)
            return [Constant(bind((result,), slots, live)[0], result.type.base, values)]
        case ir.Branch():
            return translate_branch(statement, slots, live)
        case ir.Choose():
            return translate_choice(statement, slots, live)
    raise TypeError(statement)


def bind(results: tuple[ir.Param, ...], slots: Slotted, live: set[Slot]) -> Results:
    """The results' slots. Before the statement nothing is in them."""
    bound = tuple(slot if (slot := slots.get(r.name)) in live else None for r in results)
    live.difference_update(slot for slot in bound if slot is not None)
    return bound


def last_uses(read: Slots, live: set[Slot]) -> Slots:
    """The slots read that are not read later; all are live before the statement."""
    dead = tuple(sorted(set(read) - live))
    live.update(read)
    return dead


def translate_branch(branch: ir.Branch, slots: Slotted, live: set[Slot]) -> list[Instruction]:
    bound = bind(branch.results, slots, live)
    then, live_then = translate_side(branch.then, bound, slots, live)
    orelse, live_else = translate_side(branch.orelse, bound, slots, live)
    condition = operand(branch.condition, slots)
    live.update(live_then | live_else)
    then = drop(live - live_then) + then
    orelse = drop(live - live_else) + orelse
    dead = last_uses(slots_of((condition,)), live)
    jump = JumpUnless(condition, len(then) + 2, dead, origin=branch.origin)
    return [jump, *then, Jump(len(orelse) + 1), *orelse]


def translate_choice(choice: ir.Choose, slots: Slotted, live: set[Slot]) -> list[Instruction]:
    """From the last case to the first: each decides whether those after it are come to."""
    bound = bind(choice.results, slots, live)
    rest, live_rest = translate_side(choice.cases[-1].block, bound, slots, live)
    for case in reversed(choice.cases[:-1]):
        assert case.condition is not None
        this, live_this = translate_side(case.block, bound, slots, live)
        either = live_this | live_rest
        this, rest = drop(either - live_this) + this, drop(either - live_rest) + rest
        decided, names = slots[decision(case).name], {name: slots[name] for name in condition_names(case.condition)}
        decide = Decide(decided, version_name(slots.function, choice.results, case.name), case.condition, names,
                        last_uses(slots_of(tuple(names.values())), either), origin=choice.origin)
        jump = JumpUnless(decided, len(this) + 2, (decided,), origin=choice.origin)
        rest, live_rest = [decide, jump, *this, Jump(len(rest) + 1), *rest], either
    live.clear()
    live.update(live_rest)
    return rest


def translate_side(block: ir.Block, bound: Results, slots: Slotted,
                   live: set[Slot]) -> tuple[list[Instruction], set[Slot]]:
    """One side's instructions, and what is live at its beginning. What nobody reads afterwards is not moved."""
    live = set(live)
    wanted = [(slot, operand(a, slots)) for slot, a in zip(bound, block.results, strict=True) if slot is not None]
    results, sources = tuple(slot for slot, _ in wanted), tuple(source for _, source in wanted)
    pieces: list[list[Instruction]] = []
    if wanted:
        pieces.append([Move(results, sources, last_uses(slots_of(sources), live))])
    for statement in reversed(block.statements):
        pieces.append(translate_statement(statement, slots, live))
    return list(joined(pieces)), live


def drop(slots: set[Slot]) -> list[Instruction]:
    return [Drop(tuple(sorted(slots)))] if slots else []


def placed(instructions: list[Instruction]) -> list[Instruction]:
    """Jumps, which say how far to go until now, say where to."""
    return [replace(instruction, target=at + instruction.target)
            if isinstance(instruction, (Jump, JumpUnless)) else instruction
            for at, instruction in enumerate(instructions)]
