"""The texts of forms, damaged: reading them ends in a NessieError or in a well-formed program, never in a crash."""
from __future__ import annotations

import random
import re
from functools import cache

import pytest

from nessie import pipeline
from nessie.base.deep import run_deep
from nessie.base.source import NessieError, Source

PROGRAM = '''
datatype point(int, float);
function norm(v) = let s = sum(v) in {x / s : x in v | x > 0.0};
function apply(g, x) = g(x);
function rows(m, point(n, y)) = "its documentation" ++ [`a];
function main(m, n) =
  let k = n + 1; total = {apply(x => x * float(n + k), y) : y in flatten(m)}; (a, b) = (m[0], -2.5e3)
  in ({norm(row) : row in m}, (if n > 2 then total else a), sort(a), {closure(max, b)(x) : x in a}, "text", [n, k],
      eql(point(n, b), point(k, b)));
'''
FORMS = [form for form in pipeline.FORMS if form.parse and form is not pipeline.TEXT]
WORD = re.compile(r"\w+|\s+|[^\w\s]")


@cache
def texts() -> dict[str, str]:
    """The program in every form."""
    job = pipeline.Job(entry="main", argument=pipeline.call("frontend.parser:parse_type",
                                                            Source("type", "[[float]], int")))
    passes = [p for p in pipeline.PASSES if (p.output.parse and p.name != "share-sites") or p.name == "generate"]
    made = {}
    for step in pipeline.steps(job, pipeline.TEXT, Source("test", PROGRAM), tuple(passes)):
        made[step.ran.output.name] = pipeline.show(step.ran.output, step.program)
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
                words[at] = random_.choice(["()", "[]", "(", "]", "-", "1", "1e9", "x", '"', "'", "\\", "`", "²", ","])
            case 5 if random_.random() < 0.1:
                del words[at + 1:]
    return "".join(words)


def read_damaged(form: pipeline.Form, times: int, seed: int) -> None:
    text = run_deep(texts)[form.name]
    random_ = random.Random(seed)
    for _ in range(times):
        broken = damaged(text, random_)
        try:
            run_deep(lambda broken=broken: pipeline.read(form, Source("damaged", broken)))     # type: ignore[misc]
        except NessieError:
            pass
        except Exception as error:
            raise AssertionError(broken) from error


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_damaged_texts_are_refused(form: pipeline.Form) -> None:
    assert run_deep(lambda: pipeline.read(form, Source("whole", texts()[form.name])))
    read_damaged(form, 60, 1)


@pytest.mark.parametrize(("form", "text"), [
    (pipeline.TYPED, "function g () : int = 3"), (pipeline.TYPED, "function g (x : int) : [int] = []"),
    (pipeline.TYPED, "function g (x : int) : int = closure(x)"), (pipeline.TYPED, "function g (x : (int,)) : int = x"),
    (pipeline.TYPED, "function g (x : int) : int = closure(x, x)"),
    (pipeline.MONO, "function g (x : ()) : int = 3 entry g"), (pipeline.MONO, "function g (x : int) : int = ² entry g"),
    (pipeline.MONO, 'function g (x : int) : [char] = "\\u{110000}" entry g'),
    (pipeline.GRAPH, "graph g 0 { order () outputs () }")])
def test_what_is_wrong_has_a_place(form: pipeline.Form, text: str) -> None:
    with pytest.raises(NessieError) as error:
        pipeline.read(form, Source("test", text))
    assert error.value.places


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_many_damaged_texts_are_refused(form: pipeline.Form) -> None:
    read_damaged(form, 3000, 2)
