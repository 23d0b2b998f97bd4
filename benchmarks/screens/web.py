"""Opens `kdissect tui --web` in a headless Chromium, presses keys, takes a picture.

    python -m benchmarks.screens.web captures/kafka44_java_transactions.pcapng web.png 4

Needs the extra `web` and a `chromium` on the path; it speaks the DevTools protocol over aiohttp, which
textual-serve brings.
"""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

PORT = 8218
SECONDS_TO_START = 20
SECONDS_TO_LOAD = 15  # a page starts a program, which reads a capture
SECONDS_A_KEY = 1.5
_LISTENING = re.compile(r"DevTools listening on (ws://\S+)")


class Browser:
    """One page of a Chromium, by its DevTools."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self._session = ""

    async def open(self, url: str) -> None:
        """Show a page."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        await self.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1,
                        mobile=False)  # fmt: skip
        await self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        await self.call("Page.enable")
        await self.call("Page.navigate", url=url)

    async def press(self, key: str) -> None:
        """Type a character, or press a key by its name."""
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        number = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "Tab": 9}.get(key, 0)
        event = {"key": key, "code": key, "windowsVirtualKeyCode": number}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    async def click(self, x: int, y: int) -> None:
        """Click at a point."""
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def picture(self) -> bytes:
        """Return the page as PNG."""
        return b64decode((await self.call("Page.captureScreenshot", format="png"))["data"])

    async def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol. Raises RuntimeError."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        await self._socket.send_json(message)
        while True:
            answer = await self._socket.receive_json()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]


async def take(captures: Sequence[str], keys: Sequence[str], path: Path) -> None:
    """Serve, open, press, write the picture."""
    server = subprocess.Popen(
        [sys.executable, "-m", "kdissect", "tui", *captures, "--web", "--web-port", str(PORT)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    profile = tempfile.mkdtemp()
    chromium = subprocess.Popen(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
         f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        await _until_served()
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(_devtools(chromium), max_msg_size=0) as socket,
        ):
            browser = Browser(socket)
            await browser.open(f"http://127.0.0.1:{PORT}/")
            await asyncio.sleep(SECONDS_TO_LOAD)
            await browser.click(300, 300)  # keys go to the page that was clicked at
            for key in keys:
                await browser.press(key)
                await asyncio.sleep(SECONDS_A_KEY)
            path.write_bytes(await browser.picture())
    finally:
        for process in (chromium, server):
            process.terminate()
            process.wait()
        shutil.rmtree(profile, ignore_errors=True)


async def _until_served() -> None:
    for _ in range(SECONDS_TO_START * 5):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", PORT)
        except OSError:
            await asyncio.sleep(0.2)
            continue
        writer.close()
        return
    raise RuntimeError("nothing is served")


def _devtools(chromium: "subprocess.Popen[str]") -> str:
    assert chromium.stderr is not None
    for line in chromium.stderr:
        found = _LISTENING.search(line)
        if found:
            return found[1]
    raise RuntimeError("Chromium did not start")


if __name__ == "__main__":
    capture, picture, *pressed = sys.argv[1:]
    asyncio.run(take([capture], pressed, Path(picture)))
