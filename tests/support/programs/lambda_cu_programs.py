"""Random lambda_cu programs for tests: any shape that the form allows, well typed or not."""
from __future__ import annotations

from hypothesis import strategies as st

from nessie.base.source import Source, Span
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.ops import ROWS

names = st.one_of(st.sampled_from(["x", "xs", "n", "sum_1", "let", "float", "f^", "max", "_", "data", "total", "view",
                                   "uniform"]),
                  st.text(st.characters(exclude_characters="`\n"), min_size=1, max_size=4))
scalars = st.sampled_from(["int", "float", "bool", "char"])
sizes = st.one_of(names, st.integers(-9, 2 ** 63 - 1))
types = st.one_of(scalars, st.builds(ir.Array, scalars, sizes, st.integers(0, 1)))
params = st.builds(ir.Param, names, types)
constants = st.one_of(
    st.builds(ir.Const, st.integers(-2 ** 63, 2 ** 63 - 1), st.just("int")),
    st.builds(ir.Const, st.floats(allow_nan=False), st.just("float")),
    st.builds(ir.Const, st.booleans(), st.just("bool")),
    st.builds(ir.Const, st.characters(codec=None), st.just("char")))


def tuples(items: st.SearchStrategy, low: int = 0, high: int = 3) -> st.SearchStrategy:
    return st.lists(items, min_size=low, max_size=high).map(tuple)


def larger(exps: st.SearchStrategy) -> st.SearchStrategy:
    operators = [st.builds(ir.Op, st.just(row.name), tuples(exps, row.arity, row.arity)) for row in ROWS]
    return st.one_of(
        st.one_of(operators), st.builds(ir.Read, names, exps), st.builds(ir.If, exps, exps, exps),
        st.builds(ir.Let, tuples(names, 1), exps, exps), st.builds(ir.Tuple, tuples(exps)),
        st.builds(ir.Fold, names, exps, tuples(names, 1), exps, exps),
        st.builds(ir.CallScalar, names, tuples(exps)))


expressions = st.recursive(st.one_of(constants, st.builds(ir.Var, names), st.builds(ir.Fail, names, scalars)), larger,
                           max_leaves=30)
small = st.recursive(st.one_of(constants, st.builds(ir.Var, names)), larger, max_leaves=4)
thunks = st.builds(ir.Thunk, tuples(names), small, tuples(names))
terms = st.one_of(st.builds(ir.Binomial, sizes, tuples(sizes, 1), st.booleans()),
                  st.builds(ir.Floor, sizes, sizes, sizes, st.integers(0, 9)))
rows = st.one_of(st.builds(ir.Uniform, sizes, sizes, sizes), st.builds(ir.Closed, sizes, tuples(terms, 1), sizes))
spaces = st.one_of(st.builds(ir.Flat, sizes), rows, st.builds(ir.Irregular, sizes, names, sizes),
                   st.builds(ir.Nested, rows, tuples(terms, 1), tuples(terms, 1), sizes))
soacs = st.one_of(
    st.builds(ir.Map, thunks, spaces), st.builds(ir.Reduce, thunks, tuples(small), thunks, spaces),
    st.builds(ir.Scan, thunks, tuples(small), thunks, spaces, st.booleans()),
    st.builds(ir.Filter, thunks, thunks, spaces), st.builds(ir.Partition, thunks, thunks, spaces),
    st.builds(ir.Permute, thunks, thunks, spaces, sizes, tuples(small), st.sampled_from(["distinct", "all", "last"])),
    st.builds(ir.ReduceByIndex, thunks, thunks, tuples(small), thunks, spaces, sizes, tuples(small)),
    st.builds(ir.Once, thunks), st.builds(ir.Order, thunks, spaces, st.booleans(), st.booleans(), st.booleans()))
kernels = st.builds(ir.Kernel, names, tuples(params), tuples(st.builds(ir.Bind, tuples(names, 1), soacs)),
                    tuples(names))
atoms = st.one_of(st.builds(ir.Var, names), constants)


def data(base: str) -> st.SearchStrategy:
    values = constants.filter(lambda constant: constant.type == base).map(lambda constant: constant.value)
    return st.builds(ir.Data, st.builds(ir.Param, names, st.builds(ir.Array, st.just(base), sizes)), tuples(values))


layouts = st.recursive(st.builds(ir.ScalarLayout, scalars), lambda inner: st.one_of(
    st.builds(ir.PairLayout, inner, inner),
    st.builds(ir.SeqLayout, inner, st.sampled_from(["dense", "view", "uniform"]))), max_leaves=4)
simple_statements = st.one_of(
    st.builds(ir.Run, tuples(params), names, tuples(atoms)), st.builds(ir.Call, tuples(params), names, tuples(atoms)),
    st.builds(ir.Effect, tuples(params), names, tuples(atoms), layouts, layouts),
    st.builds(ir.HostLet, params, small), data("int"), data("char"))


def blocks(statements: st.SearchStrategy) -> st.SearchStrategy:
    return st.builds(ir.Block, tuples(statements), tuples(atoms))


statements = st.recursive(
    simple_statements, lambda s: st.builds(ir.Branch, tuples(params), atoms, blocks(s), blocks(s)), max_leaves=4)
functions = st.builds(ir.Function, names, tuples(params), tuples(params), blocks(statements))
spans = st.builds(lambda name, library, start: Span(Source(name, "", library), start, start + 3),
                  st.text(max_size=4), st.booleans(), st.integers(0, 99))
programs = st.builds(
    ir.Program, tuples(st.builds(ir.Site, names, st.text(max_size=5), origin=tuples(spans, 0, 2))),
    tuples(st.builds(ir.ScalarFunction, names, tuples(params), tuples(scalars, 1), small), 0, 2),
    tuples(kernels, 0, 2), tuples(functions, 0, 2), st.builds(ir.Entry, names, tuples(layouts), layouts))
