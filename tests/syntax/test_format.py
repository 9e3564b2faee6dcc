"""nessie fmt's text: it means what the program meant, keeps every comment, and is formatted itself."""
from __future__ import annotations

import io
import json
import random
import re
import sys
from pathlib import Path

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import PYTHONPATH, ROOT, SUPPORT
from processes import finished
from random_library import LIBRARY
from random_programs import RandomProgram, programs

from nessie import pragmas
from nessie.base.source import InternalError, NessieError, Source
from nessie.base.system.deep import run_deep
from nessie.base.text.layout import WIDTH
from nessie.syntax import format
from nessie.syntax import text as syntax_text
from nessie.syntax.examples import examples as examples_of
from nessie.syntax.format import formatted, same
from nessie.syntax.lexer import Lexer
from nessie.syntax.parser import parse_program
from nessie.tool.cli import main

PROGRAMS = sorted(path for folder in ("nesl_examples", "benchmarks", "nessie")
                  for path in (ROOT / folder).rglob("*.nesl"))
CASES = [json.loads(line)["source"] for line in (SUPPORT / "nesl_cases.jsonl").read_text("utf-8").splitlines()]
PAGES = [block for page in sorted((ROOT / "docs").rglob("*.md"))
         for block in re.findall(r"^```nesl.*?\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)]
COMMENTS = ["% c %", "% cut a, b %", "% two\n   lines %", "%%", "%\n%", '% f("a\nb") => 1 %']


def fmt(text: str) -> str:
    return run_deep(lambda: formatted(Source("test", text)))


def checked(text: str) -> str:
    """The formatted text, of which all that is promised holds."""
    shown = fmt(text)
    before, after = Source("test", text), Source("test", shown)
    assert same(parse_program(before), parse_program(after))
    assert words(shown) == words(text)
    assert [example_words(source) for source in (before, after)] == [example_words(before)] * 2
    assert [wishes(source) for source in (before, after)] == [wishes(before)] * 2
    assert fmt(shown) == shown
    assert not re.search(r"[ \t]$", shown.replace("` ", ""), re.MULTILINE) or '"' in shown or "%" in shown
    return shown


def words(text: str) -> list[str]:
    """All of the text but blanks, so the order of tokens and comments; without `;` that end nothing."""
    return re.sub(r"\s+|(?<=;);+|^;+", "", re.sub(r";(\s*;)+", ";", text)).split()


def example_words(source: Source) -> list[list[str]]:
    return [source.text[span.start:span.end].split() for found in examples_of(source)
            for span in (found.expression, found.expected)]


def wishes(source: Source) -> list[tuple[str, str, str]]:
    return [(wish.kind, wish.first, wish.second) for wish in pragmas.of_source(source)[0]]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_of_the_repository(path: Path) -> None:
    shown = checked(path.read_text("utf-8"))
    code = re.sub(r'%[^%]*%|"[^"]*"', "", shown)
    assert max(map(len, code.splitlines())) <= WIDTH


@pytest.mark.parametrize("texts", [CASES, PAGES], ids=["tests", "pages"])
def test_programs_of_the_tests_and_the_documentation(texts: list[str]) -> None:
    """Those that are bad are refused."""
    good = 0
    for text in texts:
        try:
            parse_program(Source("test", text))
        except NessieError:
            with pytest.raises(NessieError):
                fmt(text)
        else:
            checked(text)
            good += 1
    assert good > len(texts) // 2 > 10


@pytest.mark.sampled(quick=4, ci=2)
@pytest.mark.parametrize("path", PROGRAMS[::2], ids=lambda path: path.stem)
def test_comments_anywhere_stay_where_they_are(path: Path) -> None:
    random_ = random.Random(path.stem)
    for _ in range(examples(6)):
        checked(with_comments(path.read_text("utf-8"), random_))


def with_comments(text: str, random_: random.Random) -> str:
    """With comments between its tokens, on lines of their own or not, and lines broken anywhere."""
    lexer, made, end = Lexer(Source("test", text)), "", 0
    for token in iter(lexer.token, None):
        made += text[end:token.start]
        if random_.random() < 0.1:
            made += "".join(random_.choice(["\n", " ", "", "\n\n", "  "]) + random_.choice(COMMENTS)
                            for _ in range(random_.randint(1, 2))) + random_.choice(["\n", " ", "", "\n\n"])
        elif random_.random() < 0.1:
            made += random_.choice(["\n", "\n\n\n"])
        made += text[token.start:token.end]
        end = token.end
    return made + text[end:]


@given(program=programs(), seed=st.integers(0, 1000))
@settings(max_examples=examples(60), deadline=None)
def test_random_programs(program: RandomProgram, seed: int) -> None:
    source = program.source.removeprefix(LIBRARY)
    checked(source)
    checked(with_comments(source, random.Random(seed)))


def test_what_random_programs_call() -> None:
    checked(LIBRARY)
    checked(with_comments(LIBRARY, random.Random(1)))


@pytest.mark.parametrize("path", PROGRAMS[::3], ids=lambda path: path.stem)
def test_what_the_compiler_prints_of_a_tree_is_formatted(path: Path) -> None:
    """There is one way of writing NESL."""
    shown = syntax_text.show(parse_program(Source("test", path.read_text("utf-8"))))
    assert fmt(shown) == shown


@pytest.mark.parametrize("locale", ["C", "POSIX", "en_US.ISO-8859-1"])
def test_standard_input_and_output_are_utf_8_whatever_the_locale(locale: str) -> None:
    given = "äö=1;%\N{GREEK SMALL LETTER LAMDA}%\r\n".encode()
    environment = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "latin-1",
                   "PYTHONPATH": PYTHONPATH}
    words = [sys.executable, "-m", "nessie", "fmt", "-"]
    ran = finished(words, input=given, env=environment, text=False)
    assert ran.stdout.decode() == "äö = 1;  %\N{GREEK SMALL LETTER LAMDA}%\n", ran.stderr


LAID_OUT = [
    ("a=1;;b = 2;", "a = 1;\nb = 2;\n"),
    ("", ""), ("% only %", "% only %\n"), ("\n\n% a %\n\n\n\n% b %", "% a %\n\n% b %\n"),
    ("f ( x )[ 1 ];-x;f #y;f x;", "f(x)[1];\n-x;\nf #y;\nf x;\n"),
    ("LET A=1E6 IN a*A;", "LET A = 1E6 IN a * A;\n"),
    ("let a=1;\nb=2 in a;", "let a = 1;\n    b = 2\nin a;\n"),
    ("if a\nthen b else c;", "if a then b\nelse c;\n"),
    ("[[1,2],\n[3,4]];", "[[1, 2],\n [3, 4]];\n"),
    ("[1,\n2];", "[1, 2];\n"),
    ("function g(x):[int]->[int]::(a in any)\"doc\"=\nx;",
     'function g(x) : [int] -> [int] :: (a in any) "doc" =\n  x;\n'),
    ("function g(a) : [ i<n=>[int;i+1]]->a :: a in any $",
     "function g(a) : [i < n => [int; i + 1]] -> a :: a in any$\n"),
    ("datatype p(int,[a])::(a in any);", "datatype p(int, [a]) :: (a in any);\n"),
    ('load   "x.nesl" , verbose:=t ;? ;', 'load "x.nesl" , verbose:=t;\n? ;\n'),
    ("{*x:x in y;z|x>1};{x in y};", "{* x : x in y; z | x > 1};\n{x in y};\n"),
    ("let a=1; % one %\n    bcd=2; % two %\nin a;", "let a = 1;    % one %\n    bcd = 2;  % two %\nin a;\n"),
    ("f(a % c % , % d % b);", "f(a % c %, % d % b);\n"),
    ("a +\n   % c\n     d %\n b;", "a\n  +\n  % c\n    d %\n  b;\n"),
]


@pytest.mark.parametrize(("text", "shown"), LAID_OUT)
def test_layout(text: str, shown: str) -> None:
    assert checked(text) == shown


@pytest.mark.sampled(quick=3, ci=3)
@pytest.mark.parametrize("text", ["+".join(["x"] * 3000), "f(" * 3000 + "x" + ")" * 3000, "[" * 2000 + "x" + "]" * 2000,
                                  "x => " * 3000 + "x", "let a = 1 in " * 3000 + "a", "x, " * 3000 + "y",
                                  "(" * 3000 + "x" + ")" * 3000, "if a then b else " * 2000 + "c", "a->" * 3000 + "b"],
                         ids=lambda text: text[:10])
def test_deep_programs(text: str) -> None:
    checked(text + ";")


# The command ------------------------------------------------------------------------------------


def test_the_command_replaces_files_that_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.nesl"
    path.write_bytes(b"\xef\xbb\xbfa=1;\r\nb=2;\r\n")
    assert main(["fmt", str(path), "--check"]) == 1
    assert capsys.readouterr().out == f"{path} would change\n"
    assert main(["fmt", "--diff", str(path)]) == 1
    assert "\n-a=1;\n-b=2;\n+a = 1;\n+b = 2;\n" in capsys.readouterr().out
    assert path.read_bytes().endswith(b"a=1;\r\nb=2;\r\n")
    assert main(["fmt", str(path)]) == 0
    assert path.read_bytes() == b"a = 1;\r\nb = 2;\r\n"
    before = path.stat()
    assert main(["fmt", str(path)]) == main(["fmt", "--check", str(path)]) == main(["fmt", "--diff", str(path)]) == 0
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert capsys.readouterr() == ("", "")


def test_the_command_leaves_bad_programs_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, good = tmp_path / "bad.nesl", tmp_path / "good.nesl"
    bad.write_text("a=1;\nb==;\n")
    good.write_text("a=1;\n")
    assert main(["fmt", str(bad), str(tmp_path / "none.nesl"), str(good)]) == 1
    err = capsys.readouterr().err
    assert f"--> {bad}:2:4" in err and "cannot read" in err
    assert (bad.read_text(), good.read_text()) == ("a=1;\nb==;\n", "a = 1;\n")


def test_the_command_reads_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a=1;"))
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out == "a = 1;\n"
    assert main(["fmt"]) == 2


def test_what_would_change_the_tree_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of the layouts reaches no file."""
    for wrong in (lambda *_: "", lambda left, *_: "a = 2", lambda *_: "a = 1 + 2"):
        monkeypatch.setitem(format.LAYOUTS, "p_assign", wrong)
        with pytest.raises((InternalError, NessieError)):
            fmt("a = 1;")
