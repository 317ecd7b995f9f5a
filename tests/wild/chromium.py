"""A headless Chromium, driven over pipes by its own protocol (CDP): no package is needed."""
# ruff: noqa: ANN401 - values of a page are anything

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from ltocompat.model.closing import Closing

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def found() -> str | None:
    """The browser of this machine."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser(Closing):
    """One tab.

    Attributes:
        noise: what the page logged, and what it was refused.
    """

    def __init__(self, profile: Path) -> None:
        command, self._out = os.pipe()
        self._in, answer = os.pipe()
        # The protocol is spoken on descriptors 3 (read by the browser) and 4 (written by it).
        shell = f'exec "$0" "$@" 3<&{command} 4>&{answer}'
        browser = found()
        assert browser is not None
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            ["bash", "-c", shell, browser, *options, f"--user-data-dir={profile}"],  # noqa: S607
            pass_fds=(command, answer),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command)
        os.close(answer)
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.noise: list[str] = []
        tab = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=tab, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        self._session = None
        self.ask("Browser.close")
        self._process.wait(20)
        os.close(self._in)
        os.close(self._out)

    def ask(self, method: str, **parameters: Any) -> Any:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, path: Path, mark: str = "") -> None:
        """Load a file, and wait until it is there."""
        self.noise.clear()
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=path.as_uri() + mark)
        while self._read().get("method") != "Page.loadEventFired":
            pass

    def settle(self) -> None:
        """Wait until the page has done what it was asked."""
        self.run("new Promise((done) => setTimeout(done, 100))")

    def until(self, script: str) -> None:
        """Wait until an expression is true, also on a page that is still to come."""
        for _ in range(200):
            answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
            if answer["result"].get("value"):
                return
            time.sleep(0.05)
        raise AssertionError(f"never true: {script}")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key: ``Tab`` 9, ``Enter`` 13."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **about)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.ask("Input.insertText", text=text)

    def look(self, width: int, scheme: str) -> None:
        """Be a window of this width, light or dark."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        wish = {"name": "prefers-color-scheme", "value": scheme}
        self.ask("Emulation.setEmulatedMedia", features=[wish])

    def _read(self) -> Any:
        while b"\0" not in self._rest:
            piece = os.read(self._in, 1 << 16)
            assert piece, "the browser has gone"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        event = json.loads(message)
        match event.get("method"):
            case "Log.entryAdded":
                self.noise.append(event["params"]["entry"]["text"])
            case "Runtime.exceptionThrown" | "Runtime.consoleAPICalled":
                self.noise.append(json.dumps(event["params"]))
            case "Network.requestWillBeSent":
                url = event["params"]["request"]["url"]
                if not url.startswith(("file:", "about:", "data:")):
                    self.noise.append(f"asked for {url}")
        return event
