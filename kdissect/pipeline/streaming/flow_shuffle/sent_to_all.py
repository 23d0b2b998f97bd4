"""Facts that every partition needs before its first connection: rows that a file sends to all of them.

Their key is empty, so that they sort before the rows of any connection.
"""

import pickle
from collections.abc import Iterator, Sequence
from struct import Struct

from kdissect.capture.capture_file import CaptureFile
from kdissect.model.packets.packet import packet_ref
from kdissect.pipeline.streaming.flow_shuffle.file_syns import FileSyn
from kdissect.pipeline.streaming.flow_shuffle.run import Run
from kdissect.stages.rows.file_rows import FileRows

KEY = b""
_LAST_TIME = b"T"
_SECRET = b"S"
_FILE = b"F"
_SYNS = b"N"
_ALL_SYNS = b"A"
_TIME = Struct("<Iq")  # number of the capture set, time of the last packet
_KIND = Struct("<I")  # of a Decryption Secrets Block


class News:
    """Facts received so far. `secrets` as `capture.key_logs` takes them from a capture."""

    def __init__(self) -> None:
        self.last_times: dict[int, int] = {}
        """Time of the last packet by number of the capture set."""
        self.secrets: list[tuple[int, bytes]] = []
        self.syns: list[FileSyn] = []
        """Of the beginnings and ends of files."""
        self.all_syns: list[FileSyn] = []
        """Of whole files. Only the first partition receives them."""
        self.files: list[FileRows] = []
        """Only the first partition receives them."""

    def take(self, run: Run) -> None:
        """Take a row with the empty key."""
        tag, data = run.data[:1], run.data[1:]
        if tag == _LAST_TIME:
            capture_set, last_ns = _TIME.unpack(data)
            self.last_times[capture_set] = max(last_ns, self.last_times.get(capture_set, last_ns))
        elif tag == _FILE:
            self.files.append(pickle.loads(data))
        elif tag == _SYNS:
            self.syns += (FileSyn(*fields) for fields in pickle.loads(data))
        elif tag == _ALL_SYNS:
            self.all_syns += (FileSyn(*fields) for fields in pickle.loads(data))
        else:
            self.secrets.append((*_KIND.unpack_from(data), data[_KIND.size :]))


def news_of(file: CaptureFile, capture_set: int, parts: int, syns: Sequence[FileSyn]) -> Iterator[Run]:
    """Yield the facts of a file that was read, once for each partition, without its own row.

    `syns` are the SYNs of its beginning and its end.
    """
    told = [_SECRET + _KIND.pack(kind) + data for kind, data in file.secrets]
    if file.last_time_ns is not None:
        told.append(_LAST_TIME + _TIME.pack(capture_set, file.last_time_ns))
    if syns:
        told.append(_SYNS + pickle.dumps([tuple(one) for one in syns]))
    for number, data in enumerate(told):
        for part in range(parts):
            yield Run(part, KEY, number, packet_ref(file.index, 0), data)


def syns_of(file: CaptureFile, syns: Sequence[FileSyn]) -> Run:
    """Return the fact for the first partition: the SYNs of a file."""
    data = _ALL_SYNS + pickle.dumps([tuple(one) for one in syns])
    return Run(0, KEY, 0, packet_ref(file.index, 0), data)


def facts_of(file: CaptureFile, name: str, is_tap: bool) -> Run:
    """Return the fact for the first partition: the row of a file that was read, or could not be."""
    told = pickle.dumps(FileRows.of(file, name)._replace(is_tap=is_tap))
    return Run(0, KEY, 0, packet_ref(file.index, 0), _FILE + told)
