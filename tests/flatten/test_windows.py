"""Windows, blocks and borders: each rule in one and two dimensions, for all small sizes and radii, and what fails."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from executors import Compiled, Failed, agree, outcome, same

from nessie.cudagen.cuda.cudasim import compiler
from nessie.cudagen.skeletons.cpu import interiors
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.parts import subexpressions
from nessie.lambda_cu.scope import soac_can_fail, space_of

Rule = Callable[[int, int], int]
SIZES, RADII = range(7), range(5)


@pytest.fixture(autouse=True)
def interiors_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU walks interiors of any size."""
    monkeypatch.setattr(interiors, "FEW", 1)


def bounced(i: int, n: int) -> int:
    """Where a ball is that goes back at both ends, each of which it meets twice."""
    at, step = 0, 1
    for _ in range(i if i >= 0 else -i - 1):
        if not 0 <= at + step < n:
            step = -step
        else:
            at += step
    return at


RULES: dict[str, Rule] = {
    "clamp": lambda i, n: 0 if i < 0 else n - 1 if i >= n else i,
    "wrap": lambda i, n: i - n * (i // n),
    "mirror": bounced,
    "((i, n) => if i < 0 then 0 else if i >= n then 0 else i)": lambda i, n: i if 0 <= i < n else 0,
}


def padded(v: list[Any], r: int, rule: Rule) -> list[Any]:
    return [v[rule(i - r, len(v))] for i in range(len(v) + 2 * r)]


def windows(v: list[Any], size: int, step: int = 1) -> list[list[Any]]:
    return [v[i:i + size] for i in range(0, len(v), step) if i + size <= len(v)]


def fails(found: Any, message: str) -> bool:
    return isinstance(found, Failed) and message in found.message


def everywhere(source: str) -> Callable[..., Any]:
    """A call of the program on every executor, which agree, a simulated GPU among them."""
    program = Compiled(source)
    gpu = Compiled(source, target="cuda") if compiler.found() else None

    def call(*arguments: Any) -> Any:
        found = same(program, *arguments)
        assert gpu is None or agree(found, outcome(gpu, "cudasim ilp", list(arguments)))
        return found
    return call


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_in_one_dimension(rule: str) -> None:
    call = everywhere("function main(v, r) : ([int], int) -> [int] = "
                      f"{{sum(w) : w in slide(pad(v, r, r, {rule}), 2 * r + 1, 1)}};")
    for n in SIZES:
        for r in RADII:
            v = [i * i + 1 for i in range(n)]
            found = call(v, r)
            if n == 0 and r > 0:
                assert fails(found, "PAD has no elements to put around an empty sequence")
            else:
                assert found == [sum(w) for w in windows(padded(v, r, RULES[rule]), 2 * r + 1)]


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_in_two_dimensions(rule: str) -> None:
    call = everywhere("function main(m, r) : ([[int]], int) -> [[int]] = "
                      f"{{{{sum({{sum(row) : row in w}}) : w in ws}} "
                      f": ws in slide2(pad2(m, r, r, {rule}), 2 * r + 1, 1)}};")
    for n in SIZES:
        for r in RADII:
            c = (3 * n + 1) % 7
            m = [[i * 10 + j * j for j in range(c)] for i in range(n)]
            found = call(m, r)
            if r > 0 and (n == 0 or c == 0):
                assert fails(found, "PAD has no elements to put around an empty sequence")
                continue
            around = padded([padded(row, r, RULES[rule]) for row in m], r, RULES[rule])
            columns = [list(zip(*[windows(row, 2 * r + 1) for row in rows], strict=True))
                       for rows in windows(around, 2 * r + 1)]
            assert found == [[sum(map(sum, w)) for w in ws] for ws in columns]


READS = {rule: f"m[{rule}({{}}, #m)][{rule}({{}}, #m[i])]" for rule in ("clamp", "wrap", "mirror")}
READS["zeros"] = "(let a = {}; b = {} in if a >= 0 and a < #m and b >= 0 and b < #m[i] then m[a][b] else 0)"
READS["no rule"] = "m[{}][{}]"


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("form", ["dense", "uniform"])
@pytest.mark.parametrize("rule", READS)
def test_a_cross_of_any_radius(rule: str, form: str) -> None:
    """A kernel with an interior, of rows and in each, which the CPU walks, and a GPU's code leaves out."""
    read = READS[rule]
    arms = [read.format(*at) for at in (("i - r", "j"), ("i + r", "j"), ("i", "j - r"), ("i", "j + r"))]
    source = ("function main(m, r) : ([[int]], int) -> [[int]] = "
              f"{{{{{' + 3 * '.join(arms)} : j in [0:#m[i]]}} : i in [0:#m]}};")
    layouts = (ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("int"), form)), ir.ScalarLayout("int"))
    program = Compiled(source, layouts=layouts)
    assert any(isinstance(bind.soac, ir.Map) and bind.soac.interior and bind.soac.interior.rows
               for kernel in program.executable("ilp").kernels for bind in kernel.binds)
    gpu = Compiled(source, layouts=layouts, target="cuda") if compiler.found() else None
    for n in SIZES:
        for r in RADII:
            m = [[i * 10 + j * j + 1 for j in range((3 * n + 1) % 7)] for i in range(n)]
            found = same(program, m, r)
            if rule == "no rule" and r > 0 and m and m[0]:
                assert fails(found, "out of bounds")
            if gpu is not None:
                assert agree(found, outcome(gpu, "cudasim ilp", [m, r]))


def test_padding_with_a_value() -> None:
    program = Compiled("function main(v, l, r) : ([int], int, int) -> [int] = pad_with(v, l, r, 7);")
    for v in ([], [1], [1, 2, 3]):
        for left, right in [(0, 0), (2, 0), (0, 3), (1, 4)]:
            assert same(program, v, left, right) == [7] * left + v + [7] * right


@pytest.mark.parametrize("form", ["dense", "uniform"])
def test_padding_a_matrix_with_a_value(form: str) -> None:
    layouts = (ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("int"), form)), *3 * (ir.ScalarLayout("int"),))
    program = Compiled("function main(m, l, r, x) : ([[int]], int, int, int) -> [[int]] = pad_with2(m, l, r, x);",
                       layouts=layouts)
    for n in SIZES:
        for columns in (0, 1, (3 * n + 1) % 7):
            m = [[10 * i + j for j in range(columns)] for i in range(n)]
            for left, right in [(0, 0), (1, 1), (2, 0), (0, 3), (1, 4)]:
                width = columns if n else 0
                blank = [7] * (left + width + right)
                inside = [[7] * left + row + [7] * right for row in m]
                assert same(program, m, left, right, 7) == [blank] * left + inside + [blank] * right
    assert fails(same(program, [[1]], -1, 0, 0), "must not be negative")
    if form == "dense":
        assert fails(same(program, [[1, 2], [3]], 1, 1, 0), "rows must be of one length")


def test_zeros_around_a_matrix_are_the_border_only() -> None:
    """A kernel with an interior that decides and checks nothing."""
    program = Compiled("function main(m, r) : ([[int]], int) -> [[int]] = pad_with2(m, r, r, 0);",
                       layouts=(ir.SeqLayout(ir.SeqLayout(ir.ScalarLayout("int"), "uniform")), ir.ScalarLayout("int")))
    (inside,) = [bind.soac.interior for kernel in program.executable("ilp").kernels for bind in kernel.binds
                 if isinstance(bind.soac, ir.Map) and bind.soac.interior]
    assert inside.rows and not any(isinstance(exp, ir.If | ir.Fail) for exp in subexpressions(inside.thunk.body))


def test_windows_by_steps() -> None:
    program = Compiled("function main(v, size, step) : ([int], int, int) -> [[int]] = slide(v, size, step);")
    for n in SIZES:
        for size in range(1, 5):
            for step in range(1, 4):
                assert same(program, list(range(n)), size, step) == windows(list(range(n)), size, step)


def test_blocks() -> None:
    program = Compiled("function main(v, k) : ([int], int) -> [[int]] = blocks(v, k);")
    for n in SIZES:
        for k in range(-1, 5):
            found = same(program, list(range(n)), k)
            if k < 1 or n % k:
                assert fails(found, "BLOCKS makes parts of at least 1" if k < 1 else "BLOCKS makes equal parts")
            else:
                assert found == windows(list(range(n)), k, k)


def test_blocks_of_a_matrix() -> None:
    program = Compiled("function main(m, k) : ([[int]], int) -> [[[[int]]]] = blocks2(m, k);")
    m = [[i * 10 + j for j in range(6)] for i in range(4)]
    assert same(program, m, 2) == [[[row[j:j + 2] for row in m[i:i + 2]] for j in (0, 2, 4)] for i in (0, 2)]
    assert same(program, [], 3) == []
    assert fails(same(program, m, 4), "BLOCKS makes equal parts and leaves no element over")
    assert fails(same(program, m, 0), "BLOCKS makes parts of at least 1 element")
    assert fails(same(program, [[1, 2], [3]], 1), "rows must be of one length")


@pytest.mark.parametrize(("call", "message"), [
    ("slide(v, 0, 1)", "SLIDE needs windows of at least 1 element"),
    ("slide(v, 2, 0)", "SLIDE needs windows of at least 1 element"),
    ("slide(v, 1, 9223372036854775807)", "SLIDE takes a step that is greater than ints can count"),
    ("pad(v, -1, 0, clamp)", "must not be negative"), ("pad(v, 0, -2, wrap)", "must not be negative"),
    ("pad_with(v, -1, 3, 0)", "must not be negative"), ("pad(drop(v, 3), 1, 0, mirror)", "use pad_with"),
    ("pad(v, 1, 1, (i, n) => i)", "out of bounds"),
    ("flatten(slide2([v, [1]], 1, 1)[0][0])", "rows must be of one length"),
    ("pad(v, 9223372036854775807, 9223372036854775807, clamp)", "PAD makes more elements than there can be"),
    ("pad_with(v, 9223372036854775807, 1, 0)", "PAD makes more elements than there can be"),
    ("flatten(pad_with2([v], 9223372036854775807, 1, 0))", "PAD makes more elements than there can be"),
    ("pad2([] [int], 1, 1, clamp)", "use pad_with or pad_with2"),
    ("group_by(v, 0)", "GROUP_BY makes parts of at least 1"),
    ("slice(v, 2, 5)", "Bounds error for function SUBSEQ"),
])
def test_what_fails(call: str, message: str) -> None:
    program = Compiled(f"function main(v) : [int] -> int = #({call});")
    assert fails(same(program, [1, 2, 3]), message)


@pytest.mark.parametrize("body", ["{slide(v, 3, 1) : v in [[1, 2], [4, 5], [3, 4]]}",
                                  "slide2([[1, 2], [4, 5]], 3, 1)[0]",
                                  "blocks2([] [int], 2)[0]", "slide2([] [int], 1, 1)[0]"])
def test_no_windows_at_all(body: str) -> None:
    same(Compiled(f"function main(n) : int -> int = #({body});"), 0)


@pytest.mark.parametrize("body", ["{sum(w) : w in slide(v, 3, 1)}", "{sum(w) : w in slide(v, 4, 2)}",
                                  "{sum(b) : b in slide(v, 5, 3)}"])
def test_windows_are_one_kernel_without_checks(body: str) -> None:
    program = Compiled(f"function main(v) : [int] -> [int] = {body};")
    (kernel,) = program.executable("ilp").kernels
    assert not any(isinstance(space_of(bind.soac), ir.Irregular) or soac_can_fail(bind.soac) for bind in kernel.binds)


def test_everything_inside_an_apply_to_each() -> None:
    program = Compiled("function main(vs, r) : ([[int]], int) -> [[int]] = "
                       "{{sum(w) : w in slide(pad_with(pad(v, r, r, mirror), 1, 0, 5), 2, 2)} : v in vs};")
    vs = [[1, 2, 3], [4], [7, 8]]
    for r in RADII:
        assert same(program, vs, r) == [[sum(w) for w in windows([5, *padded(v, r, bounced)], 2, 2)] for v in vs]
