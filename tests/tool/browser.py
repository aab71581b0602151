"""A headless Chromium, driven through its DevTools protocol over a pipe.

https://chromedevtools.github.io/devtools-protocol; messages are JSON, each ended by a NUL.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

PROGRAM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
SECONDS = 60


class Browser:
    """One page. Use as a context manager; not thread-safe."""

    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="flagos-browser-")
        from_us, self._out = os.pipe()
        self._in, to_us = os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        script = f"exec timeout {SECONDS} \"$@\" 3<&{from_us} 4>&{to_us}"
        self._process = subprocess.Popen(
            ["sh", "-c", script, "sh", str(PROGRAM), "--headless=new", "--remote-debugging-pipe", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={self._profile.name}"],
            pass_fds=(from_us, to_us), stderr=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.errors: list[str] = []  # uncaught exceptions and messages of the console's error level, and blocked fetches
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait()
        self._profile.cleanup()

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            read = os.read(self._in, 1 << 20)
            if not read:
                raise RuntimeError(f"the browser ended: exit status {self._process.wait()}")
            self._buffer += read
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        method, about = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(about["exceptionDetails"])[:500])
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(about["entry"]["text"])
        return message

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command's result. Raises RuntimeError with what the browser says against it."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, page: Path, width: int, height: int, scheme: str) -> None:
        """Loads a page in a window of this many pixels; `scheme` is "light" or "dark"."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=page.resolve().as_uri())
        while self._message().get("method") != "Page.loadEventFired":
            pass
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def value(self, expression: str) -> Any:
        """What a JavaScript expression comes to, awaited; it must be JSON."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def screenshot(self, file: Path) -> None:
        """Writes the whole page, a PNG."""
        import base64

        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]))
