# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for tests, controlled over its debugging pipe: no port, no library.

Messages are JSON, each ended by a zero byte, on the descriptors 3 and 4 of the browser.
Source: https://chromedevtools.github.io/devtools-protocol/
"""

import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LIMIT_S = 60  # for an answer, the start of the browser included
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--remote-debugging-pipe", "--allow-file-access-from-files")


def find_chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """A browser with one page. Its log messages and uncaught errors are in `errors`."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.to_browser, self.from_browser = to_browser, from_browser
        self.buffer = b""
        self.calls = 0
        self.session: str | None = None
        self.errors: list[str] = []
        self.loaded = 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.from_browser], [], [], left)[0]:
                raise TimeoutError(f"the browser says nothing for {LIMIT_S} s")
            chunk = os.read(self.from_browser, 1 << 16)
            if not chunk:
                raise ConnectionError("the browser has ended")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def note(self, event: dict[str, Any]) -> None:
        method, what = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded += 1
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(what["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.errors.append(json.dumps(what["entry"]))
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(json.dumps(what["args"]))

    def call(self, method: str, **what: Any) -> dict[str, Any]:
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": what}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + LIMIT_S
        while True:
            answer = self.read(deadline)
            if answer.get("id") != self.calls:
                self.note(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            self.note(self.read(deadline))

    def open(self, file: Path) -> None:
        before = self.loaded
        self.call("Page.navigate", url=file.resolve().as_uri())
        self.until(lambda: self.loaded > before)

    def ask(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def hover(self, selector: str) -> list[float]:
        """Moves the mouse to the element's place on the screen, which is returned."""
        box = self.ask(f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
                       "e.scrollIntoView({block: 'center', behavior: 'instant'});"
                       "const b = e.getBoundingClientRect();"
                       "return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
        return box

    def click(self, selector: str) -> None:
        """Clicks with the mouse at the element's place on the screen."""
        box = self.hover(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left",
                      clickCount=1)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)

    def prefer(self, scheme: str, media: str = "screen") -> None:
        """Emulates a preference for light or dark, on a screen or in print."""
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        raise FileNotFoundError("chromium is not installed")
    into_reader, into_writer = os.pipe()
    out_reader, out_writer = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$@" 3<&{into_reader} 4>&{out_writer}', "chromium", program,
             *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(into_reader, out_writer), stderr=subprocess.DEVNULL)
        os.close(into_reader)
        os.close(out_writer)
        try:
            yield Browser(into_writer, out_reader)
        finally:
            os.close(into_writer)  # the browser ends with its pipe
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(out_reader)
