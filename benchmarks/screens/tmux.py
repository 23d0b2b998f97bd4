"""Drives `kdissect tui` in tmux as a person would, and captures the screens as text.

    python -m benchmarks.screens.tmux OUT 80x24 120x40 200x60

Opens two captures, filters, selects a record inside an lz4 batch and looks at its bytes, opens a finding,
saves the marked exchange, quits. Raises where a step does not show what it should. Needs tmux.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

CAPTURES = Path(__file__).parents[2] / "captures"
# One with batches of lz4, one with a finding.
WALKED = CAPTURES / "kafka44_java_transactions.pcapng", CAPTURES / "tansu_rdk216_txn.pcap"
PATIENCE_S = 60  # for one step
LOOK_S = 0.2


class Terminal:
    """A tmux server of our own with one window."""

    def __init__(self, command: Sequence[str], columns: int, lines: int, config: Path) -> None:
        self._socket = str(config / "tmux")
        environment = [f"-eXDG_CONFIG_HOME={config}", "-eCOLORTERM=truecolor"]
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), *environment,
                   *command)  # fmt: skip
        self._tmux("set-option", "-g", "escape-time", "0")

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)

    def press(self, *keys: str) -> None:
        """Press keys by their names in tmux."""
        for key in keys:
            self._tmux("send-keys", key)
            time.sleep(0.05)

    def send(self, key: str) -> None:
        """Press one key, and go on at once."""
        self._tmux("send-keys", key)

    def pane_process(self) -> str:
        """Return the id of the process in the window."""
        return self._tmux("display-message", "-p", "#{pane_pid}").strip()

    def type(self, text: str) -> None:
        """Type a text."""
        self._tmux("send-keys", "-l", text)

    def screen(self) -> str:
        """Return the text of the screen."""
        return self._tmux("capture-pane", "-p")

    def until(self, *texts: str) -> str:
        """Wait for texts to stand on the screen. Raises TimeoutError with the screen."""
        end = time.monotonic() + PATIENCE_S
        while True:
            found = self.screen()
            if all(text in found for text in texts):
                return found
            if time.monotonic() > end:
                raise TimeoutError(f"{texts} did not come:\n{found}")
            time.sleep(LOOK_S)

    def is_over(self) -> bool:
        """Return whether the program ended, and the server with it."""
        ran = subprocess.run(["tmux", "-S", self._socket, "has-session"], capture_output=True, check=False)
        return ran.returncode != 0

    def _tmux(self, *arguments: str) -> str:
        ran = subprocess.run(
            ["tmux", "-S", self._socket, *arguments], capture_output=True, text=True, check=False
        )
        if ran.returncode:
            raise RuntimeError(f"tmux {arguments[0]}: {ran.stderr.strip()}")
        return ran.stdout


def walk(columns: int, lines: int, saved: Path) -> dict[str, str]:
    """Walk through all steps, and return the screens by the names of the steps."""
    config = Path(tempfile.mkdtemp())
    command = [sys.executable, "-m", "kdissect", "tui", *map(str, WALKED)]
    screens: dict[str, str] = {}
    try:
        with Terminal(command, columns, lines, config) as terminal:
            screens["open"] = terminal.until("290 exchanges", "ApiVersions", "request frame")
            terminal.press("/")
            time.sleep(1)
            terminal.type("api == Produce and batch.codec == lz4")
            terminal.until("batch.codec == lz4")
            terminal.press("Enter")
            screens["filtered"] = terminal.until("Produce v13", "9 of 290")
            terminal.press("6")
            terminal.until("commit0-0", "offset")
            terminal.press("Down", "Down")
            screens["records"] = terminal.until("commit0-2", "key-2")
            terminal.press("Enter")
            screens["bytes of a record"] = terminal.until("records[2]", "decompressed", "ommit0-2")
            terminal.press("1", "m", "7")
            screens["findings"] = terminal.until("FRM006", "trailing-bytes", "bytes")
            terminal.press("Enter")
            screens["finding"] = terminal.until("MetadataRequest", "request frame")
            terminal.press("w")
            terminal.until("marked", "Enter saves")
            time.sleep(1)  # as a person would: keys that come before the line has the focus are lost
            terminal.press("C-u")
            terminal.type(str(saved.resolve()))
            terminal.until(saved.name)
            terminal.press("Enter")
            screens["saved"] = terminal.until("saved 1 exchange")
            terminal.press("q")
            end = time.monotonic() + PATIENCE_S
            while not terminal.is_over() and time.monotonic() < end:
                time.sleep(LOOK_S)
            if not terminal.is_over():
                raise TimeoutError("it does not end")
    finally:
        shutil.rmtree(config, ignore_errors=True)
    return screens


def main(arguments: Sequence[str]) -> None:
    """Walk at each size; write the screens."""
    out, *sizes = arguments
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for size in sizes:
        columns, lines = map(int, size.split("x"))
        for number, (name, text) in enumerate(
            walk(columns, lines, folder / f"saved-{size}.pcapng").items(), 1
        ):
            (folder / f"{size}-{number}-{name.replace(' ', '-')}.txt").write_text(text)
            print(size, name)


if __name__ == "__main__":
    main(sys.argv[1:])
