"""The folder of a recorder: `ring/` with packets, `incidents/`, `marks/`, and its state.

Everything in it is for its owner alone. Files are complete or absent, also after a kill and a power loss.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from kdissect.capture.live.ring import ring_files
from kdissect.capture.whole_file import abandoned, lock
from kdissect.recorder.incident import Incident, Row

_DIRECTORY_MODE = 0o700
_PACKETS = "packets.pcapng"
_STATE, _LOCK = "state.json", "recorder.lock"
INCIDENT = "incident.json"
_MARK = ".mark"
NAMES = "names"  # the level of redaction that overwrites names
_LONGEST_MARK = 1_000  # characters of the text of a mark
# A killed recorder may leave a copy that completes an incident, with the lock.
_LOCK_S = 30.0


class FolderError(Exception):
    """The folder cannot be used. The text is one line for people."""


class Folder:
    """The paths in the folder, and what is stored there."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._root = Path(path)
        self._lock = -1
        self.ring = str(self._root / "ring" / _PACKETS)
        """The path from which the names of the ring's files are made."""
        self.incidents_path = self._root / "incidents"
        self._marks = self._root / "marks"
        self.messages_path = self._root / "messages.json"

    def open(self) -> None:
        """Create what is missing, and lock the folder. Raises FolderError and OSError."""
        for folder in (self._root, self._root / "ring", self.incidents_path, self._marks):
            folder.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        self._lock = os.open(self._root / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        until = time.monotonic() + _LOCK_S
        while not lock(self._lock):
            if time.monotonic() > until:
                raise FolderError(f"{self.path}: another recorder uses this folder")
            time.sleep(0.1)
        for _, part in abandoned(str(self.incidents_path)):
            shutil.rmtree(part, ignore_errors=True)

    def give_to(self, user: int, group: int) -> None:
        """Let another user own everything in it. Raises OSError."""
        for path in (self._root, *self._root.rglob("*")):
            os.chown(path, user, group, follow_symlinks=False)

    def close(self) -> None:
        """Release the lock."""
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def keep_lock(self) -> None:
        """Let a program that replaces this process have the lock."""
        if self._lock >= 0:
            os.set_inheritable(self._lock, True)

    @property
    def is_in_use(self) -> bool:
        """Whether a recorder uses the folder."""
        try:
            handle = os.open(self._root / _LOCK, os.O_RDWR)
        except OSError:
            return False
        try:
            return not lock(handle)
        finally:
            os.close(handle)

    def segments(self) -> list[str]:
        """Return the files of the ring, the oldest first."""
        return [path for _, path in ring_files(self.ring)]

    # incidents

    def incidents(self) -> list[Incident]:
        """Return the complete incidents, the oldest first. Others are skipped."""
        found = []
        for path in sorted(self.incidents_path.glob(f"*/{INCIDENT}")):
            with suppress(OSError, ValueError, KeyError, TypeError):
                found.append(Incident.from_row(json.loads(path.read_bytes())))
        return found

    def incident_path(self, identity: str) -> Path:
        """Return the folder of an incident."""
        return self.incidents_path / identity

    def store(self, incident: Incident) -> None:
        """Replace the description of a complete incident. Raises OSError."""
        write_whole(self.incident_path(incident.id) / INCIDENT, public_row(incident))

    # state

    def state(self) -> tuple[list[Incident], int]:
        """Return the incidents that are not written yet, and how many conditions made no incident."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            row = json.loads((self._root / _STATE).read_bytes())
            return [Incident.from_row(one) for one in row["open"]], int(row["skipped"])
        return [], 0

    def store_state(self, open_incidents: Iterable[Incident], skipped: int) -> None:
        """Replace the state. Raises OSError."""
        row = {"open": [one.row() for one in open_incidents], "skipped": skipped}
        write_whole(self._root / _STATE, row)

    # marks

    def mark(self, text: str) -> None:
        """Ask the recorder of this folder for an incident. Raises OSError."""
        self._marks.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        name = f"{time.time_ns()}-{os.getpid()}"
        part = self._marks / f"{name}.part"
        part.write_text(text[:_LONGEST_MARK], encoding="utf-8", errors="replace")
        part.rename(self._marks / f"{name}{_MARK}")

    def take_marks(self) -> Iterator[str]:
        """Yield the texts of new marks, and delete them."""
        with suppress(OSError):
            for path in sorted(self._marks.glob(f"*{_MARK}")):
                text = path.read_text(encoding="utf-8", errors="replace")[:_LONGEST_MARK]
                path.unlink()
                yield text


def public_row(incident: Incident) -> Row:
    """Return the description of an incident that somebody else may read: without names if its files have
    none.
    """
    return incident.row(with_names=incident.written.get("redacted") != NAMES)


def write_whole(path: Path, row: Row | list[Any]) -> None:
    """Write JSON to a file that is complete or absent, on the disk when this returns. Raises OSError."""
    part = path.with_name(f"{path.name}.new")
    with part.open("w", encoding="ascii") as file:
        json.dump(row, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, to the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """Write the names in a folder to the disk, if the system can."""
    with suppress(OSError):
        sync(path)
