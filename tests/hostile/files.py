"""The hostile set: every file by its name, with the anomaly it must yield.

`python -m tests.hostile.files FOLDER` writes them. They are made anew each time, always the same, and stand
nowhere in the repository: some are megabytes.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.hostile import bodies, captures, framing, packets, records


class HostileFile(NamedTuple):
    """One file. `tells` is what some command must say of it: the kind of an anomaly, or a word of the error.

    `is_readable`: false where the file is no capture, or not beyond a point (exit code 3).
    """

    name: str
    tells: str
    make: Callable[[], bytes]
    is_readable: bool = True


_Row = tuple[str, str, Callable[[], bytes]]


def _files() -> dict[str, HostileFile]:
    found = {}
    for rows, is_readable in (
        (captures.BROKEN, False),
        (captures.ODD, True),
        (packets.FILES, True),
        (framing.FILES, True),
        (bodies.FILES, True),
        (records.FILES, True),
    ):
        for name, tells, make in rows:
            assert name not in found, name
            found[name] = HostileFile(name, tells, make, is_readable)
    return found


FILES: dict[str, HostileFile] = _files()


def write(folder: Path) -> list[Path]:
    """Write all files; gives their paths, in the order of `FILES`."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for file in FILES.values():
        path = folder / f"{file.name}.pcap"
        path.write_bytes(file.make())
        paths.append(path)
    return paths


if __name__ == "__main__":
    for written in write(Path(sys.argv[1])):
        print(written)
