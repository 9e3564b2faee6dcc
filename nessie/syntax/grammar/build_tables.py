"""Makes tables.py from rules.py beside it:   python -m nessie.syntax.grammar.build_tables

PLY finds the LALR tables here, once; running Nessie needs neither PLY nor the time.
"""
from __future__ import annotations

import inspect
from pathlib import Path
from textwrap import fill
from typing import Any

from nessie.base.system.writing import write
from nessie.syntax.grammar import rules as grammar
from nessie.syntax.grammar.signature import signature

TABLES = Path(__file__).with_name("tables.py")


class Complaints:
    """PLY's error log, kept as text: conflicts, unused tokens and rules, and the like."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, message: str, *arguments: object, **_: object) -> None:
        self.lines.append(message % arguments)

    error = critical = warning

    def info(self, message: str, *arguments: object, **_: object) -> None:
        """Ignore PLY's reports of its progress."""

    debug = info


def build() -> tuple[str, list[str]]:
    """Return the text of the module of tables, and PLY's complaints."""
    from ply import yacc

    complaints = Complaints()
    parser: Any = yacc.yacc(module=grammar, start="toplevel", write_tables=False, debug=True, debuglog=Complaints(),
                            errorlog=complaints)
    rules = [(rule.name, rule.len, rule.func) for rule in parser.productions]
    return text(rules, parser.action, parser.goto), complaints.lines


def text(rules: list[tuple[str, int, str]], actions: dict[int, dict[str, int]],
         gotos: dict[int, dict[str, int]]) -> str:
    lines = ['"""The tables of NESL\'s grammar, made by nessie.syntax.grammar.build_tables. Not to be edited.',
             "",
             "    RULES       (what it makes, how many symbols it takes, its function in syntax.grammar.rules)",
             "    ACTIONS     for each state: the kind of the next token -> the state after it, or -rule to apply;",
             "                or just -rule, to be applied whatever comes next",
             "    GOTOS       for each state: what a rule made there -> the state after it",
             '"""',
             f'SIGNATURE = "{signature()}"', "", "RULES: tuple[tuple[str, int, str], ...] = ("]
    lines += [entry((name, length, function or "")) for name, length, function in rules]
    lines += [")", "", "ACTIONS: tuple[dict[str, int] | int, ...] = ("]
    lines += [entry(only_rule(actions[state]) or dict(sorted(actions[state].items()))) for state in sorted(actions)]
    lines += [")", "", "GOTOS: tuple[dict[str, int], ...] = ("]
    lines += [entry(dict(sorted(gotos.get(state, {}).items()))) for state in sorted(actions)]
    return "\n".join([*lines, ")", ""])


def entry(value: object) -> str:
    return fill(f"{value!r},", 116, initial_indent="    ", subsequent_indent="     ", break_on_hyphens=False)


def only_rule(actions: dict[str, int]) -> int | None:
    """Return the rule that the state applies whatever comes next, if it is such a state."""
    rules = set(actions.values())
    return rules.pop() if len(rules) == 1 and min(rules) < 0 else None


def main() -> None:
    tables, complaints = build()
    if complaints:
        raise SystemExit("\n".join(complaints))
    write(TABLES, tables)
    print(f"{inspect.getmodulename(str(TABLES))} written")


if __name__ == "__main__":
    main()
