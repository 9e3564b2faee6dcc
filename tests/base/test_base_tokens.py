"""The tokenizer that the forms' parsers share, and the supply of names."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie.base.names import Names
from nessie.base.source import NessieError
from nessie.base.text.tokens import Tokens, show_char, show_name, show_string, tokenize


def kinds(text: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in Tokens(text).tokens[:-1]]


def test_tokens_of_every_kind() -> None:
    assert kinds("let x_1 = 12 - 1.5e3 // rest\n=> <= \"a\\\"b\" 'c' `f^` /=") == [
        ("name", "let"), ("name", "x_1"), ("symbol", "="), ("int", "12"), ("symbol", "-"), ("float", "1.5e3"),
        ("symbol", "=>"), ("symbol", "<="), ("string", '"a\\"b"'), ("char", "'c'"), ("quoted", "`f^`"),
        ("symbol", "/=")]


def test_a_quoted_word_is_a_name_and_no_keyword() -> None:
    tokens = Tokens("`let` let", ("let",))
    assert not tokens.at("let") and tokens.name() == "let"
    assert not tokens.at_name() and tokens.accept("let") == "let"


def test_lists() -> None:
    tokens = Tokens("(a, b, c) ()")
    tokens.expect("(")
    assert tokens.listed(tokens.name, ")") == ("a", "b", "c")
    tokens.expect("(")
    assert tokens.listed(tokens.name, ")") == ()
    tokens.finish()


@given(st.text())
def test_strings_come_back(text: str) -> None:
    token, end = tokenize(Tokens(show_string(text)).source)
    assert (token.kind, token.value, end.kind) == ("string", text, "end")


@given(st.characters(codec=None))
def test_chars_come_back(character: str) -> None:
    assert tokenize(Tokens(show_char(character)).source)[0].value == character


@given(st.text(st.characters(exclude_characters="`\n"), min_size=1))
def test_names_come_back(name: str) -> None:
    assert Tokens(show_name(name, frozenset({"let"})), ("let",)).name() == name


@pytest.mark.parametrize("body", ["x", "f({y : y : int in x})", "let a : int = (let b : int = 1 in b) in a",
                                  "let a : int = let b : int = 1 in b in (a : int)", "if p then `:` else `let`"])
def test_the_end_of_a_body_is_found(body: str) -> None:
    tokens = Tokens(f"{body} : x : int in xs}}")
    tokens.skip_body()
    assert tokens.name() == "x" and tokens.at(":")


def test_a_body_without_end_is_an_error() -> None:
    with pytest.raises(NessieError, match="':' is expected in an apply-to-each"):
        Tokens("(x : int)").skip_body()


def test_an_error_shows_its_place() -> None:
    with pytest.raises(NessieError) as caught:
        Tokens("a b").expect("=")
    assert "'=' is expected here" in str(caught.value) and "1 | a b\n  | ^" in str(caught.value)
    with pytest.raises(NessieError, match="no symbol, name or literal"):
        Tokens('x "unclosed')


def test_fresh_names_are_new_and_keep_their_stem() -> None:
    names = Names({"x", "x_1"})
    assert [names.fresh("x"), names.fresh("x_1"), names.fresh("y"), names.fresh("y")] == ["x_2", "x_3", "y", "y_1"]
