"""Where captures lie: names that are any bytes, links, directories."""

import contextlib
import io
import json
import os
import shutil
import tempfile
from random import Random
from typing import ClassVar

from fuzz.mutators import mutate_bytes
from fuzz.target import Target, demand
from kdissect.cli import main
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.pcaps import pcap_bytes

_MOST = 8  # entries of a directory: each is a few calls of the system
_CAPTURE, _TEXT, _FOLDER, _LINK, _LOOP, _CLOSED = b"ctdlox"
_KINDS = b"cccctdlox"
_NAMES = (
    b"*", b"a.pcap", b"a.pcap1", b"a_00001_20240101120000.pcap", b"\xff.pcap", b"a\nb", b"-", b"-n",
    b"[a]", b"?.pcap", b" ", b"~", b"s3://x", b"\x1b[2J", b"\xed\xa0\x80.pcap", b"\xc3\xa9.pcap", b".hidden",
    b"--help", b"%s", b"{}", b"\\xff", b"a" * 255, b"a" * 256, b"\xe2\x80\xae.pcap", b"<b>", b"'", b"\"",
)  # fmt: skip


class Places(Target):
    """A directory of captures, each with an exchange of its own, beside what only looks like them.

    An input is kinds and names, with a zero byte behind each.
    """

    name = "places"
    about = "names of any bytes, links and directories: every readable file's exchanges are told"
    modules = ("kdissect.capture.input_paths", "kdissect.capture.rotation", "kdissect.capture.rotation")
    longest: ClassVar[int] = 400
    free_seconds: ClassVar[float] = 0.5  # a dozen files made, read four times and removed

    def seeds(self) -> list[bytes]:
        """Return some directories."""
        names = [bytes([kind]) + name + b"\0" for name in _NAMES for kind in (_CAPTURE, _LOOP)]
        return [b"".join(names[at : at + 4]) for at in range(0, len(names), 3)]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Return entries as wholes, their kinds, their names."""
        entries = [one for one in data.split(b"\0") if one]
        others = [one for one in other.split(b"\0") if one]
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(entries) + 1)
            step = dice.random()
            if step < 0.3 or not entries:
                entries.insert(at, bytes([dice.choice(_KINDS)]) + dice.choice(_NAMES))
            elif step < 0.5:
                entries[at - 1] = bytes([dice.choice(_KINDS)]) + entries[at - 1][1:]
            elif step < 0.8:
                entries[at - 1] = entries[at - 1][:1] + mutate_bytes(entries[at - 1][1:], dice, b"a\xff")
            else:
                entries[at:at] = others[:2]
        return b"".join(one + b"\0" for one in entries[-_MOST:])

    def run(self, data: bytes) -> int:
        """Return the directory as a whole, then all its entries by their names, as one process and as a
        report.
        """
        folder = tempfile.mkdtemp(prefix="places")
        try:
            inside = os.path.join(folder, "in")  # noqa: PTH118  names that are no text
            os.mkdir(inside)  # noqa: PTH102
            made = _make(os.fsencode(inside), [one for one in data.split(b"\0") if one][:_MOST])
            shown = {port for name, port in made.items() if name[:1] != b"."}
            demand(self._ports(folder, [inside]) == shown, "in the directory")
            named = [os.fsdecode(os.path.join(os.fsencode(inside), name)) for name in made]  # noqa: PTH118
            if named:
                demand(self._ports(folder, ["--", *named]) == set(made.values()), "by name")
                self._call(["check", "--format", "json", "-o", os.path.join(folder, "o"), "--", *named])  # noqa: PTH118
        finally:
            shutil.rmtree(os.fsencode(folder))
        return 0

    def _ports(self, folder: str, paths: list[str]) -> set[int]:
        out = os.path.join(folder, "out")  # noqa: PTH118
        self._call(["inspect", "--format", "jsonl", "-o", out, *paths])
        with open(out, "rb") as file:  # noqa: PTH123
            rows = [json.loads(line.decode("utf-8")) for line in file]
        demand(all("\ufffd" not in json.dumps(row, ensure_ascii=False) for row in rows), "text")
        ports = [int(row["client"].rpartition(":")[2]) for row in rows]
        demand(len(set(ports)) == len(ports), "each once")
        return set(ports)

    def _call(self, arguments: list[str]) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = main(arguments)
        told = said.getvalue()
        demand("a fault of kdissect" not in told, told)
        demand(code in (0, 3, 4), (code, told))
        demand(told.isascii() or told.isprintable() or "\x1b" not in told, "escapes")
        demand((code == 3) == bool(told), (code, told))


def _make(folder: bytes, entries: list[bytes]) -> dict[bytes, int]:
    """Put entries there, as far as the system takes them; gives the captures and their clients' ports."""
    made: dict[bytes, int] = {}
    for number, entry in enumerate(entries):
        kind, name = entry[0], entry[1:]
        path = os.path.join(folder, name)  # noqa: PTH118
        if b"/" in name or name in (b"", b".", b"..") or os.path.lexists(path):
            continue
        with contextlib.suppress(OSError):
            if kind == _FOLDER:
                os.mkdir(path)  # noqa: PTH102
                _write(os.path.join(path, b"below.pcap"), 50_000)  # noqa: PTH118
            elif kind == _LINK:
                shown = (other for other in made if other[:1] != b".")
                os.symlink(next(shown, b"nowhere"), path)  # noqa: PTH211
            elif kind == _LOOP:
                os.symlink(name, path)  # noqa: PTH211
            elif kind == _CLOSED:
                os.mkfifo(path)
            elif kind == _TEXT:
                _write(path, 0)
            else:
                _write(path, 40_000 + number)
                made[name] = 40_000 + number
    return made


def _write(path: bytes, port: int) -> None:
    """Write a capture of one exchange, or some text."""
    content = b"nothing of interest\n"
    if port:
        talk = Conversation(ports=(port, 9092)).handshake()
        talk.client(request(18, 0, 7)).broker(response(7, b"\0\0\0\0\0\x01\0\x12\0\0\0\3"))
        content = pcap_bytes(talk.packets)
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(content)
