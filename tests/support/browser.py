"""A Chromium without a window, driven over a pipe by its DevTools protocol."""
from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = (os.environ.get("CHROME", ""), "chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
OPTIONS = ("--headless", "--remote-debugging-pipe", "--no-sandbox", "--no-zygote", "--disable-gpu", "--hide-scrollbars",
           "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
           "--disable-sync")
KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27, "Enter": 13, "Tab": 9,
        "Backspace": 8}
TYPED = {"Enter": "\r"}         # what keys type
PATIENCE = 60.0                 # seconds


class Browser:
    """One page. Requests that it makes and errors in its scripts are kept."""

    def __init__(self, width: int = 1366, height: int = 768) -> None:
        assert CHROMIUM is not None
        self.folder = tempfile.mkdtemp(prefix="nessie-browser-")
        theirs_in, self.to = os.pipe()
        self.of, theirs_out = os.pipe()

        def ends() -> None:         # it reads from 3 and writes to 4
            os.dup2(theirs_in, 13)
            os.dup2(theirs_out, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        self.process = subprocess.Popen([CHROMIUM, *OPTIONS, f"--user-data-dir={self.folder}"], preexec_fn=ends,
                                        close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.left, self.number, self.session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.of)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.left:
            if not select.select([self.of], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing")
            read = os.read(self.of, 1 << 16)
            if not read:
                raise EOFError("the browser has gone")
            self.left += read
        first, self.left = self.left.split(b"\0", 1)
        found: dict[str, Any] = json.loads(first)
        return found

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers; events that come before are kept."""
        self.number += 1
        session = {"sessionId": self.session} if self.session else {}
        text = json.dumps({"id": self.number, "method": method, "params": parameters, **session})
        rest = memoryview(text.encode() + b"\0")
        while rest:
            rest = rest[os.write(self.to, rest):]
        while (found := self.message()).get("id") != self.number:
            self.events.append(found)
        assert "error" not in found, found
        answer: dict[str, Any] = found["result"]
        return answer

    def open(self, page: Path | str, address: str = "") -> None:
        """Open a file, or what a server has at an address."""
        url = page if isinstance(page, str) else page.as_uri()
        self.events.clear()
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=f"{url}{address}")
        while self.run("document.readyState") != "complete" or self.run("location.protocol") == "about:":
            time.sleep(0.02)

    def run(self, script: str) -> Any:
        """The value of an expression in the page, when it has settled."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def settle(self) -> None:
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def key(self, name: str, shift: bool = False) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=KEYS[name],
                     modifiers=8 if shift else 0)
        self.settle()

    def press(self, name: str) -> None:
        """Press a key with what it types, as a person's does."""
        for kind in ("keyDown", "keyUp"):
            typed = {"text": TYPED[name]} if name in TYPED and kind == "keyDown" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=KEYS[name],
                     **typed)
        self.settle()

    def mouse(self, kind: str, x: float, y: float, buttons: int = 0) -> None:
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, buttons=buttons, clickCount=1,
                 button="left" if buttons or kind != "mouseMoved" else "none")
        self.settle()

    def hover(self, element: str) -> None:
        """Move the mouse onto what a JavaScript expression finds."""
        x, y = self.run(f"(() => {{ const [r] = ({element}).getClientRects(); return [r.left + 3, r.top + 3] }})()")
        self.mouse("mouseMoved", x, y)

    def click(self, element: str) -> None:
        x, y = self.run(f"(() => {{ const [r] = ({element}).getClientRects(); return [r.left + 4, r.top + 4] }})()")
        for kind, buttons in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)):
            self.mouse(kind, x, y, buttons)

    def type(self, text: str) -> None:
        """Type the characters where the focus is, one after another."""
        for letter in text:
            self.ask("Input.insertText", text=letter)

    def until(self, condition: str, seconds: float = PATIENCE) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < end, f"it stays false: {condition}"
            time.sleep(0.01)

    def requests(self) -> list[str]:
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def errors(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event.get("method") == "Runtime.exceptionThrown"
                or (event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error")
                or (event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] == "error")]
