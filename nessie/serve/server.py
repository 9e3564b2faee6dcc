"""Serves the live page on this computer, to whoever knows its address, which has a token.

    http://127.0.0.1:PORT/TOKEN/            the page
    POST .../look, .../run                  a question and its answer, in JSON (nessie.serve.live)

Other pages in the same browser cannot ask: they do not know the token; the host must be this computer, by a name that
no other computer can take; and a question says which page it comes from. The page itself can ask nobody else.
"""
from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from nessie.base.records import dataclass
from nessie.base.source import NessieError, Source
from nessie.base.system.extras import install
from nessie.serve.page import live_page
from nessie.serve.workers import Busy, Ended, Limits, Workers

try:
    from tornado.httpserver import HTTPServer
    from tornado.netutil import bind_sockets
    from tornado.web import Application, HTTPError, RequestHandler
except ImportError:
    raise NessieError("the live page needs Tornado", hint=install("serve")) from None

ADDRESS, NAMES = "127.0.0.1", ("127.0.0.1", "localhost")
LARGEST = 256 << 10             # bytes of a question
WAITS = 10.0                    # seconds for the rest of a question
POLICY = "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; " \
         "script-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'"
FRAMES = "frame-ancestors 'none'"       # which only a header can say
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
           "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
           "Cache-Control": "no-store"}


@dataclass(frozen=True)
class Site:
    """What the server serves, and to whom."""
    token: str
    port: int
    workers: Workers
    start: Source | None            # the program that the page begins with

    @property
    def address(self) -> str:
        return f"http://{ADDRESS}:{self.port}/{self.token}/"


class Handler(RequestHandler):
    """Answers those who know the token, by the name of this computer."""

    def initialize(self, site: Site) -> None:
        self.site = site

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        hosts = [f"{name}:{self.site.port}" for name in NAMES]
        origin = self.request.headers.get("Origin")
        if self.request.host not in hosts or origin not in (None, *[f"http://{host}" for host in hosts]) \
                or not secrets.compare_digest(self.path_args[0].encode(), self.site.token.encode()):
            raise HTTPError(403)

    def write_error(self, status_code: int, **about: Any) -> None:
        self.finish(f"{status_code}\n")


class PageHandler(Handler):
    def get(self, token: str) -> None:
        nonce = secrets.token_urlsafe(16)
        policy = POLICY.format(nonce=nonce)
        self.set_header("Content-Security-Policy", f"{policy}; {FRAMES}")
        self.write(live_page(self.site.start, policy, nonce))


class QuestionHandler(Handler):
    """Takes a question to a worker; one that nobody waits for any more is given up."""

    async def post(self, token: str, what: str) -> None:
        if self.request.headers.get("Origin") is None \
                or self.request.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            raise HTTPError(403)
        question = question_of(self.request.body, what)
        if question is None:
            raise HTTPError(400)
        self.asking = asyncio.ensure_future(self.site.workers.ask(question))
        self.set_header("Content-Type", "application/json")
        try:
            self.write(await self.asking)
        except Busy:
            raise HTTPError(503) from None
        except Ended as ended:
            self.write({"errors": [{"message": str(ended), "hint": "", "text": str(ended), "places": []}]})
        except asyncio.CancelledError:
            pass

    def on_connection_close(self) -> None:
        asking = getattr(self, "asking", None)
        if asking is not None:
            asking.cancel()


TEXTS = {"program": "", "entry": "", "data": "", "machine": "cpu", "mode": "ilp"}       # what a question has, usually
MODES = ("ilp", "greedy", "none")
MOST = 64                       # of wishes, sizes, stages


def question_of(body: bytes, what: str) -> bytes | None:
    """The question as nessie.serve.live takes it; None if it is none."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(asked, dict):
        return None
    texts = {name: asked.get(name, usual) for name, usual in TEXTS.items()}
    pairs = {name: asked.get(name, []) for name in ("cut", "fuse")}
    sizes, stages = asked.get("sizes", {}), asked.get("stages", [])
    right = all(isinstance(text, str) for text in texts.values()) and texts["mode"] in MODES \
        and all(is_list(wishes) and all(is_list(pair) and len(pair) == 2 and all(isinstance(name, str) for name in pair)
                                        for pair in wishes) for wishes in pairs.values()) \
        and isinstance(sizes, dict) and len(sizes) <= MOST and all(is_size(size) for size in sizes.values()) \
        and is_list(stages) and all(isinstance(name, str) for name in stages)
    return json.dumps({"do": what, **texts, **pairs, "sizes": sizes, "stages": stages,
                       "details": asked.get("details") is True}).encode() if right else None


def is_list(found: object) -> bool:
    return isinstance(found, list) and len(found) <= MOST


def is_size(found: object) -> bool:
    return isinstance(found, (int, float)) and not isinstance(found, bool) and 0 <= found <= 2 ** 48


def application(site: Site) -> Application:
    about = {"site": site}
    return Application([(r"/([^/]*)/", PageHandler, about), (r"/([^/]*)/(look|run)", QuestionHandler, about),
                        (r"/([^/]*)(?:/.*)?", Handler, about)], log_function=lambda handler: None)


async def serving(start: Source | None, port: int, limits: Limits, ready: Callable[[Site], object],
                  until: Callable[[], Awaitable[object]]) -> None:
    """Serve until `until` ends. `ready` is told when questions can be asked."""
    sockets = bind_sockets(port, ADDRESS)
    site = Site(secrets.token_urlsafe(24), sockets[0].getsockname()[1], Workers(limits), start)
    server = HTTPServer(application(site), max_body_size=LARGEST, max_buffer_size=2 * LARGEST, body_timeout=WAITS,
                        idle_connection_timeout=60.0)
    server.add_sockets(sockets)
    try:
        await site.workers.start()
        ready(site)
        await until()
    finally:
        server.stop()
        site.workers.end()
