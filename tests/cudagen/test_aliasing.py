"""What the text of kernels tells a CUDA compiler of arrays: that nothing else reaches one (__restrict__) is not said
where other threads, other parameters or called functions do. Looked for in the text alone."""
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations

import pytest
from cuda_programs import PROGRAMS, built

from nessie.cudagen.cuda import cuda
from nessie.cudagen.loops import nodes as loops
from nessie.cudagen.loops.check import check
from nessie.cudagen.loops.module import Module
from nessie.cudagen.loops.text import parse

QUICK = ("fusion/scan_then_pack", "norm2")
KERNEL = r"__global__(?: __launch_bounds__\([^)]*\))? void"
HEAD = re.compile(rf'^(?:extern "C" {KERNEL}|static __device__ [\w ]+?) (\w+)\((.*?)\) \{{$',
                  re.MULTILINE | re.DOTALL)
PARAMETER = re.compile(r"(const )?[\w ]+?\*(__restrict__ )?(\w+)")
STORE, ACCESS = (re.compile(text, re.MULTILINE) for text in (r"^ *(\w+)\[[^;=]*\] = ", r"(\w+)\["))
IN_COMMON = (r"\(const volatile [\w ]+\*\){0}\)", r"\w*(?:load|store|atomic)\w*\((?:\([\w ]+\*\))?&{0}\[")
made = cache(built)


def functions_of(text: str) -> dict[str, tuple[list[str], str]]:
    """Of each function: its parameters and its body, without the helpers."""
    heads = [head for head in HEAD.finditer(text) if "__forceinline__" not in head.group(0)]
    return {head.group(1): (re.split(r",\s+", head.group(2)), text[head.end():].partition("\n}")[0]) for head in heads}


def pointers(parameters: list[str]) -> dict[str, bool]:
    """Those that are arrays, and whether the text says that nothing else reaches what they do."""
    matches = [PARAMETER.fullmatch(parameter) for parameter in parameters]
    return {match.group(3): match.group(2) is not None for match in matches if match}


def passed(text: str) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Arrays that one function passes to another: what they are called in both."""
    functions = functions_of(text)
    for caller, (_, body) in functions.items():
        for callee, (parameters, _) in functions.items():
            for given in re.findall(rf"\b{callee}\(([^;]*)\);", body):
                arguments = split(given)
                assert len(arguments) == len(parameters)
                for argument, parameter in zip(arguments, parameters, strict=True):
                    if match := PARAMETER.fullmatch(parameter):
                        yield (caller, argument), (callee, match.group(3))


def split(arguments: str) -> list[str]:
    """At the commas that are in no parentheses."""
    found, depth = [""], 0
    for character in arguments:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [argument.strip() for argument in found]


def left_for_others(body: str) -> set[str]:
    """The arrays that are both stored and loaded by threads which wait for each other: one may see there what another
    has stored, whatever it has itself."""
    if not re.search(r"\b__sync(?:threads|warp)\(\)", body):
        return set()
    return set(STORE.findall(body)) & set(ACCESS.findall(STORE.sub("", body)))


def told_too_much(text: str) -> list[str]:
    alone = {(name, array): restrict for name, (parameters, _) in functions_of(text).items()
             for array, restrict in pointers(parameters).items()}
    bodies = {name: body for name, (_, body) in functions_of(text).items()}
    wrong = [f"{name}: {array} is seen by other threads" for (name, array), restrict in alone.items() if restrict
             and (array in left_for_others(bodies[name])
                  or any(re.search(form.format(re.escape(array)), bodies[name]) for form in IN_COMMON))]
    return wrong + [f"{ends[0][0]} passes {ends[0][1]} to {ends[1][0]}" for ends in passed(text)
                    if len({alone[end] for end in ends if end in alone}) > 1]


def programs() -> list[object]:
    others = pytest.mark.sampled(quick=0, ci=8)
    return [*QUICK, *(pytest.param(name, marks=others) for name in PROGRAMS if name not in QUICK)]


@pytest.mark.parametrize("name", programs())
def test_what_others_reach_is_not_called_alone(name: str) -> None:
    texts = [one.built.text for one in made(name)]
    assert texts and any("__restrict__" in text for text in texts)
    for text in texts:
        assert set(re.findall(rf"{KERNEL} (\w+)\(", text)) <= functions_of(text).keys()
        assert told_too_much(text) == []


@pytest.mark.parametrize("name", programs())
def test_no_array_that_is_written_has_two_names(name: str) -> None:
    """Save for a launch's cells, whose words are of one type each."""
    for one in made(name):
        kernels = functions_of(one.built.text)
        for plan in one.built.plans:
            for phase in plan.phases:
                parameters = kernels[phase.function][0]
                arrays = [(given, PARAMETER.fullmatch(p)) for given, p in zip(phase.arguments, parameters, strict=True)]
                named = [(given, match) for given, match in arrays if match and given != loops.Name("cells")]
                for (a, first), (b, second) in combinations(named, 2):
                    assert a != b or (first.group(1) and second.group(1)), (one.schedule, phase.function, a)


def test_the_interrupt_word_of_a_loop() -> None:
    """It is looked at in the device function that goes round; the kernel passes it there."""
    texts = [one.built.text for one in made("mandelbrot") if one.schedule == "ilp"]
    text = next(text for text in texts if "_device(" in text)
    heads = [parameters for parameters, _ in functions_of(text).values() if "interrupt" in pointers(parameters)]
    assert len(heads) >= 2 and not any(pointers(parameters)["interrupt"] for parameters in heads)


CHAIN = """
device deepest(int[] interrupt, int[] plain) -> int { return volatile interrupt[0] + plain[0]; }
device deeper(int[] word, int[] plain) -> int { x = call deepest(word, plain); return x; }
device beside(int[] seen) -> int { return seen[0]; }
cuda k(int[] interrupt, int[] plain, writable int[] out) {
  x = call deeper(interrupt, plain);
  y = call beside(interrupt);
  out[0] = x + y;
}
cuda other(int[] plain, writable int[] out) { y = call beside(plain); out[0] = y; }
"""


def test_calls_of_calls() -> None:
    """However deep it is looked at, and also where it is not, if it is passed from there."""
    module: Module = parse(CHAIN)
    check(module)
    text = cuda.cuda(module)
    alone = {name: {array for array, restrict in pointers(parameters).items() if restrict}
             for name, (parameters, _) in functions_of(text).items()}
    assert alone == {"deepest_device": {"plain"}, "deeper_device": {"plain"}, "beside_device": set(),
                     "k": {"plain", "out"}, "other": {"out"}}
    assert told_too_much(text) == []
    assert told_too_much(text.replace("*word", "*__restrict__ word")) == [
        "deeper_device passes word to deepest_device", "k passes interrupt to deeper_device"]


BARRIER = """
cuda k(int n, writable int[] word, writable int[] out) {
  int before = word[0];
  if (threadIdx == 5) { word[0] = n; }
  barrier;
  out[threadIdx] = before + word[0];
}
"""


def test_what_is_left_for_others_before_a_barrier() -> None:
    """Told that nothing else reaches the word, NVRTC loads it once, before the barrier."""
    module: Module = parse(BARRIER)
    check(module)
    text = cuda.cuda(module)
    assert pointers(functions_of(text)["k"][0]) == {"word": False, "out": True}
    assert told_too_much(text) == []
    assert told_too_much(text.replace("*word", "*__restrict__ word")) == ["k: word is seen by other threads"]
