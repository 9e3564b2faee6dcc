"""What Python programs are told of wrong arguments, options and programs: NessieErrors, each with what is wrong."""
from __future__ import annotations

import pickle
import re
from collections import UserString
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest

import nessie
from nessie.base.source import InternalError

PROGRAM = """
function sorted(a) = if #a < 2 then a else sort(a);
function norm(xs) : [float] -> float = sqrt(sum({x * x : x in xs}));
function forever(n) = if n < 0 then n else forever(n + 1);
function apply(g, x) = g(x);
function adder(x) = apply;
function pick(xs, i) = xs[i];
function same(x) = x;
function ints(xs) : [int] -> [int] = xs;
function scaled(v, by := 10, plus := 0) = {x * by + plus : x in v};
function rows(v) = {sum(r) : r in v};
function real(x) : float -> float = x;
function hello(name) = print_string("hello " ++ name);
datatype point(float, float);
datatype box([int], (int, float));
"""


class Tensor:
    """What PyTorch's tensors are to Nessie: on the CPU arrays of NumPy's, unless a gradient is computed for them."""

    def __init__(self, values: Any, gpu: bool = False, gradient: bool = False) -> None:
        self.values, self.gpu, self.gradient = np.asarray(values), gpu, gradient

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def item(self) -> Any:
        return self.values.item()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if not self.gpu:
            raise AttributeError("Can't get __cuda_array_interface__ on non-CUDA tensor")
        if self.gradient:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad")
        return {"shape": self.shape, "typestr": self.values.dtype.str, "version": 2,
                "data": (self.values.ctypes.data, False), "strides": None}

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.gpu or self.gradient:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad")
        return self.values


def holds_itself(times: int) -> list[Any]:
    found: list[Any] = []
    found += [found] * times
    return found


def deep(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def in_a_tuple() -> list[Any]:
    found: list[Any] = []
    found.append((1, found))
    return found


def no_text(kind: str = "U1") -> np.ndarray[Any, Any]:
    """An array of texts that has a code of no character."""
    return np.array([0x7fffffff] * int(kind[-1]), np.uint32).view(kind)


def broken(offsets: list[int]) -> ak.Array:
    return ak.Array(ak.contents.ListOffsetArray(ak.index.Index64(np.array(offsets)),
                                                ak.contents.NumpyArray(np.arange(2))))


def broken_rows(starts: list[int], stops: list[int]) -> ak.Array:
    return ak.Array(ak.contents.ListArray(ak.index.Index64(np.array(starts)), ak.index.Index64(np.array(stops)),
                                          ak.contents.NumpyArray(np.arange(2))))


@cache
def program() -> nessie.Program:
    return nessie.compile(PROGRAM, name="p.nesl")


ERRORS: list[tuple[Callable[[nessie.Program], Any], str]] = [
    (lambda p: p.sorted(3), r"error: sorted takes \[a\] :: \(a in number\), but gets int"),
    (lambda p: p.sorted([True]), r"sorted is not for \[bool\]: sorted takes \[a\] :: \(a in number\)"),
    (lambda p: p.norm([1], 2), r"norm takes \[float\], but gets .*\nhint: norm takes 1 argument, and gets 2"),
    (lambda p: p.pick([1]), r"pick takes \[a\], int .*hint: pick takes 2 arguments, and gets 1"),
    (lambda p: p.norm(), r"norm takes \[float\], here is no argument\n --> p.nesl:3:1"),
    (lambda p: p.norm(["a"]), r"norm takes \[float\], but gets \[\[char\]\]"),
    (lambda p: p.norm([[]]), r"norm takes \[float\], but gets \[\[int\]\]"),
    (lambda p: p.apply(1, 2), r"apply takes .*: a function cannot come from outside"),
    (lambda p: p.adder(2), "what adder gives is .*: a function cannot leave the program"),
    (lambda p: p.pick([1, 2], 5), r"out of bounds.*p.nesl:7:"),
    (lambda p: p.sorted([1, "a"]), "elements of a list differ: there are int and str"),
    (lambda p: p.sorted([1, [2]]), "elements of a list differ: there are int and list"),
    (lambda p: p.same([(1, 2), (1, 2, 3)]), "one length, not 2 and 3"),
    (lambda p: p.same(()), "a tuple of 0 components"),
    (lambda p: p.same(object()), "an object is no value of NESL"),
    (lambda p: p.same([object()]), "an object is no value of NESL"),
    (lambda p: p.same(b"abc"), r"a bytes is no value of NESL\nhint: x.decode\(\) makes a text of bytes"),
    (lambda p: p.same(np.array([b"ab"])), r"an array of \|S2 is no value of NESL\nhint: np.char.decode\(x, 'utf-8"),
    (lambda p: p.same(2**63), "beyond 64 bits"),
    (lambda p: p.same([2**63]), "beyond 64 bits"),
    (lambda p: p.same(np.array([2**63], np.uint64)), "beyond 64 bits"),
    (lambda p: p.same(np.array([1j])), "complex128 is no value"),
    (lambda p: p.same(np.array(["2020"], "M8[Y]")), "is no value"),
    (lambda p: p.same(p.point("a", "b")), r"point takes float, float, but gets \[char\], \[char\]"),
    (lambda p: p.same(ak.Array([1, None])), "missing values in an Awkward array\nhint: ak.drop_none"),
    (lambda p: p.same(ak.Array([1, [2]])), "differ in type"),
    (lambda p: p.srted([1]), "defines no srted\nhint: did you mean sorted?"),
    (lambda p: p.sum([1]), "sum is of the library"),
    (lambda p: p.norm([1], target="tpu"), "there is no target tpu"),
    (lambda p: p.sorted.kernels(), "has kernels at given types only"),
    (lambda p: nessie.Tuples([1], [1, 2]), "of one length, not of 1 and 2"),
    (lambda p: nessie.Tuples([1]), "two components at least"),
    (lambda p: nessie.compile("function g(x) = ;"), "syntax error"),
    (lambda p: nessie.compile("function g(x) = x;", target="tpu"), "there is no target tpu"),
    (lambda p: nessie.compile("function g(n) = g(n + 1) + 1;", depth=100).g(1),
     "deeper than 100.*hint: does it end\\? depth sets"),
    (lambda p: nessie.compile("function g(n) = [0:n];", memory=10_000).g(10**6),
     "out of memory.*hint: memory sets the limit"),
    (lambda p: nessie.compile(PROGRAM, seconds=0.2).forever(1), "longer than 0.2 s.*seconds sets the limit"),
    # NumPy
    (lambda p: p.same(np.ma.array([1, 2, 3], mask=[0, 1, 0])), "elements of an array are masked"),
    (lambda p: p.same(np.ma.array([(1, 2.0)], mask=[(0, 1)], dtype=[("a", "i8"), ("b", "f8")])), "are masked"),
    (lambda p: p.same(np.ma.masked), "are masked"),
    (lambda p: p.same([np.ma.masked]), "are masked"),
    (lambda p: p.same(np.array(["a", "", "b"])), "holds an empty text"),
    (lambda p: p.same(np.complex128(1j)), "a complex is no value"),
    (lambda p: p.same([np.complex128(1j)]), "a complex128 is no value"),
    (lambda p: p.same(np.datetime64("2020-01-01")), "a date is no value"),
    (lambda p: p.same([np.array(1j)]), "a complex is no value"),
    (lambda p: p.same(np.void(b"ab")), "is no value"),
    # Awkward and Arrow
    (lambda p: p.same(broken([0, 50])), "rows lie outside of their content"),
    (lambda p: p.same(broken([-1, 1])), "rows lie outside of their content"),
    (lambda p: p.same(broken([0, 2, 1])), "never fall"),
    (lambda p: p.same(broken_rows([0], [3])), "rows lie outside of their content"),
    (lambda p: p.same(broken_rows([-1], [1])), "rows lie outside of their content"),
    (lambda p: p.same(broken_rows([2], [1])), "rows lie outside of their content"),
    (lambda p: p.same(ak.Array(ak.contents.IndexedArray(ak.index.Index64(np.array([7])),
                                                        ak.contents.NumpyArray(np.arange(2))))), "is broken"),
    (lambda p: p.ints(ak.Array(["a", "b"])), r"ints takes \[int\], but gets \[\[char\]\]"),
    (lambda p: p.same(ak.Array(["a"]).layout), "no sequence"),
    (lambda p: p.same(pa.scalar(3)), r"an Int64Scalar of Arrow's is no sequence\nhint: .*as_py"),
    (lambda p: p.same([pa.scalar(3)]), "an Int64Scalar is no value"),
    (lambda p: p.same(ak.Array([{"x": 1, "y": 2}])[0]), "a Record of Awkward's is no sequence"),
    (lambda p: p.same(pa.array([None, 1])), r"in an Int64Array of Arrow's\nhint: x.drop_null\(\).*fill_null"),
    (lambda p: p.same(pa.array([[None]])), r"missing values inside a ListArray of Arrow's\nhint: ak.drop_none"),
    (lambda p: p.same(pa.table({"a": [1, None], "b": [1, 2]})), r"in a Table of Arrow's\nhint: x.drop_null\(\)[^,]*$"),
    (lambda p: p.same(pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))), "nothing for a MapArray of type map<"),
    (lambda p: p.same(pa.array([Decimal("1.5")])), "nothing for a Decimal128Array of type decimal128"),
    (lambda p: p.same(pa.array([1], pa.timestamp("s"))), "datetime64.* is no value of NESL"),
    (lambda p: p.same(pa.table({"a": [1]})), "a tuple of 1 component is nothing"),
    (lambda p: p.same(pa.array([[1]], pa.list_view(pa.int64()))), "nothing for a ListViewArray of type list_view"),
    (lambda p: p.same(pa.array(["a"], pa.string_view())), "nothing for a StringViewArray of type string_view"),
    # PyTorch, and others that have arrays
    (lambda p: p.norm(Tensor([1.0], gradient=True)), "a Tensor gives no array of NumPy's: Can't call"),
    (lambda p: p.norm(Tensor([1.0], gpu=True, gradient=True)), "Tensor: Can't get __cuda_array_interface__"),
    (lambda p: p.same([Tensor([1.0], gpu=True)]), "a list of arrays on a GPU"),
    (lambda p: p.same([Tensor([1.0]), Tensor([1.0], gradient=True)]), "a Tensor gives no array"),
    # Python's
    (lambda p: p.real(10**400), "beyond what a float holds"),
    (lambda p: p.norm([10**400]), "beyond what a float holds"),
    (lambda p: p.same(10**5000), "an integer is beyond 64 bits"),
    (lambda p: p.same(holds_itself(1)), "holds itself"),
    (lambda p: p.same(holds_itself(2)), "holds itself"),
    (lambda p: p.same(in_a_tuple()), "holds itself"),
    (lambda p: p.same(deep(3000)), "nested more than 100 deep"),
    (lambda p: p.same(UserString("a")), "a UserString is no value"),
    (lambda p: p.same([UserString("a")]), "a UserString is no value"),
    (lambda p: p.same([b"ab"]), "a bytes is no value"),
    (lambda p: p.same([{1: 2}]), r"a dict is no value.*hint: .*tuple\(d.values\(\)\)"),
    (lambda p: p.same([None]), "a NoneType is no value"),
    (lambda p: p.pick([1], j=0), r"pick has no parameter j\n --> p.nesl:7:1.*hint: it has xs, i"),
    (lambda p: p.pick(i=0), r"pick is not given xs\n --> p.nesl:7:1"),
    (lambda p: p.scaled([1], pus=0), r"scaled has no parameter pus.*hint: did you mean plus\?"),
    (lambda p: p.scaled.explain([1]), "need all 3 parameters.* arguments for 1\nhint: give by, plus"),
    (lambda p: p.scaled([1], v=0), "v of scaled is given twice.*hint: it is argument 1"),
    (lambda p: p.scaled([1], 2, by=3), "by of scaled is given twice.*hint: it is argument 2"),
    (lambda p: p.scaled(by=3), "scaled is not given v"),
    (lambda p: p.scaled([1], plus=object()), "argument plus: an object is no value"),
    (lambda p: p.point(1.0), r"point takes \(?float, float\)?, but gets 1 component\b.*p.nesl:14"),
    (lambda p: p.point(1.0, 2.0, 3.0), "but gets 3 components"),
    (lambda p: p.box([1], 2), "but gets 2 components"),
    # Nested and Tuples
    (lambda p: nessie.Nested([0, 1], 5), "the content of a Nested is a sequence, not an int"),
    (lambda p: nessie.Nested([0, 1], np.array(5)), "is a sequence, not a ndarray"),
    (lambda p: nessie.Nested([0, 1], [1, "a"]), "of one type that NESL has, not int and str"),
    (lambda p: nessie.Nested([0, 1], [None]), "of one type that NESL has, not NoneType"),
    (lambda p: nessie.Nested([0, 1], holds_itself(1)), "holds itself"),
    (lambda p: nessie.Nested([[0], [1, 2]], [1]), "one-dimensional array of integers"),
    (lambda p: nessie.Tuples([1], 5), "a component of Tuples is a sequence, not an int"),
    (lambda p: nessie.as_awkward(p.same(["\ud800"])), "a text is no UTF-8.*surrogates"),
    (lambda p: p.same(no_text()), "argument 1: an array of texts has the code 2147483647, which is no character's"),
    (lambda p: p.same(nessie.Nested([0, 1], no_text())), "an array of texts has the code 2147483647"),
    (lambda p: p.same([no_text("U1"), no_text("U1")]), "an array of texts has the code 2147483647"),
    (lambda p: p.same(no_text(">U2")), "an array of texts has the code"),
    (lambda p: p.same(nessie.Tuples(no_text(), [1])), "an array of texts has the code 2147483647"),
    (lambda p: p.same([np.ma.array([1], mask=[True])]), "elements of an array are masked"),
    # Options, and programs
    (lambda p: nessie.compile("", threads="x"), r"threads is a whole number from 1 to 10\^18, not 'x'"),  # type: ignore
    (lambda p: nessie.compile("", threads=-1), r"threads is a whole number from 1 to 10\^18, not -1"),
    (lambda p: nessie.compile("", target="dask", workers="2"),                                        # type: ignore
     "workers is a whole number from 1 to 256, not '2'"),
    (lambda p: nessie.compile("", seconds=True), r"seconds is a number of seconds up to .*, not True"),
    (lambda p: nessie.compile("", unchecked="no"), "unchecked is True or False, not 'no'"),           # type: ignore
    (lambda p: p.same.explain([1], target=[]), r"there is no target \[\]; the targets are cpu"),
    (lambda p: nessie.read(5), "the path of a file is a str, not an int"),                            # type: ignore
    (lambda p: nessie.compile("", memory=-1), r"memory is a number of bytes up to 10\^18, such as 5000, .*, not -1"),
    (lambda p: nessie.compile("", memory="2X"), r"memory is a number of bytes up to .*, not '2X'"),
    (lambda p: nessie.compile("", memory="0"), r"memory is a number of bytes up to .*, not '0'"),
    (lambda p: nessie.compile("", memory=True), r"memory is a number of bytes up to .*, not True"),
    (lambda p: nessie.compile("", memory=1.5), r"memory is a number of bytes up to .*, not 1.5"),     # type: ignore
    (lambda p: nessie.read("none.txt", memory="much"), r"memory is a number of bytes up to .*, not 'much'"),
    (lambda p: nessie.compile("function g(n) = [0:n];", memory="10k").g(10**6),
     "out of memory: .* of 10,240 are in use.*hint: memory sets the limit"),
    (lambda p: p.same.at("[[a]]"), r"there is no type a.*hint: give a type without variables: \[\[int\]\], say"),
    (lambda p: nessie.read("none.txt", "(a, [b])"), r"hint: give a type without variables: \(int, \[int\]\), say"),
    (lambda p: nessie.compile("", depth=0), "depth is a whole number from 1 to"),
    (lambda p: nessie.compile("", depth="x"), "depth is a whole number from 1 to .*, not 'x'"),     # type: ignore
    (lambda p: nessie.compile("", seconds="x"), "seconds is a number of seconds up to .* not 'x'"),         # type: ignore
    (lambda p: nessie.compile("", seconds=float("nan")), "seconds is a number of seconds up to"),
    (lambda p: nessie.compile("", seconds=1e308), "seconds is a number of seconds up to"),
    (lambda p: nessie.compile("", memory=10**19), "memory is a number of bytes up to"),
    (lambda p: nessie.compile("", seed="x"), "seed is a whole number of 64 bits"),                    # type: ignore
    (lambda p: nessie.compile("", seed=2**63), "seed is a whole number of 64 bits"),
    (lambda p: nessie.compile(None), "a program is a str, not a NoneType"),                           # type: ignore
    (lambda p: nessie.load(3), "the path of a program is a str, not an int"),                         # type: ignore
    (lambda p: nessie.load(b"/none.nesl"), "cannot read /none.nesl"),                                 # type: ignore
    (lambda p: p.define(None), "a program is a str, not a NoneType"),
    (lambda p: p.norm.explain(target="tpu"), "there is no target tpu"),
    (lambda p: p.norm.graph(type=3), "a type is a str, not an int"),
    (lambda p: p.norm.stages().save("/none/x"), "/none/x: No such file"),
    (lambda p: p[3], "a name is a str, not an int"),
    (lambda p: p.point(1.0, x=2.0), "but gets 2 components"),
    (lambda p: p.norm.graph(target="tpu"), "there is no target tpu"),
    (lambda p: p.norm.kernels(target="tpu"), "there is no target tpu"),
    (lambda p: p.norm.stages(target="tpu"), "there is no target tpu"),
    (lambda p: pickle.dumps(p), "a program can neither be pickled nor copied"),
    (lambda p: pickle.dumps(p.norm), "the function norm can neither be pickled nor copied"),
]


@pytest.mark.parametrize(("work", "said"), ERRORS, ids=[said[:40] for _, said in ERRORS])
def test_errors(work: Callable[[nessie.Program], Any], said: str) -> None:
    with pytest.raises(nessie.NessieError) as caught:
        work(program())
    assert re.search(said, str(caught.value), re.DOTALL), str(caught.value)
    assert str(caught.value).startswith("error: ") and caught.value.message in str(caught.value)


def test_an_error_has_a_place() -> None:
    with pytest.raises(nessie.NessieError) as caught:
        program().pick([1], 4)
    assert caught.value.span is not None and caught.value.span.source.name == "p.nesl"
    with pytest.raises(nessie.NessieError) as caught:
        program().norm("a")
    assert caught.value.span is None


def test_a_mistake_of_nessie_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise InternalError("a pass is broken")
    monkeypatch.setattr("nessie.api.calls.Calls.at_types", broken)
    with pytest.raises(nessie.NessieError, match="a pass is broken") as caught:
        program().norm([1])
    assert "This is a mistake in Nessie" in str(caught.value)


def test_errors_do_not_show_where_in_nessie_they_were_raised() -> None:
    with pytest.raises(nessie.NessieError) as caught:
        program().pick([1], 4)
    files = [entry.path.name for entry in caught.traceback if "nessie" in entry.path.parts[-3:]]
    assert len(files) <= 2




# What is right after all -------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "expected"), [
    ([np.array(1), np.int64(2)], [1, 2]),
    (np.array([(1, 2.5)], [("a", "i8"), ("b", "f8")])[0], (1, 2.5)),
    (list(np.array([(1, 2.5), (3, 4.5)], [("a", "i8"), ("b", "f8")])), [(1, 2.5), (3, 4.5)]),
    (Tensor([1.5, 2.5]), [1.5, 2.5]), (Tensor(3), 3), ([Tensor(3)], [3]),
    ([Tensor([1]), Tensor([2, 3])], [[1], [2, 3]]),
    (np.ma.array([1, 2]), [1, 2]), ({7}, [7]), (memoryview(np.arange(2)), [0, 1]),
    (nessie.Nested([0, 1, 2], [[1], [2, 3]]), [[[1]], [[2, 3]]]), (nessie.Nested([0, 2], [(1, "a"), (2, "b")]),
                                                                   [[(1, "a"), (2, "b")]]),
    (nessie.Nested([0, 2], ["ab", ""]), [["ab", ""]]), (nessie.Nested([0, 2], ["a", "b"]), ["ab"]),
    (nessie.Tuples([1, 2], [[1], [2, 3]]), [(1, [1]), (2, [2, 3])]),
])
def test_what_only_looks_wrong(given: Any, expected: Any) -> None:
    result = program().same(given)
    assert (result.to_list() if hasattr(result, "to_list") else
            result.tolist() if isinstance(result, np.ndarray) else result) == expected


def test_awkward_rows_that_have_nothing_missing() -> None:
    rows = ak.Array([[1], [None], [3]])[[0, 2]]
    assert type(rows.layout).__name__ == "ListArray" and program().same(rows).to_list() == [[1], [3]]
    inner = ak.Array([[[1], [2]], [[None]], [[3]]])[[2, 0]]
    assert program().same(inner).to_list() == [[[3]], [[1], [2]]]
    empty = broken_rows([0, 9], [2, 9])
    assert ak.validity_error(empty) == "" and program().same(empty).to_list() == [[0, 1], []]


def test_integers_beyond_64_bits_where_a_float_is_due() -> None:
    beyond = np.array([2**63], np.uint64)
    assert program().norm(beyond) == program().norm([2**63]) == 2.0**63 == program().real(2**63)


def test_a_tuple_at_the_end_is_part_of_a_datatypes_value() -> None:
    box = program().box
    assert box([1], (1, 2.0)) == box([1], 1, 2.0) == box([1], _1=1, _2=2.0) == ([1], 1, 2.0)
    assert program().same(box([1], (1, 2.0)))[1:] == (1, 2.0)


@pytest.mark.parametrize("given", [[], [[], []], [[]], [([], 1)]])
def test_an_empty_list_is_of_ints_where_nothing_says_of_what(given: Any) -> None:
    assert program().same(given).to_list() == given if given else program().same(given).dtype == np.int64


@pytest.mark.parametrize("value", ["sqrt", "(1, sqrt)", "[sqrt]", "one_of(sqrt)", "[(1, one_of([sqrt]))]"])
def test_a_function_in_a_value_cannot_leave_the_program(value: str) -> None:
    program = nessie.compile(f"datatype one_of(a) :: (a in any); held = {value}; function give(n) = {value};")
    for work, what in ((lambda: program.held, "held"), (lambda: program.give(1), "what give gives")):
        with pytest.raises(nessie.NessieError, match=f"{what} is .*: a function cannot leave the program"):
            work()


@pytest.mark.parametrize("given", [np.zeros(1000, np.float16), np.zeros((1000, 2))[:, 0], [0.5] * 1000, ["ab"] * 1000,
                                   [np.zeros(500), np.zeros(500)], [[0.5] * 500, [0.5] * 500]])
def test_copies_of_arguments_count(given: Any) -> None:
    limited = nessie.compile("function size(v) = #v;", memory=7900)
    with pytest.raises(nessie.NessieError, match=r"argument 1: out of memory: .* of 7,900 are in use\nhint: memory"):
        limited.size(given)
    assert limited.size(np.zeros(10_000)) == 10_000          # the caller's own
    assert nessie.compile("function size(v) = #v;", memory=40_000).size(given) == len(given)
    with pytest.raises(nessie.NessieError, match="of 20,000 are in use"):
        nessie.compile("function twice(v) = {x + x : x in v} ++ v;", memory=20_000).twice(np.zeros(1000, np.float16))
