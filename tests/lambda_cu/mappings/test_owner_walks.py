"""How owners walk their segments: which sweep each binding runs in, and which kernels they refuse, with the reason."""
from __future__ import annotations

from dataclasses import replace

import pytest

from nessie.base.source import IllFormed, Unsupported
from nessie.cudagen.generate import generate
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check_kernel
from nessie.lambda_cu.mappings.own_row import in_own_row, indices
from nessie.lambda_cu.mappings.owners import by_owners, owned
from nessie.lambda_cu.text.parser import parse_kernel

D = "irregular(o, m, n)"
SUM = "(0) { (x, y) => x + y }"


def kernel(body: str, by: str = "[block, lane]") -> ir.Kernel:
    text = body.replace(" SUM", f" {SUM}").replace(" D", f" {D}")
    return parse_kernel(f"kernel K (n : int, m : int, xs : [int; n], vs : [int; m], o : [int; m+1], l : int)"
                        f" -> int by Levels({by}, Gen) {{ {text} }}".replace(" -> int", " -> " + types(body)))


def types(body: str) -> str:
    returned = body.rsplit("return ", 1)[1].strip(" ()").split(", ")
    known = {"k": "int", "ws": "[int; m]", "rs": "[int; m]", "ts": "[int; m]", "t": "int", "offs": "[int; m+1]",
             "zs": "[int; n]", "ys": "[int; n]", "ps": "[int; n]"}
    return "(" + ", ".join([known[name] for name in returned]) + ")" if len(returned) > 1 else known[returned[0]]


SWEEPS = {
    "let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } SUM D"
    " let ys = SEG_MAP { (s, j, i) => xs[i] - rs[s] using xs, rs } D return ys": ([0, 1], [0, 0], set()),
    "let ps = SEG_SCAN { (s, j, i) => xs[i] using xs } SUM D"
    " let ys = SEG_SCAN { (s, j, i) => ps[i] using ps } SUM D"
    " let zs = SEG_MAP { (s, j, i) => ys[i] using ys } D return zs": ([0, 0, 0], [0, 1, 2], set()),
    "let ys = SEG_MAP { (s, j, i) => xs[i] using xs } D"
    " let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } SUM D"
    " let zs = SEG_MAP { (s, j, i) => ys[i] + rs[s] using ys, rs } D return zs": ([1, 0, 1], [0, 0, 0], set()),
    "let ys = SEG_MAP { (s, j, i) => xs[i] using xs } D"
    " let rs = SEG_REDUCE { (s, j, i) => ys[i] using ys } SUM D"
    " let ws = MAP { s => rs[s] + vs[s] using rs, vs } (m)"
    " let zs = SEG_MAP { (s, j, i) => ys[i] + ws[s] using ys, ws } D return zs": ([0, 0, 1, 1], [0] * 4, {"ys"}),
    "let ys = SEG_MAP { (s, j, i) => xs[i] using xs } D"
    " let zs = SEG_MAP { (s, j, i) => ys[o[s] + (o[s + 1] - o[s] - 1 - j)] using ys, o } D return zs":
        ([0, 1], [0, 0], {"ys"}),
    "let ys = SEG_ORDER { (s, j, i) => xs[i] using xs } D"
    " let zs = SEG_MAP { (s, j, i) => xs[ys[i]] using xs, ys } D return zs": ([0, 1], [0, 0], {"ys"}),
}


@pytest.mark.parametrize("body", SWEEPS)
def test_sweeps(body: str) -> None:
    found = owned(kernel(body))
    assert (found.sweeps, found.layers, found.kept) == SWEEPS[body]


REFUSED = {
    "let t = REDUCE { i => xs[i] using xs } SUM (n) let ys = SEG_MAP { (s, j, i) => xs[i] using xs } D return t":
        "of all segments together",
    "let ys = SCAN { i => xs[i] using xs } SUM (n) let zs = SEG_MAP { (s, j, i) => ys[i] using ys } D return zs":
        "of all segments together",
    "let (k, zs, offs) = SEG_FILTER { (s, j, i) => xs[i] using xs } { (s, j, i) => xs[i] > 0 using xs } D"
    " return (k, offs)": "where survivors of a row are stored",
    "let (k, ys, offs) = SEG_FILTER { (s, j, i) => xs[i] using xs } { (s, j, i) => xs[i] > 0 using xs } D"
    " let rs = SEG_REDUCE { (s, j, i) => ys[i] * j using ys } SUM irregular(offs, m, k) return rs":
        "do not count survivors, whose places",
    "let (k, f, ys, zs, ps) = SEG_PARTITION { (s, j, i) => xs[i] using xs } { (s, j, i) => xs[i] > 0 using xs } D"
    " return k": "owners split rows by SCAN and PERMUTE",
    "let ys = SEG_PERMUTE { (s, j, i) => xs[i] using xs } { (s, j, i) => xs[i] using xs } D into n (0) last"
    " return ys": "each place once",
    "let ys = SEG_MAP { (s, j, i) => xs[i] using xs } D"
    " let zs = SEG_MAP { (s, j, i) => ys[n - 1 - i] using ys, n } D return zs": "outside of the own row",
    "let ys = SEG_MAP { (s, j, i) => xs[i] using xs } D"
    " let zs = SEG_MAP { (s, j, i) => ys[i - j + xs[i]] using ys, xs } D return zs": "outside of the own row",
    "let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } SUM D"
    " let ys = SEG_MAP { (s, j, i) => rs[j] using rs } D return ys": "another segment than the own",
    "let ys = SEG_PERMUTE { (s, j, i) => xs[i] using xs } { (s, j, i) => n - 1 - i using n } D into n (0) all"
    " let zs = SEG_MAP { (s, j, i) => ys[i] using ys } D return zs": "written by who does not own the row",
    "let ys = SEG_MAP { (s, j, i) => xs[i] using xs } D let zs = SEG_MAP { (s, j, i) => xs[i] using xs }"
    " uniform(m, l, n) return ys": "segments of one space",
    "let ys = SEG_ORDER { (s, j, i) => xs[i] using xs } D firsts return ys": "find no firsts",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str) -> None:
    with pytest.raises(IllFormed, match=REFUSED[body]):
        check_kernel(kernel(body), {}, set())


@pytest.mark.parametrize("by, message", [("[grid, lane]", "a grid holds no segment"),
                                         ("[thread, lane]", "a thread's segment are walked by serial"),
                                         ("[warp, serial]", "a warp's segment are walked by lane")])
def test_levels_that_do_not_go_together(by: str, message: str) -> None:
    body = "let rs = SEG_REDUCE { (s, j, i) => xs[i] using xs } SUM D return rs"
    with pytest.raises(IllFormed, match=message):
        check_kernel(kernel(body, by), {}, set())


def test_kernels_without_segments_have_no_owners() -> None:
    assert not by_owners(parse_kernel("kernel K (n : int, xs : [int; n]) -> [int; n] by Levels([block, lane], Gen)"
                                      " { let ys = MAP { i => xs[i] using xs } (n) return ys }"))


def test_nobody_owns_rows_on_the_cpu() -> None:
    from kernel_runs import program_of
    one, several = [kernel(body) for body in list(SWEEPS)[:2]]
    alone = replace(one, binds=one.binds[:1], returns=("rs",))
    assert generate(program_of(alone), "cpu").plans
    for fused in (one, several):
        with pytest.raises(Unsupported, match="only where somebody holds a whole segment"):
            generate(program_of(fused), "cpu")


UNIFORM, IRREGULAR = ir.Uniform("m", "l", "n"), ir.Irregular("m", "o", "n")


@pytest.mark.parametrize("index, root, proven", [
    ("i", IRREGULAR, True), ("i - j", IRREGULAR, True), ("i - j + j", IRREGULAR, True), ("o[s] + j", IRREGULAR, True),
    ("j + o[s]", IRREGULAR, True), ("o[s] + k", IRREGULAR, False), ("o[s + 1]", IRREGULAR, False),
    ("o[s + 1] - 1", IRREGULAR, False), ("s * l + mod(k, l)", UNIFORM, True), ("s * l + rem(k, l)", UNIFORM, False),
    ("i - j + (l - 1 - j)", UNIFORM, True), ("i - j + (l - j)", UNIFORM, False), ("i + 1", UNIFORM, False),
    ("i - j + (o[s + 1] - o[s] - 1)", IRREGULAR, True)])
def test_what_evidently_lies_in_the_own_row(index: str, root: ir.Segmented, proven: bool) -> None:
    assert lies_in_row(f"ys[{index}]", root) == proven


@pytest.mark.parametrize("read, proven", [
    ("if 0 <= k and k < l then ys[i - j + k] else 0", True), ("if k < l then ys[i - j + k] else 0", False),
    ("if 0 <= k and k < l then 0 else ys[i - j + k]", False), ("if 0 <= k and k <= l then ys[i - j + k] else 0", False),
    ("let q = k + 1 in if q >= 0 and l > q then ys[i - j + q] else 0", True),
    ("let q = k + 1 in if 0 <= k and k < l then ys[i - j + q] else 0", False)])
def test_what_a_condition_says(read: str, proven: bool) -> None:
    assert lies_in_row(read, UNIFORM) == proven


def lies_in_row(exp: str, root: ir.Segmented) -> bool:
    text = f"kernel K (k : int) -> int {{ let zs = SEG_MAP {{ (s, j, i) => {exp} }} uniform(m, l, n) return zs }}"
    (bind,) = parse_kernel(text).binds
    assert isinstance(bind.soac, ir.Map)
    return all(in_own_row(read, ("s", "j", "i"), root) for read in indices(bind.soac.thunk.body) if read.array == "ys")
