"""The live page's server: who is answered, what a program may take, and that it goes on whatever is asked."""
from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("tornado")
from served import Served

from nessie.serve.workers import Limits, Workers

SECONDS = 2                     # that a program may take
ENDLESS = "function down(n) = if n == 0 then 1 else down(n - 1); function around(n) = if n == 0 then 0 else " \
          "around(down(1000000));"
TWICE = {"program": "function twice(x) = 2 * x;", "data": "21"}


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served("--time-limit", str(SECONDS), "--memory", "200M") as found:
        yield found


# Who is answered ------------------------------------------------------------------------------------


def test_the_page_comes_whole_and_may_ask_nobody_else(served: Served) -> None:
    status, headers, body = served.request("GET", served.path)
    assert status == 200 and b"LivePage" in body and b"CodeMirror" in body
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; connect-src 'self'; ") and "frame-ancestors 'none'" in policy
    nonce = policy.partition("'nonce-")[2].partition("'")[0]
    assert f'<script nonce="{nonce}">'.encode() in body
    assert served.request("GET", served.path)[1]["content-security-policy"] != policy, "a nonce is used once"
    assert headers["referrer-policy"] == "no-referrer" and headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store" and "server" not in headers
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1",
                                  "127.0.0.1:{port}@evil.example", "localhost.evil.example:{port}", ""])
def test_another_host_is_refused(served: Served, host: str) -> None:
    assert served.request("GET", served.path, Host=host.format(port=served.port))[0] in (400, 403)
    assert served.post("run", TWICE, Host=host.format(port=served.port))[0] in (400, 403)


def test_without_the_token_there_is_nothing(served: Served) -> None:
    token = served.path.strip("/")
    assert len(token) >= 32
    for path in ("/", "//", f"/{token[:-1]}/", f"/{token}x/", f"/{'x' * len(token)}/", "/%C3%BC/", "/%00/",
                 "/run", "/x/run", "/x/look", "/favicon.ico", f"/x/../{token}/", "/../../etc/passwd"):
        status, _, body = served.request("GET", path)
        assert status in (403, 404) and b"CodeMirror" not in body, path
    for path in (f"{served.path}x", f"{served.path}../", f"{served.path}/etc/passwd"):
        assert served.request("GET", path)[0] in (403, 404, 405), path
    assert served.request("POST", "/x/run", b"{}", Origin=f"http://{served.host}")[0] == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1",
                                    "http://127.0.0.1:1"])
def test_another_page_is_refused(served: Served, origin: str) -> None:
    assert served.post("run", TWICE, Origin=origin.format(port=served.port))[0] == 403
    assert served.request("GET", served.path, Origin=origin.format(port=served.port))[0] == 403


def test_a_question_says_where_it_comes_from_and_what_it_is(served: Served) -> None:
    body = json.dumps(TWICE).encode()
    assert served.request("POST", f"{served.path}run", body, Content_Type="application/json")[0] == 403, "no origin"
    assert served.post("run", TWICE, Content_Type="text/plain")[0] == 403, "as a form of another page could send it"
    by_name = f"localhost:{served.port}"
    assert served.post("run", TWICE, Host=by_name, Origin=f"http://{by_name}")[0] == 200
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"):
        assert served.request(method, f"{served.path}run", body, Origin=f"http://{served.host}")[0] == 405


# What it takes --------------------------------------------------------------------------------------


def test_a_huge_question_is_refused(served: Served) -> None:
    with suppress(ConnectionError):         # it may hang up before all has been sent
        assert served.post("look", {"program": "x" * (300 << 10)})[0] == 400
    assert served.works()


def test_a_question_said_to_be_huge_is_refused_before_it_comes(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as one:
        one.sendall(f"POST {served.path}run HTTP/1.1\r\nHost: {served.host}\r\n"
                    "Content-Length: 99999999999\r\n\r\n".encode())
        assert one.recv(1 << 16)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 413", b"")
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as one, suppress(ConnectionError):
        one.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * (8 << 20))
        assert one.recv(1 << 16)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 431", b"")
    assert served.works()


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"1", b"[" * 100_000, b'{"program": 1}', b'{"program": "", "stages": "all"}',
    b'{"program": "", "cut": [["a"]]}', b'{"program": "", "cut": [[1, 2]]}', b'{"program": "", "sizes": {"n": "x"}}',
    b'{"program": "", "sizes": {"n": NaN}}', b'{"program": "", "mode": "all"}',
    b'{"program": "", "sizes": {"n": 1e300}}', b'{"program": null}', b"\xff\xfe"])
def test_what_is_no_question_is_refused(served: Served, body: bytes) -> None:
    status = served.request("POST", f"{served.path}look", body, Origin=f"http://{served.host}",
                            Content_Type="application/json")[0]
    assert status == 400


def test_an_endless_program_is_ended(served: Served) -> None:
    began = time.monotonic()
    told = served.ask("run", program=ENDLESS, data="1")["errors"][0]
    assert "took longer than 2 s" in told["message"] and time.monotonic() - began < 4 * SECONDS + 2
    assert served.works()


def test_a_program_gets_no_more_memory_than_there_is_for_it(served: Served) -> None:
    for program in ("function all(n) = let s = [0:n] in (s, {x * x : x in s});",
                    "function deep(n) = if n == 0 then [1] else deep(n - 1) ++ deep(n - 1);"):
        told = served.ask("run", program=program, data="1000000000")["errors"][0]
        assert "memory" in told["message"] or "deep" in told["message"] or "longer" in told["message"], told
    assert served.works()


def test_a_large_result_is_told_in_part(served: Served) -> None:
    found = served.ask("run", program="function up(n) = [0:n];", data="1000000")
    assert len(found["value"]) < 4000
    speaks = 'function say(n) = if n == 0 then 0 else let a = print_line("word") in say(n - 1);'
    printed = served.ask("run", program=speaks, data="20000")
    assert len(printed.get("printed", "")) <= 1 << 16


@pytest.mark.parametrize(["program", "told"], [
    ('load "/etc/passwd";', "load is a command"),
    ('shell "ls";', "is a command"),
    ('dump world "x"; function go(n) = n;', "is a command"),
    ('function go(n) = let (s, ok) = open_in_file("/etc/passwd") in ok;', "has no files"),
    ('function go(n) = read_object_from_file(0, "/etc/passwd");', "has no files"),
    ('function go(n) = write_string_to_file("x", "written");', "has no files"),
    ('function go(n) = shell_command("ls", "");', "runs no other programs"),
    ('function go(n) = spawn("ls", stdin, stdout, stderr);', "runs no other programs"),
    ('function go(n) = get_environment_variable("HOME");', "sees no variables")])
def test_there_are_no_files_and_no_shell(served: Served, program: str, told: str) -> None:
    assert told in json.dumps(served.ask("run", program=program, data="1"))
    assert not Path("written").exists()


def test_data_is_no_way_to_files(served: Served) -> None:
    assert served.ask("run", program=TWICE["program"], data="@/etc/passwd")["errors"]
    assert served.ask("look", program=TWICE["program"], machine="/etc/passwd")["errors"][0]["message"].startswith(
        "there is no machine")


# Many at once ---------------------------------------------------------------------------------------


def test_fifty_at_once_lose_nothing(served: Served) -> None:
    """Each is answered rightly, or told to come again; whoever does gets an answer."""
    def one(number: int) -> tuple[int, bool]:
        refused = 0
        while True:
            status, body = served.post("run", {"program": "function twice(x) = 2 * x;", "data": str(number)})
            if status == 200:
                return refused, json.loads(body).get("value") == str(2 * number)
            assert status == 503
            refused += 1
            time.sleep(0.05)

    with ThreadPoolExecutor(50) as many:
        found = list(many.map(one, range(50)))
    assert all(right for _, right in found)
    assert sum(refused for refused, _ in found) > 0, "more than may wait have come"


def test_fifty_endless_ones_leave_room_for_others(served: Served) -> None:
    with ThreadPoolExecutor(50) as many:
        found = Counter(many.map(lambda n: served.post("run", {"program": ENDLESS, "data": "1"})[0], range(50)))
    assert set(found) == {200, 503} and found[503] >= 30
    assert served.works()


def test_who_goes_away_makes_room(served: Served) -> None:
    body = json.dumps({"program": ENDLESS, "data": "1"}).encode()
    head = f"POST {served.path}run HTTP/1.1\r\nHost: {served.host}\r\nOrigin: http://{served.host}\r\n" \
           f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    for _ in range(4):
        with socket.create_connection(("127.0.0.1", served.port), timeout=20) as one:
            one.sendall(head.encode() + body)
            time.sleep(0.3)
    began = time.monotonic()
    assert served.works() and time.monotonic() - began < 4 * SECONDS


def test_connections_that_say_nothing_do_not_matter(served: Served) -> None:
    silent = [socket.create_connection(("127.0.0.1", served.port), timeout=20) for _ in range(60)]
    try:
        for one in silent[:30]:
            one.sendall(b"POST ")
        assert served.works()
    finally:
        for one in silent:
            one.close()
    assert served.process.poll() is None


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes in /proc")
def test_a_worker_that_died_while_nobody_asked_is_replaced() -> None:
    with Served() as alone:
        assert alone.works()
        children = Path(f"/proc/{alone.process.pid}/task/{alone.process.pid}/children").read_text("utf-8").split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        assert len(children) == 2
        time.sleep(0.5)
        assert alone.works() and alone.works()


def test_the_pages_numbers_have_the_bits_that_are_asked_for() -> None:
    with Served("--int", "32", "--float", "32") as narrow:
        assert narrow.ask("run", program="function next(x) = x + 1;", data="2147483647")["value"] == "-2147483648"
        assert narrow.ask("run", program="function third(x) = x / 3.0;", data="1.0")["value"] == "0.3333333"


class Quick:
    """A worker that answers while nobody can be told of it, until `told` is given back."""

    def __init__(self, told: asyncio.Condition) -> None:
        self.told, self.ready = told, asyncio.ensure_future(asyncio.sleep(0))
        self.process = SimpleNamespace(returncode=None)

    async def ask(self, question: bytes, limits: Limits) -> bytes:
        await self.told.acquire()
        return question


def test_a_question_that_is_left_at_its_end_costs_no_worker() -> None:
    """As browsers do that are closed: the worker is free for others all the same."""
    async def left() -> None:
        workers = Workers(Limits())
        worker: Any = Quick(workers.freed)
        await worker.ready
        workers.free, workers.all = [worker], {worker}
        asking = asyncio.ensure_future(workers.ask(b"2"))
        while not workers.late:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        workers.freed.release()
        while workers.late:
            await asyncio.sleep(0.01)
        assert workers.free == [worker]

    asyncio.run(asyncio.wait_for(left(), 60))
