"""A headless Chromium, driven over a pipe by the DevTools protocol: one page, and all that went wrong in it.

https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# Nothing that a browser does of its own accord; as root it has no sandbox, and containers have little shared memory.
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
    "--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
    "--disable-default-apps", "--disable-extensions", "--disable-sync", "--no-pings", "--disable-breakpad",
    "--force-color-profile=srgb", "--lang=en-US", "--remote-debugging-pipe",
)  # fmt: skip

PATIENCE = 60.0  # seconds for an answer, on a machine that does other things besides

KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36}
KEYS |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Browser:
    """Sends commands, waits for their answers, and collects complaints and requests on the way."""

    def __init__(self, process: subprocess.Popen[bytes], reading: int, writing: int) -> None:
        self.process, self._reading, self._writing = process, reading, writing
        self._rest, self._last, self._session = b"", 0, ""
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._loaded = False

    def attach(self) -> None:
        (target, *_) = [t for t in self("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        self._session = self("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        message |= {"sessionId": self._session} if self._session else {}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._writing, data) :]
        answer = self._until(lambda one: one.get("id") == self._last)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return dict(answer["result"])

    def _until(self, wanted: Any) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        while True:
            while b"\0" not in self._rest:
                ready, _, _ = select.select([self._reading], [], [], max(until - time.monotonic(), 0))
                found = os.read(self._reading, 1 << 20) if ready else b""
                if not found:
                    raise AssertionError("the browser has left" if ready else "the browser does not answer")
                self._rest += found
            line, _, self._rest = self._rest.partition(b"\0")
            message = json.loads(line)
            self._notice(message)
            if wanted(message):
                return dict(message)

    def _notice(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded":
                self.complaints.append(json.dumps(params)[:2000])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Page.loadEventFired":
                self._loaded = True

    # --- what a person does ---

    def open(self, page: Path) -> None:
        self.open_quietly(page)
        self.settle()

    def open_quietly(self, page: Path) -> None:
        """Without asking the page anything, which may have its scripts off."""
        self._loaded = False
        self("Page.navigate", url=page.resolve().as_uri())
        if not self._loaded:
            self._until(lambda one: one.get("method") == "Page.loadEventFired")

    def settle(self) -> None:
        """Until what was changed is drawn."""
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def window(self, width: int, height: int, *, scale: float = 1, touch: bool = False) -> None:
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=touch)
        self("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.settle()

    def media(self, **features: str) -> None:
        """Such as prefers_color_scheme="dark"."""
        asked = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self("Emulation.setEmulatedMedia", features=asked)
        self.settle()

    def js(self, expression: str) -> Any:
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        return str(self.js(f"document.querySelector({json.dumps(selector)}).textContent"))

    def text_of_page(self) -> str:
        """All that can be read, as those who read aloud get it: needs no script."""
        nodes = self("Accessibility.getFullAXTree")["nodes"]
        return " ".join(str(node["name"].get("value", "")) for node in nodes if "name" in node)

    def middle(self, selector: str) -> tuple[float, float]:
        """Where an element is in the window, after it was brought there."""
        where = json.dumps(selector)
        found = f"const found = document.querySelector({where})"
        self.js(f"{{ {found}; found.scrollIntoView({{block: 'center', behavior: 'instant'}}) }}")
        box = self.js(
            f"{{ {found}; const box = found.getBoundingClientRect(); [box.x, box.y, box.width, box.height] }}"
        )
        return box[0] + box[2] / 2, box[1] + box[3] / 2

    def mouse(self, kind: str, x: float, y: float, buttons: int = 0) -> None:
        button = "left" if kind != "mouseMoved" or buttons else "none"
        self(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            button=button,
            buttons=buttons,
            clickCount=int(button == "left"),
        )

    def click(self, selector: str) -> None:
        x, y = self.middle(selector)
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseReleased", x, y)

    def drag(self, selector: str, by: float, *, touch: bool = False) -> None:
        """Up or down, in a few moves."""
        x, y = self.middle(selector)
        places = [y + by * part / 4 for part in range(5)]
        if touch:
            self("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
            for at in places:
                self("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": x, "y": at}])
            self("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
            return
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, 1)
        for at in places:
            self.mouse("mouseMoved", x, at, 1)
        self.mouse("mouseReleased", x, places[-1])

    def press(self, key: str, *, shift: bool = False) -> None:
        more = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        same = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS.get(key, 0), "modifiers": 8 * shift}
        self("Input.dispatchKeyEvent", type="keyDown", **same, **more)
        self("Input.dispatchKeyEvent", type="keyUp", **same)

    def write(self, text: str) -> None:
        self("Input.insertText", text=text)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        more: dict[str, Any] = {}
        if whole:
            size = self("Page.getLayoutMetrics")["cssContentSize"]
            more["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = self("Page.captureScreenshot", captureBeyondViewport=whole, **more)["data"]
        path.write_bytes(b64decode(data))


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Started for the block, with a profile of its own in the folder."""
    assert PROGRAM is not None
    to_them, writing = os.pipe()
    reading, from_them = os.pipe()
    # The browser reads its descriptor 3 and writes to its 4.
    command = [
        "bash",
        "-c",
        f'exec "$@" 3<&{to_them} 4>&{from_them}',
        "bash",
        PROGRAM,
        *FLAGS,
        f"--user-data-dir={folder}",
    ]
    process = subprocess.Popen(
        [*command, "about:blank"],
        pass_fds=(to_them, from_them),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "LC_ALL": "C.UTF-8"},
    )
    os.close(to_them)
    os.close(from_them)
    try:
        driven = Browser(process, reading, writing)
        driven.attach()
        yield driven
        driven._session = ""
        driven("Browser.close")
        process.wait(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
        os.close(reading)
        os.close(writing)
