"""The examples in the headers of lambda_cu are programs: they parse, check and print back."""
from __future__ import annotations

import re
from textwrap import dedent

import pytest

from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.check import check
from nessie.lambda_cu.passes import share_sites as sites
from nessie.lambda_cu.text import printer, printer_expressions
from nessie.lambda_cu.text.parser import parse, parse_exp, parse_kernel
from nessie.lambda_cu.text.printer import show, show_exp, show_kernel


def example(header: str | None, start: str, end: str) -> str:
    """The indented lines from the first that starts so through the first, from there, that ends so."""
    found = re.search(rf"^    {start}.*?{end}$", header or "", re.MULTILINE | re.DOTALL)
    assert found is not None
    return dedent(found[0]) + "\n"


@pytest.mark.parametrize("header, start", [(ir.__doc__, "kernel K1"), (printer.__doc__, "site")])
def test_programs(header: str, start: str) -> None:
    text = example(header, start, r"entry .*?")
    program = parse(text)
    check(program)
    assert show(program).replace("\n\n", "\n") == text


def test_a_kernel() -> None:
    text = example(sites.__doc__, "kernel", "    }")
    assert show_kernel(parse_kernel(text)) == text


def test_an_expression() -> None:
    text = example(printer_expressions.__doc__, "let", "float")
    assert show_exp(parse_exp(text)) + "\n" == text
