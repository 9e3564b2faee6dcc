"""A server of the live page for tests, and who asks it."""
from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from contextlib import suppress
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from processes import ended


class Served:
    """`nessie serve` as a process of its own."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "nessie", "serve", *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        parts = urlsplit(self.address)
        self.port, self.path = parts.port or 0, parts.path
        self.host = f"127.0.0.1:{self.port}"

    def __enter__(self) -> Served:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.process.terminate()
        ended(self.process)

    def request(self, method: str, path: str, body: bytes | None = None, seconds: float = 60.0,
                **headers: str) -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in ({"Host": self.host} | headers).items():
                connection.putheader(name.replace("_", "-"), value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            said = b""
            with suppress(ConnectionResetError):        # by a server that refuses before it has read all
                said = answer.read()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, said
        finally:
            connection.close()

    def post(self, what: str, asked: Any, **headers: str) -> tuple[int, bytes]:
        usual = {"Origin": f"http://{self.host}", "Content_Type": "application/json"}
        status, _, body = self.request("POST", f"{self.path}{what}", json.dumps(asked).encode(), **(usual | headers))
        return status, body

    def ask(self, what: str, **asked: Any) -> dict[str, Any]:
        """The answer to a question as the page asks it."""
        status, body = self.post(what, asked)
        assert status == 200, (status, body)
        found: dict[str, Any] = json.loads(body)
        return found

    def works(self) -> bool:
        return self.ask("run", program="function twice(x) = 2 * x;", data="21").get("value") == "42"
