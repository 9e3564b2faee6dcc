"""Solving a model through PuLP: HiGHS where it is installed, else the CBC that comes with PuLP.

Limits are numbers of branch-and-bound nodes, so that results do not depend on the machine; a clock is the backstop.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nessie.base.records import dataclass
from nessie.schedule.solver.bound.linear import available
from nessie.schedule.solver.model import Model

NODES = 2000                    # of the branch-and-bound tree
SECONDS = 2.1


class Infeasible(Exception):
    """No values fulfil the rows."""


@dataclass(frozen=True)
class Answer:
    """`bound`: no solution is better."""
    values: dict[str, float]
    bound: float


def solve_model(model: Model, solver: str = "highs", nodes: int = NODES, seconds: float = SECONDS,
                start: Mapping[str, float] | None = None) -> Answer | None:
    """The best solution found, or None if there is none within the limits or no solver that runs. `start`: the
    binary variables of a solution that is known."""
    try:
        import pulp
    except ImportError:
        return None
    scale = max(map(abs, model.objective.values()), default=1.0) or 1.0
    program = build(model, scale)
    engine = make_engine(solver, nodes, seconds, start or {})
    proved = False
    try:
        program.solve(engine)
    except pulp.PulpSolverError:
        return None
    except KeyError:              # PuLP knows no name for HiGHS's status when a limit of nodes is reached
        take_incumbent(program)
    else:
        proved = program.sol_status == pulp.LpSolutionOptimal
        if program.status == pulp.LpStatusInfeasible:
            raise Infeasible
        if not proved and program.sol_status != pulp.LpSolutionIntegerFeasible:
            return None
    values = {variable.name: variable.value() or 0.0 for variable in program.variables()}
    if not any(value > 0.5 for value in values.values()):
        return None
    value = sum(weight * values.get(name, 0.0) for name, weight in model.objective.items())
    return Answer(values, (value if proved else dual_bound(program) * scale) + model.constant)


def build(model: Model, scale: float) -> Any:
    """The model as a pulp.LpProblem; variables and rows in the model's order, the objective divided by `scale`."""
    import pulp

    program = pulp.LpProblem("schedule", pulp.LpMinimize)
    variables = {name: program.add_variable(name, 0, 1, cat="Binary") for name in model.binary}
    variables.update((name, program.add_variable(name, 0, 1)) for name in model.real)
    program.setObjective(pulp.LpAffineExpression(
        (variables[name], weight / scale) for name, weight in model.objective.items()))
    for row in model.rows:
        terms = [(variables[name], weight) for name, weight in row.terms.items()]
        if row.low is not None and row.low == row.high:
            program.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), pulp.LpConstraintEQ, rhs=row.low))
        elif row.low is not None:
            program.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), pulp.LpConstraintGE, rhs=row.low))
        elif row.high is not None:
            program.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), pulp.LpConstraintLE, rhs=row.high))
    return program


def make_engine(solver: str, nodes: int, seconds: float, start: Mapping[str, float]) -> Any:
    import pulp

    class StartedHiGHS(pulp.HiGHS):     # type: ignore[misc]
        """PuLP's HiGHS takes no solution to start from, so it is handed over between building and running."""

        def callSolver(self, lp: Any) -> None:
            given = [(variable.index, start[variable.name]) for variable in lp.variables() if variable.name in start]
            if given:
                indices, values = zip(*given, strict=True)
                lp.solverModel.setSolution(len(given), list(indices), list(values))
            super().callSolver(lp)

    if solver == "highs" and available():
        return StartedHiGHS(msg=False, gapRel=0.0, timeLimit=seconds, mip_max_nodes=nodes, random_seed=0)
    return pulp.PULP_CBC_CMD(msg=False, gapRel=0.0, timeLimit=seconds, maxNodes=nodes, threads=1)


def take_incumbent(program: Any) -> None:
    """Give the variables the values of the best solution that HiGHS has found so far."""
    values = program.solverModel.getSolution().col_value
    for variable in program.variables():
        variable.varValue = values[variable.index]


def dual_bound(program: Any) -> float:
    """The bound that the solver has proved; none, if it does not tell one."""
    engine = getattr(program, "solverModel", None)
    return float(engine.getInfo().mip_dual_bound) if engine is not None else 0.0
