"""The packets of an incident: from the files of the ring to one capture file, with its secrets of TLS."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from kdissect.capture.byte_source import FileSource
from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.files import open_captures
from kdissect.capture.formats.packet_file import PacketFile, Written
from kdissect.capture.key_logs import TLS_KEY_LOG
from kdissect.model.packets.packet import PlainPacket
from kdissect.recorder.reading import Reading
from kdissect.recorder.segments import Spans
from kdissect.session.events import ConnectionClosed


def copy_packets(
    segments: Sequence[str], spans: Spans, reading: Reading, target: Path, comment: str,
    connections: Collection[str] | None = None,
) -> Written:  # fmt: skip
    """Write the packets of some times, in their order: all, or those of some connections. Raises OSError."""
    times = [(begin, end) for begin, end in spans]
    written = Written()

    def write(batch: Sequence[PlainPacket]) -> None:
        nonlocal written
        written = written.and_then(file.write_within(batch, times))

    with PacketFile(str(target), comment) as file:
        secrets = _secrets(segments, reading, connections)
        if secrets:
            file.secrets(TLS_KEY_LOG, secrets)
        if connections is not None:
            from kdissect.excerpt.write_packets import copy_connections  # memory: seldom needed

            again = reading.dissection(segments)
            files = again.captures.files
            copy_connections(
                connections, again.captures.batches(), again.ports, lambda at: files[at].capture_set,
                lambda packet: write([packet]),
            )  # fmt: skip
        elif segments:
            for batch in open_captures(segments).batches():
                write(batch)
    return written


def redact(source: Path, level: str, reading: Reading, target: Path) -> None:
    """Write the exchanges of a capture without what a level overwrites. Raises OSError.

    Plaintext of TLS is written as plain segments. Connections without Kafka are left out.
    """
    from kdissect.excerpt.find_frames import FrameSearch  # memory: seldom needed
    from kdissect.excerpt.redactor import FrameRedactor  # memory
    from kdissect.excerpt.write_packets import write_frames  # memory

    search = FrameSearch(lambda _exchange: True, decrypted=True, redactor=FrameRedactor(level))
    dissection = reading.dissection([str(source)])
    parts = (part for batch in dissection.batches() for part in search.parts(batch))
    dissection.guard.each(parts, search.add)
    with PacketFile(str(target), f"Redacted ({level}).") as file:
        write_frames(search.result(), reading.dissection([str(source)]), False, file)


def _secrets(segments: Sequence[str], reading: Reading, connections: Collection[str] | None) -> bytes:
    """Return the lines of a key log for the TLS sessions in some files, or of some connections in them."""
    if not segments or not (reading.key_logs or any(map(_has_secrets, segments))):
        return b""
    dissection = reading.dissection(segments)
    lines: dict[str, None] = {}
    for event in dissection.events():
        if isinstance(event, ConnectionClosed) and event.connection.tls is not None:
            if connections is not None and event.connection.id not in connections:
                continue
            for session in event.connection.tls.sessions:
                lines |= dict.fromkeys(dissection.key_logs.lines(*session))
    return "".join(f"{line}\n" for line in lines).encode()


def _has_secrets(path: str) -> bool:
    file = CaptureFile(path, FileSource(path), None)
    batches = file.batches()
    next(batches, None)
    batches.close()
    return bool(file.secrets)
