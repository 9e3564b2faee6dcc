"""How the arguments of a function lie in memory, by a type that tells their lengths.

  in    the type of the argument, as written, and the types of the program's parameters
  out   a layout for each: rows of a formula are closed, rows of one length uniform, others have offsets
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from nessie.base.records import dataclass
from nessie.base.source import NessieError
from nessie.base.types import Base, Pair, Seq, Type
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.layout import layout_of
from nessie.lengths import formulas
from nessie.lengths.formulas import bare, places, thread
from nessie.syntax import nodes as syntax
from nessie.syntax.types import names_in, sequences

OF_ONE_LENGTH = "; [uniform [float]] are rows of one length, whatever that is"


@dataclass(frozen=True)
class RowForm:
    """The form of rows (lambda_cu.nodes.SeqLayout), the name of their one length, and the formula of closed ones."""
    form: str = "dense"
    name: str = ""
    lengths: ir.Lengths | None = None


def row_form(written: syntax.TypeSeq, around: Sequence[str]) -> RowForm:
    """Return the form of rows; `around`: the names of the positions of the sequences around them, innermost first. A
    formula may mention all of two positions, and of more the innermost: the others are no index of a walk."""
    if written.uniform:
        return RowForm("uniform")
    if written.length is None:
        return RowForm()
    mentioned = dict.fromkeys([name.name for name in names_in(written.length)])
    if mentioned.keys().isdisjoint(around):
        return RowForm("uniform", bare(written.length))
    seen = tuple([name or f"_{level}" for level, name in enumerate(around if len(around) < 3 else around[:1])])
    if any(name in around and name not in seen for name in mentioned):
        return RowForm()
    others = tuple([name for name in mentioned if name not in seen])
    return RowForm("closed", lengths=ir.Lengths(seen, others, thread(written.length)))


def layouts(written: syntax.TypeExp, types: Sequence[Type]) -> tuple[ir.Layout, ...]:
    """Return the layouts of the parameters of these types; the first of them together are the argument."""
    check(written)
    waiting, found, rest = [written], list[ir.Layout](), list(types)
    while waiting and rest:
        part = waiting.pop(0)
        if fits(part, rest[0]):
            found.append(layout(part, rest.pop(0)))
        elif isinstance(part, syntax.TypePair):         # a pattern has taken it apart
            waiting[:0] = [part.first, part.second]
        else:
            break
    return (*found, *map(layout_of, rest))


def check(written: syntax.TypeExp) -> None:
    """Raise NessieError where a length is no formula, or mentions a name that no length is. Of a function's type, the
    argument tells of the result."""
    if isinstance(written, syntax.TypeFun):
        check(written.argument)
    lengths = [one.length for one in sequences(written) if one.length is not None]
    for length in lengths:
        formulas.check(length)
    mentioned = Counter([name.name for length in lengths for name in names_in(length)])
    check_part(written, (), set(names_told(written, (), mentioned)))


def names_told(written: syntax.TypeExp, around: tuple[str, ...], mentioned: Mapping[str, int]) -> Iterator[str]:
    """Yield the names that are the length of a sequence. [i < n => [float; k]] tells of no k that is mentioned only
    there: it may have meant i."""
    match written:
        case syntax.TypeSeq(element, length, index):
            name = bare(length)
            if name and name not in around and not (around and around[0] and mentioned[name] == 1):
                yield name
            yield from names_told(element, (index, *around), mentioned)
        case syntax.TypeFun(first, second) | syntax.TypePair(first, second):
            yield from names_told(first, around, mentioned)
            yield from names_told(second, around, mentioned)


def check_part(written: syntax.TypeExp, around: tuple[str, ...], told: set[str]) -> None:
    match written:
        case syntax.TypeSeq(element, length, index):
            for name in names_in(length) if length is not None else ():
                if name.name not in around and name.name not in told:
                    who, more = ("another", OF_ONE_LENGTH) if bare(length) else ("a", "")
                    raise NessieError(f"nothing says what {name.name} is", *places(name.span, "a length mentions it"),
                                      hint=f"{who} sequence may say it: [float; {name.name}]{more}")
            if index and index in (*around, *told):
                other = "one around it" if index in around else "the length of a sequence"
                raise NessieError(f"the position {index} has the name of {other}",
                                  *places(written.span, f"{index} is a position here"),
                                  hint="each has a name of its own: [i < n => [j < i + 1 => [float; j + 1]]]")
            check_part(element, (index, *around), told)
        case syntax.TypeFun(_, result):
            check_part(result, around, told)
        case syntax.TypePair(first, second):
            check_part(first, around, told)
            check_part(second, around, told)


def fits(written: syntax.TypeExp, type_: Type) -> bool:
    """Is the type the written one? A datatype's name may stand for any."""
    match written, type_:
        case syntax.TypeSeq(element), Seq(item):
            return fits(element, item)
        case syntax.TypePair(first, second), Pair(one, other):
            return fits(first, one) and fits(second, other)
        case syntax.TypeName(name), _:
            return type_ == Base(name) or name not in ("int", "float", "bool", "char")
    return False


def layout(written: syntax.TypeExp, type_: Type, around: tuple[str, ...] | None = None) -> ir.Layout:
    """Return the layout of values of this type; `around` is None on the host."""
    match written, type_:
        case syntax.TypeSeq(element), Seq(item):
            inside = layout(element, item, (written.index, *(around or ())))
            if around is None:
                return ir.SeqLayout(inside, name=bare(written.length))
            form = row_form(written, around)
            return ir.SeqLayout(inside, form.form, form.name, form.lengths)
        case syntax.TypePair(first, second), Pair(one, other):
            return ir.PairLayout(layout(first, one, around), layout(second, other, around))
    return layout_of(type_)
