"""The texts of forms, damaged: reading them ends in a NessieError with its place or in a well-formed program, which
goes through all passes that are left; never in a crash."""
from __future__ import annotations

import random
import re
from functools import cache

import pytest
from amounts import many

from nessie import driver, forms, pipeline
from nessie.base.source import NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.schedule.draw.view import draw
from nessie.syntax.parser import parse_type

PROGRAM = '''
datatype point(int, float);
datatype box(a, [b]) :: (a in number; b in any);
function twice(box(a, v)) = box(a + a, v ++ v);
function norm(v) = let s = sum(v) in {x / s : x in v | x > 0.0};
function apply(g, x) = g(x);
function rows(m, point(n, y)) = "its documentation" ++ [`a];
function main(m, n) =
  let k = n + 1; total = {apply(x => x * float(n + k), y) : y in flatten(m)}; (a, b) = (m[0], -2.5e3)
  in ({norm(row) : row in m}, (if n > 2 then total else a), sort(a), {closure(max, b)(x) : x in a}, "text", [n, k],
      eql(point(n, b), point(k, b)), twice(box(n, m)));
'''
ARGUMENT = parse_type(Source("type", "[[float]], int"))
FORMS = [form for form in forms.FORMS if form.parse and form is not forms.TEXT]
WORD = re.compile(r"\w+|\s+|[^\w\s]")


@cache
def texts() -> dict[str, str]:
    """The program in every form."""
    job = pipeline.Job(entry="main", argument=ARGUMENT)
    passes = [p for p in (*pipeline.stages(job), pipeline.pass_named("graph")) if p.output.parse]
    made = {}
    for step in driver.steps(job, forms.TEXT, Source("test", PROGRAM), tuple(passes)):
        made[step.ran.output.name] = step.ran.output.show(step.program)
    return made


def damaged(text: str, random_: random.Random) -> str:
    """With a few of its words dropped, doubled, exchanged or replaced by others; or cut off."""
    words = WORD.findall(text)
    for _ in range(random_.randint(1, 3)):
        at, other = random_.randrange(len(words)), random_.randrange(len(words))
        match random_.randrange(6):
            case 0:
                words[at] = ""
            case 1:
                words[at] = words[other]
            case 2:
                words[at], words[other] = words[other], words[at]
            case 3:
                words[at] += words[at]
            case 4:
                words[at] = random_.choice(["()", "[]", "(", "]", "-", "1", "1e9", "x", '"', "'", "\\", "`", "²", ",",
                                            "any", "number", "int", "K1", "s1", "9" * 20])
            case 5 if random_.random() < 0.1:
                del words[at + 1:]
    return "".join(words)


def exchanged(text: str, random_: random.Random) -> str:
    """With a name or a number of it in the place of another one: most such texts parse."""
    words = WORD.findall(text)
    for _ in range(random_.randint(1, 2)):
        pattern = random_.choice((r"[A-Za-z_]\w*", r"[A-Za-z_]\w*", r"\d+"))
        places = [at for at, word in enumerate(words) if re.fullmatch(pattern, word)]
        other = words[random_.choice(places)] if random_.random() < 0.8 or pattern != r"\d+" else \
            random_.choice(("0", "1", "9223372036854775807", "99999999999999999999", "1e999", "1e300"))
        words[random_.choice(places)] = other
    return "".join(words)


def has_place(error: NessieError, text: str) -> bool:
    return bool(error.places) and all(0 <= span.start <= span.end <= len(text) and span.source.text == text
                                      for span, _ in error.places)


def read_damaged(form: forms.Form, times: int, seed: int) -> None:
    text = run_deep(texts)[form.name]
    random_ = random.Random(seed)
    for _ in range(times):
        broken = damaged(text, random_)
        try:
            run_deep(lambda broken=broken: forms.read(form, Source("damaged", broken)))     # type: ignore[misc]
        except NessieError as error:
            assert has_place(error, broken), (error.message, broken)
        except Exception as error:
            raise AssertionError(broken) from error


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_damaged_texts_are_refused(form: forms.Form) -> None:
    assert run_deep(lambda: forms.read(form, Source("whole", texts()[form.name])))
    read_damaged(form, 60, 1)


@pytest.mark.parametrize(("form", "text"), [
    (forms.TYPED, "function g () : int = 3"), (forms.TYPED, "function g (x : int) : [int] = []"),
    (forms.TYPED, "function g (x : int) : int = closure(x)"), (forms.TYPED, "function g (x : (int,)) : int = x"),
    (forms.TYPED, "function g (x : int) : int = closure(x, x)"),
    (forms.TYPED, "function g [a in numbers] (x : a) : a = x"), (forms.TYPED, "datatype g [a in 1] = a"),
    (forms.MONO, "function g (x : ()) : int = 3 entry g"), (forms.MONO, "function g (x : int) : int = ² entry g"),
    (forms.MONO, 'function g (x : int) : [char] = "\\u{110000}" entry g'),
    (forms.GRAPH, "graph g 0 { order () outputs () }")])
def test_what_is_wrong_has_a_place(form: forms.Form, text: str) -> None:
    with pytest.raises(NessieError) as error:
        forms.read(form, Source("test", text))
    assert error.value.places


def compile_exchanged(form: forms.Form, times: int, seed: int) -> dict[str, int]:
    """Read such texts, and take what is well formed through all passes that are left. How many end how."""
    text = run_deep(texts)[form.name]
    random_, ends = random.Random(seed), {"refused": 0, "made": 0}
    for _ in range(times):
        broken = exchanged(text, random_)
        try:
            run_deep(lambda broken=broken: compiled(form, Source("damaged", broken)))     # type: ignore[misc]
            ends["made"] += 1
        except NessieError as error:
            assert has_place(error, broken) or error.message == "the program has no function main", broken
            ends["refused"] += 1
        except Exception as error:
            raise AssertionError(broken) from error
    return ends


def compiled(form: forms.Form, source: Source) -> None:
    program = forms.read(form, source)
    if form is forms.GRAPH:
        for kind in ("svg", "dot", "json"):
            draw(program, kind)
    elif form not in (forms.SCHEDULE, forms.HOST):        # from which alone nothing goes on
        job = pipeline.Job(entry="main", argument=ARGUMENT)
        driver.compile_program(job, form, program, pipeline.pass_named("llvm"))


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_exchanged_names_are_refused_or_compiled(form: forms.Form) -> None:
    ends = compile_exchanged(form, 40, 3)
    assert min(ends.values()) > 0


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_many_exchanged_names_are_refused_or_compiled(form: forms.Form) -> None:
    compile_exchanged(form, many(1000), 4)


LAMBDA_CU = """kernel K1 (n : int, xs : [float; n]) -> [float; n] {
  let ys = MAP { i =>
      let x = xs[i] in
      x * 2.0
      using xs } (n)
  return ys
}

function main (n : int, xs : [float; n])
    -> (result_size : int, result : [float; result_size]) {
  let ys : [float; n] = run K1 (n, xs)
  return (n, ys)
}

entry main : [float] -> [float]
"""
TYPED = """function g (x : int) : int =
  if t
  then x
  else 2

variable y : int =
  g[](3)
"""
MONO = """function g (x : int,
            y : float) : float =
  let z : float = y in
  `reduce_+`({z * w :
    w : float in [y]})

function h (y_1 : float) : float =
  g(1, y_1)

entry h
"""
GRAPH = """graph main 0 {
  size n = 10.0
  scalar n : int
  array xs : [float; n]
  array ys : [float; n]
  array zs : [float; n]
  node ys = MAP flat(n) (size n, own xs) -> (ys)
  node zs = MAP flat(n) (size n, own ys) -> (zs)
  outputs (zs)
}
"""
SCHEDULE = """schedule ilp cpu {
  region main 0 "optimal" 1.0 1.0 {
    kernel (ys)
    kernel (zs)
  }
}
"""
LOOPS = """host double(int n, float[] xs,
            writable float[] ys) {
  for (i = 0; i < n; i += 1) {
    float x = xs[i];
    ys[i] = x *
        2.0;
  }
}
"""
PLAN = """plan K1(int n, float[n] xs) {
  cells 1;
  elements n;
  phase K1_sweep(n, xs, ys, cells) once {
    buffer float ys[n + 1] = 0.0;
  }
  result int k = cells[0];
  result ys;
}

host K1_sweep(int n, float[] xs, writable float[] ys, writable int[] cells) {
  ys[n] = xs[0];
  cells[0] = n;
}
"""
HOST = """site s1 "zero"

kernel K1 : 2 -> 1

host main (#0, #1) slots 4 {
  0: launch K1 (#0, #1) -> #2 dead #1
  1: compute #3 = if n > 0 then n / 2
       else fail s1 : int where n is #0
  2: give (#0, #2, #3, 1) dead #0, #2, #3
}

entry main : [float] -> ([float], (int, int))
"""

# Of a program in this form, a text is replaced by another one: then this line is wrong, and carets are below this part.
ILL_FORMED = [
    (forms.FLAT, LAMBDA_CU, "x * 2.0", "x * 2", 4, "x * 2"),
    (forms.FLAT, LAMBDA_CU, "x * 2.0", "y * 2.0", 2, "{ i =>"),
    (forms.FLAT, LAMBDA_CU, "xs[i] in", "xs[1.0] in", 3, "xs[1.0]"),
    (forms.FLAT, LAMBDA_CU, "} (n)", "} (m)", 5, "(m)"),
    (forms.FLAT, LAMBDA_CU, "return ys", "return zs", 6, "return zs"),
    (forms.FLAT, LAMBDA_CU, "let x = xs[i] in\n      x", "let n = xs[i] in\n      n", 3, "let n = xs[i] in"),
    (forms.FLAT, LAMBDA_CU, "result : [float; result_size]", "result : [float; size]", 10, "result : [float; size]"),
    (forms.FLAT, LAMBDA_CU, "run K1 (n, xs)", "run K2 (n, xs)", 11, "let ys : [float; n] = run K2 (n, xs)"),
    (forms.FLAT, LAMBDA_CU, "run K1 (n, xs)", "run K1 (xs, n)", 11, "xs"),
    (forms.FLAT, LAMBDA_CU, "let ys : [float; n] =", "let ys : [int; n] =", 11, "ys : [int; n]"),
    (forms.FLAT, LAMBDA_CU, "let ys : [float; n] =", "let xs : [float; n] =", 11, "xs : [float; n]"),
    (forms.FLAT, LAMBDA_CU, "return (n, ys)", "return (ys, n)", 12, "ys"),
    (forms.FLAT, LAMBDA_CU, "return (n, ys)", "return (n)", 12, "return (n)"),
    (forms.FLAT, LAMBDA_CU, "entry main : [float]", "entry main : [int]", 15, "entry main : [int] -> [float]"),
    (forms.FLAT, LAMBDA_CU, "entry main", "entry none", 15, "entry none : [float] -> [float]"),
    (forms.FUSED, LAMBDA_CU, "x * 2.0", "x * f", 2, "{ i =>"),
    (forms.TYPED, TYPED, "if t", "if 3", 2, "if 3"),
    (forms.TYPED, TYPED, "else 2", "else 2.0", 2, "if t"),
    (forms.TYPED, TYPED, "(x : int) : int", "(x : int) : float", 1, "function g (x : int) : float ="),
    (forms.TYPED, TYPED, "(3)", "('c')", 7, "g[]('c')"),
    (forms.TYPED, TYPED, "variable y : int", "variable y : bool", 6, "y : bool"),
    (forms.MONO, MONO, "z : float = y in\n  `reduce_+`({z", "x : float = y in\n  `reduce_+`({x", 3,
     "let x : float = y in"),
    (forms.MONO, MONO, "h (y_1 : float) : float =\n  g(1, y_1)", "h (y : float) : float =\n  g(1, y)", 7,
     "y : float"),
    (forms.MONO, MONO, "w : float in [y]", "w : float in y", 5, "y"),
    (forms.MONO, MONO, "w :\n    w : float in", "y :\n    y : float in", 5, "y : float in [y]"),
    (forms.MONO, MONO, "g(1, y_1)", "g(1)", 8, "g(1)"),
    (forms.MONO, MONO, "entry h", "entry k", 10, "entry k"),
    (forms.GRAPH, GRAPH, "size n = 10.0", "size n = 1e999", 2, "size n = 1e999"),
    (forms.GRAPH, GRAPH, "array xs : [float; n]", "array xs : [word; n]", 4, "xs : [word; n]"),
    (forms.GRAPH, GRAPH, "array zs : [float; n]", "array zs : [float; m]", 6, "zs : [float; m]"),
    (forms.GRAPH, GRAPH, "own xs", "own zs", 7, "own zs"),
    (forms.GRAPH, GRAPH, "node zs =", "node ys =", 8, "ys = MAP flat(n) (size n, own ys) -> (zs)"),
    (forms.GRAPH, GRAPH, "outputs (zs)", "outputs (xs)", 9, "outputs (xs)"),
    (forms.SCHEDULE, SCHEDULE, "(zs)", "(ys)", 4, "(ys)"),
    (forms.SCHEDULE, SCHEDULE, "ilp", "best", 1, "schedule best cpu {"),
    (forms.LOOPS, LOOPS, "float x = xs", "int x = xs", 4, "int x = xs[i]"),
    (forms.LOOPS, LOOPS, "2.0", "2", 5, "x *"),
    (forms.LOOPS, LOOPS, "ys[i] =", "xs[i] =", 5, "xs[i] = x *"),
    (forms.LOOPS, LOOPS, "writable float[] ys", "writable float ys", 2, "writable float ys"),
    (forms.LOOPS, LOOPS, "i < n", "i < m", 3, "m"),
    (forms.LOOPS, PLAN, "float[n]", "float[m]", 1, "m"),
    (forms.LOOPS, PLAN, "int n, float[n] xs) {\n  cells", "int n, float[n] n) {\n  cells", 1, "float[n] n"),
    (forms.LOOPS, PLAN, "elements n", "elements n mod 2", 3, "n mod 2"),
    (forms.LOOPS, PLAN, "phase K1_sweep(n, xs", "phase K1_sweep(n, xs, xs", 4,
     "phase K1_sweep(n, xs, xs, ys, cells) once {"),
    (forms.LOOPS, PLAN, "phase K1_sweep(n, xs", "phase K1_sweep(n, zs", 4, "zs"),
    (forms.LOOPS, PLAN, "phase K1_sweep(n, xs", "phase K1_sweep(xs, xs", 4, "xs"),
    (forms.LOOPS, PLAN, "ys[n + 1]", "ys[n + k]", 5, "k"),
    (forms.LOOPS, PLAN, "= 0.0", "= 0", 5, "buffer float ys[n + 1] = 0"),
    (forms.LOOPS, PLAN, "result int k", "result bool k", 7, "result bool k = cells[0]"),
    (forms.LOOPS, PLAN, "result ys", "result xs", 8, "result xs"),
    (forms.HOST, HOST, 'site s1 "zero"', 'site s1 "zero" site s1 "zero"', 1, 'site s1 "zero"'),
    (forms.HOST, HOST, "launch K1 (#0", "launch K1 (#0, #0", 6, "0: launch K1 (#0, #0, #1) -> #2 dead #1"),
    (forms.HOST, HOST, "then n / 2", "then m / 2", 7, "if n > 0 then m / 2"),
    (forms.HOST, HOST, "fail s1", "fail s2", 8, "fail s2 : int"),
    (forms.HOST, HOST, "#3, 1)", "#3, site s3)", 9, "site s3"),
    (forms.HOST, HOST, "dead #0, #2, #3", "dead #0, #2", 9, "2: give (#0, #2, #3, 1) dead #0, #2"),
    (forms.HOST, HOST, "host main (#0, #1)", "host main (#0, #0)", 5, "host main (#0, #0) slots 4 {"),
    (forms.HOST, HOST, "entry main : [float]", "entry main : int", 12, "entry main : int -> ([float], (int, int))")]


@pytest.mark.parametrize(("form", "text", "old", "new", "line", "part"), ILL_FORMED)
def test_a_broken_invariant_has_its_place(form: forms.Form, text: str, old: str, new: str, line: int,
                                          part: str) -> None:
    assert text.count(old) == 1
    forms.read(form, Source("test", text))
    broken = text.replace(old, new)
    with pytest.raises(NessieError) as error:
        forms.read(form, Source("test", broken))
    ((span, _),) = error.value.places
    told = broken[span.start:span.end].partition("\n")[0]
    assert (error.value.message.startswith(f"test is no {form.name} program: "), span.line, told) == (True, line, part)
    assert f"\n{line} | " in str(error.value) and "^" * len(told) in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_many_damaged_texts_are_refused(form: forms.Form) -> None:
    read_damaged(form, many(1500), 2)
