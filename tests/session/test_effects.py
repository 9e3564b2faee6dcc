"""Effects: printing, time, files, streams and other programs, in order, on all executors."""
from __future__ import annotations

import fcntl
import io
import os
import resource
import sys
from pathlib import Path

import pytest
from amounts import examples, many
from executors import EXECUTORS, QUICK, Compiled, Failed, agree, interpreted, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_programs import RandomProgram, programs

from nessie.base.source import Interrupted, NessieError, Source
from nessie.base.types import CHAR, Seq
from nessie.base.values import text_value
from nessie.pipeline import Job
from nessie.running.targets import Limits, Target
from nessie.running.text_streams import Source as Pieces
from nessie.running.text_streams import Stream, Streams
from nessie.running.world import World
from nessie.session.session import Session

quick = settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))


# Printing ---------------------------------------------------------------------------------------

PRINTING = {
    "one after another": ('(print_string("a"), print_char(`b), print_line("c"))', "abc\n"),
    "let and arguments from left to right": ('let x = print(1+1) in max(print(x), printl(3))', "2 2 3\n"),
    "of a conditional the branch taken": ('if k > 1 then print_string("yes") else print_string("no")', "yes"),
    "elements print in order": ('{print_string(w) : w in ["a","bc","","d"]}', "abcd"),
    "a step of all before the next of any": ('{let _ = print_char(`a) in print_char(`b) : i in [0:3]}', "aaabbb"),
    "each its own": ('{print(i * i) : i in [0:4]}', "0 1 4 9 "),
    "for each element, though it is the same": ('{print_string("x") : i in [0:k]}', "xx"),
    "none for no elements": ('{print_string("x") : i in [0:0]}', ""),
    "two deep": ('{{print(i + j) : j in [0:i]} : i in [0:4]}', "1 2 3 3 4 5 "),
    "branches of elements": ('{if i == 1 then print_string("one") else print_string("other") : i in [0:3]}',
                             "oneotherother"),
    "what only some elements do": ('{if i > 1 then (let _ = print(i) in i) else 0 : i in [0:4]}', "2 3 "),
    "in a condition": ('{if print_string(@i) then i else 0 - i : i in [0:3]}', "012"),
    "in a filter, before the body": ('{print(i) : i in [0:5] | evenp(print(i))}', "0 1 2 3 4 0 2 4 "),
    "in a source": ('{x : x in print([1,2])}', "[1, 2] "),
    "recursion": ("count(2)", "2 1 0 "),
    "lifted recursion": ("{count(i) : i in [0:3]}", "0 1 2 0 1 0 "),
    "in a function that is handed over": ("map(print, [3,1])", "3 1 "),
    "in a lambda": ("let g = x => print(x + k) in {g(i) : i in [0:2]}", "2 3 "),
    "text of any length": ('{print_string(dist(`*, i)) : i in [0:4]}', "******"),
    "the same text for all": ('let s = dist(`s, k) in {print_string(s) : i in [0:3]}', "ssssss"),
    "nobody wants the value": ('let _ = {print_string("a") : i in [0:2]} in 0', "aa"),
    "before a failing check that comes later": ('let _ = print_string("a") in 1 / (k - 2)', "a"),
    "not behind one that comes before": ('let x = 1 / (k - 2) in print_string("a")', ""),
    "not behind one of any element": ('let x = {1 / (i - 2) : i in [0:4]} in print_string("a")', ""),
    "not behind one in the step before": ('{let x = 1 / (i - 2) in print_string("a") : i in [0:4]}', ""),
}
COUNT = "function count(n) = let m = print(n) in if m == 0 then 0 else count(m - 1) + 1;"


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", PRINTING)
def test_printing(name: str, executor: str) -> None:
    expression, expected = PRINTING[name]
    program = Compiled(f"{COUNT} function main(k) = let k = k + 0 in ({expression});")
    expected_value = outcome(program, "interpreter", [2])
    found = outcome(program, executor, [2])
    assert agree(expected_value, found)
    if not (executor == "interpreter" and isinstance(found, Failed)):      # which goes from element to element
        assert "".join(program.printed) == expected


@quick
@given(programs(4, prints=True))
def test_random_programs_print_the_same(random: RandomProgram) -> None:
    compare(random, ("reference none", "reference ilp", "loops ilp"))


@pytest.mark.slow
@settings(quick, max_examples=many(150))
@given(st.integers(4, 6).flatmap(lambda depth: programs(depth, prints=True)))
def test_many_random_programs_print_the_same(random: RandomProgram) -> None:
    compare(random, QUICK)


def compare(random: RandomProgram, executors: tuple[str, ...]) -> None:
    """The same value and the same output; of those that fail the same failure."""
    program = Compiled(random.source)
    expected = interpreted(program, random.arguments)
    if isinstance(expected, Failed):
        return
    printed = "".join(program.printed)
    for executor in executors:
        found = outcome(program, executor, random.arguments)
        assert agree(expected, found), f"{executor}: {found}, not {expected}\n{random}"
        assert "".join(program.printed) == printed, f"{executor}\n{random}"


# Sessions ---------------------------------------------------------------------------------------

@pytest.fixture(params=["cpu", "reference"])
def session(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session whose working directory is empty."""
    monkeypatch.chdir(tmp_path)
    return Session(Target(request.param, world=World(write=lambda text: None)))


def it(session: Session, source: str) -> str:
    """The value of the text's last form, as it is printed."""
    *_, last = session.run(Source("test.nesl", source))
    if isinstance(last, Exception):
        raise last
    return last.value


def test_time_is_that_of_its_expression_alone(session: Session) -> None:
    source = """function work(n) = sum({sqrt(float(i)) : i in [0:n]}) > 0.0;
                let a = work(2000000); (v,s) = time(1 + 1); (w,long) = time(work(2000000))
                in (a, v, w, s >= 0.0, s < long, long < 100.0);"""
    assert it(session, source) == "(T, 2, T, T, T, T)"
    assert it(session, "{let (v,s) = time(i * i) in (v, s >= 0.0) : i in [0:3]};") == "[(0, T), (1, T), (4, T)]"


@pytest.mark.parametrize(("source", "value"), [
    ('let _ = write_string_to_file("ab","f"); _ = append_string_to_file("cd","f") in read_string_from_file("f")',
     '"abcd"'),
    ('let _ = write_string_to_file("( 1 2 -3 )","f") in read_int_seq_from_file("f")', "[1, 2, -3]"),
    ('let _ = write_string_to_file("( 1 2.5e1 3 )","f") in read_float_seq_from_file("f")', "[1.0, 25.0, 3.0]"),
    ('read_string_from_file("none")', '""'), ('read_int_seq_from_file("none")', "[]"),
    ('read_object_from_file((0,"x"),"none")', '(0, "")'),
    ('write_string_to_file("x","no/such/folder")', "F"),
    ('let _ = write_string_to_file("a,b;c","f"); (s,_) = open_in_file("f"); (a,_) = read_string(",;",-1,s); '
     '(b,_) = read_string(",;",-1,s); (c,_) = read_string(",;",-1,s); (d,_) = read_string(",;",-1,s); '
     "_ = close_file(s) in [a,b,c,d]", '[("a", 44), ("b", 59), ("c", -1), ("", -1)]'),
    ('let _ = write_string_to_file("abcdef","f"); (s,_) = open_in_file("f"); (a,_) = read_string("",2,s); '
     '(b,_) = read_string("",0,s); (c,_) = read_string("z",9,s) in (a,b,c)', '(("ab", -2), ("", -2), "cdef", -1)'),
    ('let _ = write_string_to_file([`o,space,`w,tab,`x],"f"); (s,_) = open_in_file("f"); (a,_) = read_word(s); '
     "(b,_) = read_word(s); (c,_) = read_word(s) in [a,b,c]", '[("o", ` , F), ("w", `\t, F), ("x", ` , T)]'),
    ('let _ = write_string_to_file([`l,newline,`m],"f"); (s,_) = open_in_file("f"); (a,_) = read_line(s); '
     "(b,_) = read_line(s) in [a,b]", '[("l", F), ("m", T)]'),
    ('let _ = write_string_to_file("x","f"); (s,_) = open_in_file("f") in (read_char(s), read_char(s))',
     '((`x, T, ""), ` , F, "End of File.")'),
    ('let (s,_) = open_out_file("f"); _ = write_string("ab",s); _ = write_char(`c,s); _ = close_file(s) '
     'in read_string_from_file("f")', '"abc"'),
    ("close_file(nullstr)", '(F, "there is no open stream -1")'),
    ("read_line(nullstr)", '(("", T), F, "there is no open stream -1")'),
    ('write_string("x",nullstr)', '(F, "there is no open stream -1")'),
    ("stdin", "stream(0)"), ('write_string("x",stdout)', '(T, "")'),
    ('let _ = write_string_to_file([`a,newline,`a,`b,newline,`c],"f") in grep("a","f")', '["a", "ab"]'),
    ('get_environment_variable("NO_SUCH_VARIABLE")', '""'), ("get_environment_variable([code_char(0)])", '""'),
    ("let s = {code_char(c) : c in [955,0,10,13,128512,9]}; _ = write_string_to_file(s,\"f\") "
     'in eql(s, read_string_from_file("f"))', "T"),
])
def test_files(session: Session, source: str, value: str) -> None:
    assert it(session, f"{source};") == value


@pytest.mark.parametrize(("example", "value"), [
    ("0", "42"), ("0.0", "-0.125"), ("0.0", "1.0/3.0"), ("f", "t"), ("`a", "`q"), ('""', '"a (b) c"'), ('""', '""'),
    ("[] int", "[3,-1]"), ("[[0]]", "[[1,2],[] int,[3]]"), ("[] [char]", '["x","","(yz"]'),
    ('(0,"",[] float)', '(1,"x",[2.5,inf])'), ("[(0,[t])]", "[(5,[t,f]),(6,[] bool)]"), ("point(0,0)", "point(3,4)"),
    ("[point(0,0)]", "[point(3,4)]"), ("[] ([int],[[char]])", '[([1],["a"])]'),
])
def test_objects_come_back(session: Session, example: str, value: str) -> None:
    source = f"datatype point(int,int); inf = 1e308 * 10.0; v = {value}; e = {example}; write_object_to_file(v,\"f\");"
    assert it(session, source) == "T"
    assert it(session, 'eql(v, read_object_from_file(e,"f"));') == "T"


@pytest.mark.parametrize(("text", "message"), [
    ("", "( ... ) is expected, with a value's elements"), ("( 2 ) ( 1 )", "2 elements are expected, 1 are there"),
    ("( -1 ) ( )", "-1 is no length"), ("( 1 ) ( x )", "a value of type int is expected between ( and )"),
    ("( 1 ) ( 99999999999999999999 )", "a value of type int is expected between ( and )"),
    ("1 2 3", "( ... ) is expected, with a value's elements"), ("( 1 ) ( 1_0 )", "a value of type int is expected"),
])
def test_what_is_no_object_is_told(session: Session, text: str, message: str) -> None:
    source = f"""let _ = write_string_to_file("{text}","f"); (s,_) = open_in_file("f"); (v,status) = read_object([7],s)
                 in (v, status);"""
    assert it(session, source).startswith(f'([], F, "{message}')


def test_lengths_that_no_memory_holds_are_no_object(session: Session) -> None:
    rows = "( 4 ) ( " + "4611686018427387904 " * 4 + ") ( )"
    source = f"""let _ = write_string_to_file("{rows}","f"); (s,_) = open_in_file("f")
                 in rest(read_object([[7]],s));"""
    assert it(session, source) == '(F, "4611686018427387904 is no length")'


def test_standard_input(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = io.StringIO("one\ntwo words\n\n\nyes\n")
    monkeypatch.setattr(session.target, "world", World(lambda text: None, input=typed))
    assert it(session, "first(read_line(stdin));") == '("one", F)'
    assert it(session, "let _ = close_file(stdin) in first(read_word(stdin));") == '("two", ` , F)'
    assert it(session, 'prompt("? ");') == '"words"'
    assert it(session, 'prompt("? ");') == '"yes"'
    assert it(session, 'prompt("? ");') == '""'
    assert it(session, "first(read_line(stdin));") == '("", T)'
    monkeypatch.setattr(session.target, "world", World(lambda text: None, input=None))
    assert it(session, "read_line(stdin);") == '(("", T), T, "")'           # where there is none, it has ended


def test_limits_hold_for_effects(session: Session, tmp_path: Path) -> None:
    read, write = os.pipe()
    session.target.limits = Limits(seconds=3.0, memory=100_000)
    session.target.world.allow_shell = True
    number = session.target.world.streams.add(read)
    for source, told in ((f"read_line(stream({number}));", "it took longer than 3 s"),
                         ('shell_command("sleep 99","");', "it took longer than 3 s"),
                         ('#read_string_from_file("/dev/zero");', "out of memory")):
        with pytest.raises(NessieError, match=told) as caught:
            it(session, source)
        assert caught.value.places
    os.close(write)


def test_the_users_own_errors_are_no_checks() -> None:
    for target in ("cpu", "reference"):
        session = Session(Target(target), job=Job(unchecked=True))
        for source in ('error("x");', '{error("x") : i in [0:2]};', 'if 1 > 2 then f else error("x");'):
            with pytest.raises(NessieError, match="x"):
                it(session, source)


def test_streams_stay_open_from_form_to_form(session: Session) -> None:
    it(session, '_ = write_string_to_file("a b","f"); (s,_) = open_in_file("f");')
    assert it(session, "first(read_word(s)); first(read_word(s));") == '("b", ` , T)'


def test_long_lines_are_read_in_pieces() -> None:
    with Path(__file__).open() as file:
        stream = Stream(Pieces(file.fileno()))
        read = [stream.read_to("\n", -1) for _ in range(3)]
    assert read == [(line, 10) for line in Path(__file__).read_text().splitlines()[:3]]


@pytest.mark.parametrize("source", [
    'open_in_file("f")', "close_file(nullstr)", "read_line(stdin)", 'write_string("x",stderr)',
    'read_string_from_file("f")', 'write_object_to_file(3,"f")', 'shell_command("true","")',
])
@pytest.mark.parametrize("around", ["{{{} : i in [0:2]}}", "{{{{{} : j in [0:2]}} : i in [0:2]}}",
                                    "{{if i == 0 then (let _ = {} in 0) else 0 : i in [0:2]}}"])
def test_files_are_refused_inside_an_apply_to_each(session: Session, source: str, around: str) -> None:
    with pytest.raises(NessieError, match="cannot be used inside an apply-to-each") as caught:
        it(session, around.format(source) + ";")
    span, _ = caught.value.places[0]
    assert span.source.text[span.start:span.end] == source


# Errors -----------------------------------------------------------------------------------------

@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("expression", "message"), [
    ('error("no " ++ @k)', "no 2"), ('{if i > 1 then error("bad " ++ @i) else t : i in [0:5]}', "bad 2"),
    ('{{if i + j > 2 then error(@(i,j)) else t : j in [0:3]} : i in [0:3]}', "(1, 2)"),
    ('{error("none" ++ @i) : i in [0:0]}', None), ('if k > 3 then error("not" ++ @k) else t', None),
    ('let _ = error("first" ++ @k) in 1 / (k - 2)', "first2"), ('let _ = 1 / (k - 2) in error(@k)', "Divide by zero."),
])
def test_error_stops_with_its_message(expression: str, message: str | None, executor: str) -> None:
    program = Compiled(f"function main(k) = let k = k + 0 in ({expression});")
    found = outcome(program, executor, [2])
    assert (found.message if isinstance(found, Failed) else None) == message


# Other programs ---------------------------------------------------------------------------------

def test_other_programs_need_permission(session: Session) -> None:
    for source in ('shell_command("echo x","");', 'spawn("true",nullstr,nullstr,nullstr);'):
        with pytest.raises(NessieError, match="has not been allowed") as caught:
            it(session, source)
        assert "--allow-shell" in caught.value.hint


def test_other_programs(session: Session) -> None:
    session.target.world.allow_shell = True
    assert it(session, 'shell_command("cat","dog");') == '"dog"'
    program = f"{sys.executable} -c 'print(input()[::-1])'"
    source = f"""let ((i,o,e),_) = spawn("{program}",nullstr,nullstr,stderr); _ = write_string("old",i);
                     _ = close_file(i); (line,_) = read_line(o) in line;"""
    assert it(session, source) == '("dlo", F)'
    assert it(session, 'spawn("no-such-program",nullstr,nullstr,nullstr);').endswith('F, "No such file or directory")')
    assert it(session, 'spawn("",nullstr,nullstr,nullstr);').endswith('F, "there is no program to run")')
    assert it(session, 'spawn("cat",stream(9),nullstr,nullstr);').endswith('F, "there is no open stream 9")')
    assert it(session, 'shell_command("exit 3","");') == '""'
    both_ways = """let ((i,o,e),_) = spawn("cat",nullstr,nullstr,stderr); _ = write_string("there" ++ [newline],i);
                       (line,_) = read_line(o); _ = close_file(i) in line;"""
    assert it(session, both_ways) == '("there", F)'


def test_an_interrupt_while_printing_is_not_lost() -> None:
    world = World(lambda text: world.interrupt())
    with pytest.raises(Interrupted):
        world.perform("print_string", text_value("x"), Seq(CHAR))


def test_descriptors_may_be_many() -> None:
    """`select` takes those below 1024."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most[1] != resource.RLIM_INFINITY and most[1] < 1100:
        pytest.skip("no process has so many")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(most[0], 1100), most[1]))
    read, write = os.pipe()
    streams = Streams()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD, 1050) for end in (read, write)]
    try:
        reader, writer = (streams.add(end) for end in high)
        assert streams.write("ab\n", writer)[0]
        assert Pieces(high[0]).piece(lambda size: None) == "ab\n"
        assert streams.close(reader)[0] and streams.close(writer)[0]
    finally:
        os.close(read)
        os.close(write)
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
