"""Makes a choice between versions of a region's steps."""
from __future__ import annotations

from collections.abc import Collection, Sequence

from nessie.base.names import Names
from nessie.base.records import dataclass
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu import scope
from nessie.lambda_cu.check_choices import LAST
from nessie.lambda_cu.passes.sharing import rename_statement
from nessie.schedule.graph.regions import Region


@dataclass(frozen=True)
class Version:
    """Statements that compute what the region's steps do, for where the condition holds; the last has none."""
    name: str
    statements: Sequence[ir.Statement]
    condition: ir.Exp | None = None


def choice(region: Region, versions: Sequence[Version], names: Names) -> ir.Choose:
    """The choice between these versions, the last of which is for all else; `names` are the function's."""
    made = {p.name: p for s in versions[-1].statements for p in scope.results(s) if p.name != "_"}
    needed = {name for name in made if name in region.outside}
    needed |= {size for name in needed for size in scope.type_names(made[name].type) if size in made}
    results = tuple([param for name, param in made.items() if name in needed])
    runs, named = [s for s in versions[-1].statements if isinstance(s, ir.Run)], scope.names_version(results)
    origin = next((s.origin for s in runs if named in s.results), runs[0].origin if runs else ())
    cases = tuple([ir.Case(v.name, v.condition, block(v.statements, results, names)) for v in versions])
    assert cases[-1].name == LAST
    return ir.Choose(results, cases, origin=origin)


def block(statements: Sequence[ir.Statement], results: Sequence[ir.Param], names: Names) -> ir.Block:
    """The statements with names of their own."""
    renamed: dict[str, str] = {}
    for statement in statements:
        renamed.update((p.name, names.fresh(p.name)) for p in scope.results(statement) if p.name != "_")
    found = [rename_statement(statement, renamed) for statement in statements]
    return ir.Block(tuple(found), tuple([ir.Var(renamed.get(p.name, p.name)) for p in results]))


def has_version(function: ir.Function, names: Collection[str]) -> bool:
    """Does the function choose one of these versions already?"""
    return any(case.name in names for statement in scope.statements(function.body)
               if isinstance(statement, ir.Choose) for case in statement.cases)


def names_of(function: ir.Function) -> Names:
    """A supply of names for the function."""
    return Names([param.name for param in scope.bound(function)])


def atom(size: ir.Size) -> ir.Exp:
    """The size in a condition."""
    return ir.Var(size) if isinstance(size, str) else ir.Const(size, "int")
