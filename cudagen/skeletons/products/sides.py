"""Which walks are products, their rows and columns, and what one of these gives at a place (lambda_cu.spaces.sides).

    { (i1, i2, s, j, i) => a[i1 * k + j] * b[j * n + i2] }

Rows and columns are the members of two groups: the last of the outer axes counts columns, those before it rows. What a
member gives it gives in all segments that it has a part in. Failures are those of the first of these.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from nessie.base.records import dataclass
from nessie.cudagen.kernels.code import Code, Value, identifier, integer, op
from nessie.cudagen.kernels.thunks import Tables, scalar
from nessie.cudagen.kernels.walk import ROOT, SEGMENT, UNIT, Step, Walk
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.plan import Alone
from nessie.cudagen.skeletons.counted import count_of
from nessie.cudagen.skeletons.elements import number_at, states_of
from nessie.cudagen.skeletons.kernel import Kernel, size_exp
from nessie.cudagen.skeletons.states import State, commutative
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.spaces.sides import Sides, sides
from nessie.lambda_cu.spaces.strides import Stride, reads


@dataclass(frozen=True)
class Product:
    """A SEG_REDUCE of the walk. `rows`, `columns`: the arrays that have what its sides give."""
    state: State
    thunk: ir.Thunk
    sides: Sides
    rows: Mapping[str, str]
    columns: Mapping[str, str]


@dataclass(frozen=True)
class Group:
    """Members of one side that go together: `count` of all, whose indices are those of the outer axes from `first` on,
    of as many as there are `axes`."""
    use: str
    count: int
    first: int
    axes: tuple[ir.Size, ...]


@dataclass(frozen=True)
class Tiled:
    """The products of a walk, and the groups of rows and columns that a tile joins. `least`: of how many rows, columns
    and elements tiles pay, at least; `tiles`: of how many there must be."""
    products: tuple[Product, ...]
    rows: Group
    columns: Group
    least: tuple[int, int, int]
    tiles: int = 1

    @property
    def groups(self) -> tuple[Group, Group]:
        return self.rows, self.columns


def products_of(walk: Walk, most: int, totals: bool = False) -> list[Product] | None:
    """The SEG_REDUCEs of a walk that does nothing else than compute of their results, if each joins what rows and
    columns give, and all together have so many components at most. `totals`: results may be added up, too."""
    if not isinstance(walk.root, ir.Uniform) or len(walk.root.outer) < 2 or walk.prologue:
        return None
    states, found = states_of(walk), list[Product]()
    for step in walk.steps:
        soac = step.bind.soac
        if step.place == SEGMENT and isinstance(soac, ir.Map):
            continue
        if totals and (step.place == UNIT or (step.place == SEGMENT and isinstance(soac, ir.Reduce)
                                              and commutative(states[step.name]))):
            continue
        if (step.place != ROOT or not isinstance(soac, ir.Reduce) or isinstance(soac.space, ir.Flat)
                or not commutative(states[step.name])):
            return None
        parted = sides(soac.thunk)
        if parted is None:
            return None
        found.append(product_of(step, soac, states[step.name], parted))
    return found if 0 < components_of(found) <= most else None


def product_of(step: Step, soac: ir.Reduce, state: State, parted: Sides) -> Product:
    rows, columns = [{name: f"{step.name}_packed_{use}{number}" for number, name in enumerate(side)}
                     for use, side in (("rows", parted.rows), ("columns", parted.columns))]
    return Product(state, soac.thunk, parted, rows, columns)


def components_of(products: Sequence[Product]) -> int:
    """Of all their sums."""
    return sum(len(product.state.components) for product in products)


def groups_of(walk: Walk, rows: int, columns: int) -> tuple[Group, Group]:
    """Groups of so many rows, and of columns."""
    assert isinstance(walk.root, ir.Uniform)
    *outer, last = walk.root.outer
    return Group("rows", rows, 0, tuple(outer)), Group("columns", columns, len(outer), (last,))


# Members ----------------------------------------------------------------------------------------


def members(kernel: Kernel, group: Group) -> loops.Exp:
    """How many there are, for the host."""
    return product_exp([size_exp(kernel, size) for size in group.axes])


def members_in(code: Code, group: Group) -> loops.Exp:
    """The same, in a function."""
    return product_exp([code.size(size) for size in group.axes])


def group_count(kernel: Kernel, group: Group) -> loops.Exp:
    return count_of(members(kernel, group), group.count)


def product_exp(sizes: Sequence[loops.Exp]) -> loops.Exp:
    return reduce(lambda a, b: op("*", a, b), sizes)


def indices_of(code: Code, group: Group, member: loops.Exp) -> list[loops.Exp]:
    """The member's index of each of its axes."""
    rest, found = code.let_int("index", member), list[loops.Exp]()
    for size in reversed(group.axes[1:]):
        quotient = code.let_int("axis", op("/", rest, code.size(size)))
        found.append(code.let_int("axis", op("-", rest, op("*", quotient, code.size(size)))))
        rest = quotient
    return [rest, *reversed(found)]


def there(code: Code, group: Group, member: loops.Exp) -> loops.Exp:
    """The member of this number; the last one, where there are fewer."""
    return op("min", member, op("-", members_in(code, group), integer(1)))


# What members give ------------------------------------------------------------------------------


def side_of(product: Product, group: Group) -> tuple[Mapping[str, ir.Exp], Mapping[str, str]]:
    """What the group's members give, and the arrays that have it."""
    if group.use == "rows":
        return product.sides.rows, product.rows
    return product.sides.columns, product.columns


def across(products: Sequence[Product], group: Group) -> bool:
    """Do the group's members lie beside each other in memory, and the elements of one apart?"""
    found: list[Stride] = []
    for product in products:
        *_, place, _ = parameters = product.thunk.params
        known = {name: Stride() for name in parameters}
        known |= {parameters[group.first + len(group.axes) - 1]: Stride(1, 0), place: Stride(0, 1)}
        found += [stride for exp in side_of(product, group)[0].values() for stride in reads(exp, known)]
    return any(stride.across for stride in found)


def given(code: Code, tables: Tables, root: ir.Uniform, products: Sequence[Product], group: Group,
          indices: Sequence[loops.Exp], place: loops.Exp) -> Iterator[tuple[str, Value]]:
    """What the member at these indices gives at this place of a segment, with the array that has it. Where other axes
    are at 0, a failure is the first."""
    outer: list[loops.Exp] = [integer(0)] * len(root.outer)
    outer[group.first:group.first + len(indices)] = indices
    segment = number_at(outer, [code.size(size) for size in root.outer])
    code.order_index = op("+", op("*", segment, code.size(root.length)), place)
    for product in products:
        code.values.update(zip(product.thunk.params, [Value(exp, "int") for exp in (
            *outer, segment, place, code.order_index)], strict=True))
        side, arrays = side_of(product, group)
        for name, exp in side.items():
            yield arrays[name], scalar(code, tables, exp)


# Where they pay ---------------------------------------------------------------------------------


def enough(kernel: Kernel, root: ir.Uniform, tiled: Tiled) -> list[loops.Exp]:
    """Sizes that are positive where tiles pay: there are enough rows, columns, elements, and tiles."""
    sizes = [*[members(kernel, group) for group in tiled.groups], size_exp(kernel, root.length)]
    found: list[loops.Exp] = [op("/", size, integer(least)) for size, least in zip(sizes, tiled.least, strict=True)]
    if tiled.tiles > 1:
        found.append(op("/", product_exp([group_count(kernel, group) for group in tiled.groups]), integer(tiled.tiles)))
    return found


def where_they_pay(made: Module, other: Module, worth: Sequence[loops.Exp]) -> Module:
    """The plan of products, and that of the walk that does the same where one of these sizes is not positive."""
    name = f"{identifier(other.plans[0].name)}_walk"
    chunks = op("+", reduce(lambda a, b: op("min", a, b), worth), integer(1))
    plan = replace(made.plans[0], alone=Alone(name, chunks))
    return Module((*made.functions, *other.functions), (plan, replace(other.plans[0], name=name)))
