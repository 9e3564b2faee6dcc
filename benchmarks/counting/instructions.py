"""What LLVM's instructions are to a processor: amounts by name, which prices are for (predictions.FEATURES).

A vector counts by the registers of 64 bytes that it fills. What costs nothing is not counted: addresses, which loads
and stores compute, and what only says how bits are to be taken.
"""
from __future__ import annotations

import re
from collections import Counter

from nessie.base.records import dataclass

NAME = r'%(?:[\w.$-]+|"[^"]+")'
INSTRUCTION = re.compile(rf"\s*(?:({NAME}) = )?(?:(?:tail|musttail|notail) )?(\w+) ?(.*?)(?:, !.*)?$", re.DOTALL)
TYPE = re.compile(r"<(\d+) x (\w+)>|\b(double|float|ptr|i\d+)\b")
DIVISOR = re.compile(r", (?:splat \(i\d+ )?-?(\d+)\)?$")
CALLEE = re.compile(r"@([\w.]+)\(")
BYTES = {"double": 8, "ptr": 8, "float": 4}
REGISTER = 64

FREE = {"phi", "getelementptr", "bitcast", "ret", "unreachable", "alloca", "extractvalue", "insertvalue", "freeze"}
FLOATS = {"fadd", "fsub", "fmul", "fcmp", "fneg", "sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc"}
SHUFFLES = {"shufflevector", "extractelement", "insertelement"}
QUOTIENTS = {"sdiv", "udiv", "srem", "urem"}
PLAIN = {"load": "loads", "store": "stores", "fdiv": "divisions", "mul": "products"}     # one instruction each
SHIFTS, MULTIPLIED = 3, 6               # operations of a division by a power of two, and by another constant
REDUCED = 5                             # shuffles that join a vector's elements
EXTREMES = 5                            # operations of a maximum of floats, for which -0 < 0 and NaN is the greatest
UNSEEN = ("experimental", "noalias", "lifetime", "assume", "dbg")
CALLS = {"masked.load": "vector_loads", "masked.store": "vector_stores", "compress": "compressed",
         "memset": "bulks", "memcpy": "bulks", "memmove": "bulks", "prefetch": "loads"}
LANES = {"masked.gather": "gathered", "masked.scatter": "scattered"}
FUNCTIONS = {"exp": "exponentials", "log": "exponentials", "sin": "functions", "cos": "functions", "tan": "functions",
             "pow": "functions"}

# Cycles until what an instruction computes can be used.
CYCLES = {"mul": 3.0, "load": 4.0, "fadd": 2.5, "fsub": 2.5, "fmul": 3.0, "fcmp": 2.0, "fdiv": 13.0, "sitofp": 4.0,
          "fptosi": 4.0, "extractelement": 2.0, "insertelement": 2.0, **dict.fromkeys(QUOTIENTS, 12.0)}
CYCLES_OF_CALLS = {"maximum": 7.0, "minimum": 7.0, "sqrt": 15.0, "reduce": 12.0, "gather": 10.0, "masked.load": 5.0,
                   "exp": 40.0, "log": 40.0, "sin": 40.0, "cos": 40.0}


@dataclass(frozen=True)
class Instruction:
    """`name`: of what it computes, or empty; `rest`: its operands and their types."""
    text: str
    name: str
    op: str
    rest: str

    def operands(self) -> list[str]:
        return re.findall(NAME, self.rest)


def parsed(line: str) -> Instruction:
    found = INSTRUCTION.match(line)
    assert found is not None
    return Instruction(line, found[1] or "", found[2], found[3])


def amounts(instruction: Instruction) -> Counter[str]:
    op, rest = instruction.op, instruction.rest
    lanes, width = shape(rest)
    prefix, registers = ("vector_", -(-lanes * width // REGISTER)) if lanes else ("", 1)
    arithmetic = "vector" if lanes else "scalar"
    if op in FREE:
        return Counter()
    if op == "br":
        return Counter(conditions=int(rest.startswith("i1")))
    if op == "switch":
        return Counter(conditions=max(1, rest.count("label") - 1))
    if op == "call":
        return called(CALLEE.search(rest), lanes, registers)
    if op in SHUFFLES:
        return Counter(shuffles=1)
    if op in QUOTIENTS:
        divisor = DIVISOR.search(rest)
        if divisor is None:
            return Counter(quotients=lanes or 1)
        power = int(divisor[1]) & (int(divisor[1]) - 1) == 0
        return Counter({arithmetic: registers * (SHIFTS if power else MULTIPLIED)})
    if op in ("atomicrmw", "cmpxchg"):
        return Counter(atomics=1)
    if op in PLAIN:
        return Counter({prefix + PLAIN[op]: registers})
    return Counter({"floats" if op in FLOATS and not lanes else arithmetic: registers})


def shape(rest: str) -> tuple[int, int]:
    """The lanes of the first type that is told, 0 for a scalar, and the bytes of each."""
    found = TYPE.search(rest)
    if found is None:
        return 0, 8
    type_ = found[2] or found[3]
    return int(found[1] or 0), BYTES.get(type_) or max(1, int(type_[1:]) // 8)


def called(found: re.Match[str] | None, lanes: int, registers: int) -> Counter[str]:
    """Of a call: intrinsics are instructions, others functions of the library or of the program."""
    name = found[1] if found else ""
    if any(part in name for part in UNSEEN):
        return Counter()
    for part, amount in CALLS.items():
        if part in name:
            return Counter({amount: registers})
    for part, amount in LANES.items():
        if part in name:
            return Counter({amount: lanes})
    if "vector.reduce" in name:
        return Counter(shuffles=REDUCED)
    prefix = "vector_" if lanes else ""
    if "sqrt" in name:
        return Counter({f"{prefix}divisions": registers})
    if not name.endswith((".body", ".call")):
        for part, amount in FUNCTIONS.items():
            if part in name:
                return Counter({f"{prefix}{amount}": 1})
    if "llvm.maximum" in name or "llvm.minimum" in name:
        return Counter({"vector" if lanes else "floats": registers * EXTREMES})
    if name.startswith("llvm."):
        return Counter({"vector" if lanes else "scalar": registers})
    return Counter(calls=1)


def latency(instruction: Instruction) -> float:
    """The cycles from its operands to what it computes."""
    op, rest = instruction.op, instruction.rest
    if op == "call":
        return next((cycles for part, cycles in CYCLES_OF_CALLS.items() if part in rest), 1.0)
    if op in QUOTIENTS and DIVISOR.search(rest):
        return CYCLES["mul"]
    return 0.0 if op in FREE else CYCLES.get(op, 1.0)
