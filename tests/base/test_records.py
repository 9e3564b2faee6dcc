"""Our dataclass does what the standard library's does, as far as Nessie uses it."""
from __future__ import annotations

import ast
import dataclasses
import math
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest
from paths import ROOT

from nessie.base import records
from nessie.lambda_cu import nodes as ir

BOTH = pytest.mark.parametrize("dataclass", [dataclasses.dataclass, records.dataclass])


def classes(dataclass: Callable[..., Any]) -> tuple[type, type, type]:
    @dataclass(frozen=True)
    class Node:
        """What is written."""
        name: str
        parts: tuple[Any, ...] = ()
        span: object = dataclasses.field(default=None, compare=False)
        notes: list[str] = dataclasses.field(default_factory=list, repr=False, compare=False)

    @dataclass
    class Changed:
        count: int = 0

    @dataclass(frozen=True, eq=False)
    class Apart:
        value: float

        def __post_init__(self) -> None:
            assert self.value >= 0

    return Node, Changed, Apart


@BOTH
def test_values_come_in_order_or_by_name(dataclass: Callable[..., Any]) -> None:
    Node, _, Apart = classes(dataclass)
    node = Node("a", span=3, parts=(1,))
    assert (node.name, node.parts, node.span, node.notes) == ("a", (1,), 3, [])
    assert Node("a").notes is not Node("a").notes
    for wrong in (lambda: Node(), lambda: Node("a", other=1), lambda: Node("a", (), 0, [], 5)):
        with pytest.raises(TypeError, match=r"Node\.__init__\(\)"):
            wrong()
    with pytest.raises(AssertionError):
        Apart(-1)


@BOTH
def test_objects_are_compared_by_their_fields(dataclass: Callable[..., Any]) -> None:
    Node, Changed, Apart = classes(dataclass)
    assert Node("a", (1, 2), span=1) == Node("a", (1, 2), span=2) != Node("a", (1, 3), span=1)
    assert hash(Node("a", span=1)) == hash(Node("a", span=2))
    assert len({Node("a"), Node("a", span=1), Node("b")}) == 2
    assert Node("a") != "a"
    one = Apart(1)
    assert one == one != Apart(1)
    assert len({one, Apart(1)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Changed())


@BOTH
def test_one_field_is_compared_as_several_are(dataclass: Callable[..., Any]) -> None:
    """An object is equal to itself, though its field is not: as tuples are compared, and until Python 3.12 fields."""
    @dataclass(frozen=True)
    class Number:
        value: float

    @dataclass(frozen=True)
    class Nothing:
        pass

    assert dataclass is not records.dataclass or Number(math.nan) == Number(math.nan)
    assert Nothing() == Nothing() != Number(0)
    assert hash(Nothing()) == hash(Nothing())


@BOTH
def test_objects_show_their_fields(dataclass: Callable[..., Any]) -> None:
    Node, _, _ = classes(dataclass)
    where = "classes.<locals>."
    assert repr(Node("a", span=Node("b"))) == \
        f"{where}Node(name='a', parts=(), span={where}Node(name='b', parts=(), span=None))"
    assert dataclasses.replace(Node("a", (1,)), name="b") == Node("b", (1,))
    match Node("a", (1,)):
        case Node(name, (part,)):
            assert (name, part) == ("a", 1)
        case _:
            raise AssertionError


@BOTH
def test_an_object_within_itself_is_shown(dataclass: Callable[..., Any]) -> None:
    @dataclass
    class Link:
        to: Any = None

    link = Link()
    link.to = link
    assert repr(link).endswith("Link(to=...)")


@BOTH
def test_methods_of_the_class_stay(dataclass: Callable[..., Any]) -> None:
    @dataclass(frozen=True)
    class Word:
        text: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Word) and self.text.lower() == other.text.lower()

        def __hash__(self) -> int:
            return hash(self.text.lower())

        def __repr__(self) -> str:
            return self.text

    assert len({Word("a"), Word("A")}) == 1
    assert repr(Word("a")) == "a"


def test_all_classes_are_made_so() -> None:
    """But those which users hold, whom nothing but an error keeps from changing them."""
    found = set[str]()
    for package in ("nessie", "lambda_cu", "flatten", "schedule", "cudagen"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if (isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
                        and "dataclass" in [alias.name for alias in node.names]) \
                        or (isinstance(node, ast.Import) and "dataclasses" in [alias.name for alias in node.names]):
                    found.add(str(path.relative_to(ROOT)))
    assert {name for name in found if not name.startswith("nessie/api/")} == {"nessie/base/records.py"}


def test_a_hash_is_kept_in_this_process_only() -> None:
    asked: list[int] = []

    class Counted:
        def __hash__(self) -> int:
            asked.append(1)
            return 7

    @records.dataclass(frozen=True)
    class Kept(records.KeepsHash):
        value: object

    kept = Kept(Counted())
    assert hash(kept) == hash(kept) == hash(Kept(kept.value)) and len(asked) == 2
    assert kept.__getstate__() == {"value": kept.value} and kept == Kept(kept.value)
    assert hash(dataclasses.replace(kept, value=1)) == hash(Kept(1)) != hash(kept)


def test_a_tree_is_hashed_once() -> None:
    """And not by the hashes of the process that wrote it."""
    tree = ir.Op("+", (ir.Read("xs", ir.Var("i")), ir.Const(1, "int")))
    text = pickle.dumps(tree)
    hash(tree)
    assert pickle.dumps(tree) == text and pickle.loads(text) == tree and hash(pickle.loads(text)) == hash(tree)


def test_no_exception_is_handled_while_parts_are_hashed() -> None:
    """Each that is raised then would know all around it: a tree of n levels would take n squared."""
    class Leaf:
        def __hash__(self) -> int:
            assert sys.exc_info() == (None, None, None)
            return 7

    @records.dataclass(frozen=True)
    class Kept(records.KeepsHash):
        value: object

    assert hash(Kept(Kept(Leaf()))) == hash(Kept(Kept(Leaf())))
