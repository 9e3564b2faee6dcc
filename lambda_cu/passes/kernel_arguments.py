"""What kernels are given: constants in every run become part of them; those that only copy whole arrays are not run.
Names of the host level get other values (`names`).
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from nessie.base.parts import updated
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import BLOCKS, CONDITIONS, EXPRESSIONS, NAMES, map_thunks
from nessie.lambda_cu.passes.lets import tidy_kernels
from nessie.lambda_cu.passes.sharing import runs_of
from nessie.lambda_cu.rename import replace_reads, substitute
from nessie.lambda_cu.scope import free_names, kept_items, map_runs, results, statements, thunk, type_names

# Names --------------------------------------------------------------------------------------------


def renamed_atoms(atoms: tuple[ir.Atom, ...], names: Mapping[str, ir.Atom]) -> tuple[ir.Atom, ...]:
    return tuple([names.get(a.name, a) if isinstance(a, ir.Var) else a for a in atoms])


def renamed_params(params: Iterable[ir.Param], names: Mapping[str, ir.Atom]) -> tuple[ir.Param, ...]:
    return tuple([renamed_param(p, names) for p in params])


def renamed_param(param: ir.Param, names: Mapping[str, ir.Atom]) -> ir.Param:
    """The parameter, whose size is called so."""
    if not isinstance(param.type, ir.Array) or param.type.size not in names:
        return param
    atom = names[str(param.type.size)]
    size = atom.name if isinstance(atom, ir.Var) else atom.value
    assert isinstance(size, int | str)
    return updated(param, type=updated(param.type, size=size))


def renamed_statement(statement: ir.Statement, names: Mapping[str, ir.Atom]) -> ir.Statement:
    """The statement with these values for names; blocks in it stay as they are."""
    match statement:
        case ir.Run(given, _, arguments) | ir.Call(given, _, arguments) | ir.Effect(given, _, arguments):
            return updated(statement, results=renamed_params(given, names), arguments=renamed_atoms(arguments, names))
        case ir.HostLet(_, value):
            found = {name: names[name] for name in free_names(value) if name in names}
            return updated(statement, value=substitute(value, found)) if found else statement
        case ir.Data(result):
            return updated(statement, result=renamed_param(result, names))
        case ir.Branch(given, condition):
            return updated(statement, results=renamed_params(given, names),
                           condition=renamed_atoms((condition,), names)[0])
        case ir.Choose(given):
            return updated(with_conditions(statement, names), results=renamed_params(given, names))
    raise TypeError(statement)


def with_conditions(choice: ir.Choose, names: Mapping[str, ir.Atom]) -> ir.Choose:
    """The choice, whose conditions have these values for names."""
    return CONDITIONS.map(choice, lambda exp: substitute(exp, {n: names[n] for n in free_names(exp) if n in names}))


# Constants ----------------------------------------------------------------------------------------


def with_constants(program: ir.Program) -> ir.Program:
    """The program whose kernels know the scalars that are the same constant in every run. Sizes stay as they are."""
    runs = runs_of(program)
    known = {k.name: constants(k, runs[k.name]) for k in program.kernels if k.name in runs}

    def narrowed(run: ir.Run) -> ir.Run:
        inside = known[run.kernel]
        return updated(run, arguments=kept_items(run.arguments, [k not in inside for k in range(len(run.arguments))]))

    if not any(known.values()):
        return program
    program = updated(program, kernels=tuple([with_known(k, known.get(k.name, {})) for k in program.kernels]),
                      functions=tuple([updated(f, body=map_runs(f.body, narrowed)) for f in program.functions]))
    return tidy_kernels(program, {name for name, inside in known.items() if inside})


def constants(kernel: ir.Kernel, runs: Iterable[ir.Run]) -> dict[int, ir.Const]:
    """The constants by the numbers of the parameters."""
    sizes = {name for bind in kernel.binds for name in NAMES.of(bind.soac)}
    sizes.update(name for param in kernel.params for name in type_names(param.type))
    found: dict[int, ir.Const] = {}
    for k, param in enumerate(kernel.params):
        given = {(a.type, repr(a.value)) if isinstance(a, ir.Const) else None for a in [r.arguments[k] for r in runs]}
        if param.name not in sizes and not isinstance(param.type, ir.Array) and len(given) == 1 and None not in given:
            (constant,) = {a for a in [r.arguments[k] for r in runs][:1] if isinstance(a, ir.Const)}
            found[k] = constant
    return found


def with_known(kernel: ir.Kernel, known: Mapping[int, ir.Const]) -> ir.Kernel:
    if not known:
        return kernel
    names = {kernel.params[k].name: value for k, value in known.items()}

    def inside(old: ir.Thunk) -> ir.Thunk:
        return thunk(old.params, substitute(old.body, names)) if not names.keys().isdisjoint(old.using) else old

    def exp(old: ir.Exp) -> ir.Exp:
        return substitute(old, names)

    return updated(kernel, params=kept_items(kernel.params, [k not in known for k in range(len(kernel.params))]),
                   binds=tuple([updated(b, soac=EXPRESSIONS.map(map_thunks(b.soac, inside), exp))
                                for b in kernel.binds]))


def with_constant_arrays(program: ir.Program) -> ir.Program:
    """The program whose kernels know the elements of arrays that are one constant everywhere."""
    made = {k.name: constant_results(k) for k in program.kernels}
    if not any(made.values()):
        return program
    elements: dict[tuple[str, int], set[ir.Const | None]] = {}
    for function in program.functions:
        known: dict[str, ir.Const] = {}
        for statement in statements(function.body):
            if isinstance(statement, ir.Run):
                for k, argument in enumerate(statement.arguments):
                    elements.setdefault((statement.kernel, k), set()).add(
                        known.get(argument.name) if isinstance(argument, ir.Var) else None)
                known.update((r.name, c) for r, c in zip(statement.results, made[statement.kernel]) if c is not None)
    return updated(program, kernels=tuple([
        with_elements(k, {p.name: c for n, p in enumerate(k.params) if isinstance(p.type, ir.Array)
                          and len(given := elements.get((k.name, n), {None})) == 1 for c in given if c is not None})
        for k in program.kernels]))


def constant_results(kernel: ir.Kernel) -> list[ir.Const | None]:
    """For each result the constant that all elements are, if they are one."""
    found = {name: part for bind in kernel.binds if isinstance(bind.soac, ir.Map)
             for name, part in zip(bind.names, items(bind.soac.thunk.body)) if isinstance(part, ir.Const)}
    return [found.get(name) for name in kernel.returns]


def items(body: ir.Exp) -> tuple[ir.Exp, ...]:
    """The components that the body computes, as far as they are apart."""
    while isinstance(body, ir.Let):
        body = body.body
    return body.items if isinstance(body, ir.Tuple) else (body,)


def with_elements(kernel: ir.Kernel, known: Mapping[str, ir.Const]) -> ir.Kernel:
    """The kernel, which reads these constants instead of arrays."""
    if not known:
        return kernel

    def inside(old: ir.Thunk) -> ir.Thunk:
        if known.keys().isdisjoint(old.using):
            return old
        return thunk(old.params, replace_reads(old.body, lambda read: known.get(read.array)))

    return updated(kernel, binds=tuple([updated(b, soac=map_thunks(b.soac, inside)) for b in kernel.binds]))


# Copies -------------------------------------------------------------------------------------------


def without_copies(program: ir.Program) -> ir.Program:
    """The program without runs of kernels that only copy whole arrays."""
    copies = {k.name: found for k in program.kernels if (found := copied(k)) is not None}
    if not copies:
        return program

    def block(inside: ir.Block, sizes: dict[str, ir.Type], names: dict[str, ir.Atom]) -> ir.Block:
        kept: list[ir.Statement] = []
        for statement in inside.statements:
            statement = BLOCKS.map(renamed_statement(statement, names), lambda b: block(b, sizes, names))
            sizes.update((r.name, r.type) for r in results(statement))
            if isinstance(statement, ir.Run) and statement.kernel in copies:
                whole = copies[statement.kernel].whole(statement, sizes)
                if whole is not None:
                    names.update(whole)
                    continue
            kept.append(statement)
        return updated(inside, statements=tuple(kept), results=renamed_atoms(inside.results, names))

    return updated(program, functions=tuple([
        updated(f, body=block(f.body, {p.name: p.type for p in f.params}, {})) for f in program.functions]))


@dataclass(frozen=True)
class Copied:
    """What a kernel copies: for each result, the numbers of the parameters that are the array, and where it begins
    (None: at 0). `size`: that of the number of elements, or it."""
    arrays: tuple[tuple[int, int | None], ...]
    size: int

    def whole(self, run: ir.Run, types: Mapping[str, ir.Type]) -> dict[str, ir.Atom] | None:
        """The arrays that the results are, if each is all of one."""
        count = run.arguments[self.size]
        found: dict[str, ir.Atom] = {}
        for result, (array, start) in zip(run.results, self.arrays, strict=True):
            given = run.arguments[array]
            assert isinstance(given, ir.Var)
            type_ = types[given.name]
            begins = start is None or run.arguments[start] == ir.Const(0, "int")
            size = count.name if isinstance(count, ir.Var) else count.value
            if not begins or not isinstance(type_, ir.Array) or type_.plus or type_.size != size:
                return None
            found[result.name] = given
        return found


def copied(kernel: ir.Kernel) -> Copied | None:
    """What the kernel copies, if that is all it does."""
    numbers = {p.name: k for k, p in enumerate(kernel.params)}
    found: dict[str, tuple[int, int | None]] = {}
    sizes: set[ir.Size] = set()
    for bind in kernel.binds:
        match bind.soac:
            case ir.Map(ir.Thunk((index,), body), ir.Flat(size)):
                sizes.add(size)
                for name, part in zip(bind.names, items(body) if not isinstance(body, ir.Let) else ()):
                    match part:
                        case ir.Read(array, ir.Var(at)) if at == index and array in numbers:
                            found[name] = numbers[array], None
                        case ir.Read(array, ir.Op("+", (ir.Var(start), ir.Var(at)))) if (
                                at == index and array in numbers and start in numbers):
                            found[name] = numbers[array], numbers[start]
                        case _:
                            return None
            case _:
                return None
    if len(sizes) != 1 or not sizes <= numbers.keys() or not found.keys() >= set(kernel.returns):
        return None
    return Copied(tuple([found[name] for name in kernel.returns]), numbers[str(sizes.pop())])
