"""Writes chosen exchanges as pcapng, as `kdissect extract` does. A process: it reads the inputs twice.

`python -m kdissect.tui.processes.saver IN OUT`: inherited pipes, a `SaveOrder` comes in, a `Saved` goes out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kdissect.api import Dissection
from kdissect.capture.formats.packet_file import PacketFile
from kdissect.excerpt.find_frames import FoundFrames, FrameSearch
from kdissect.excerpt.write_packets import copy_connections, write_frames
from kdissect.model.limits import use
from kdissect.model.wording import plural
from kdissect.tui.processes.worker_messages import Saved, SaveOrder, receive, send

_COMMENT = (
    "{}. Packets of other exchanges are left out. Headers and times come from the capture. Sequence "
    "numbers, lengths "
    "and checksums match this file."
)


def save(order: SaveOrder) -> Saved:
    """Write the file. Raises nothing a file or a capture could be the cause of."""
    try:
        if order.connections:
            return Saved(_copy(order), order.path)
        found = _find(order)
        if not found.exchanges:
            return Saved(0, order.path, "no packet of them was found again")
        _write(order, found)
    except OSError as error:
        return Saved(0, order.path, error.strerror or str(error))
    return Saved(found.exchanges, order.path, _note(found))


def _open(order: SaveOrder) -> Dissection:
    inputs = order.inputs
    ports = inputs.ports
    return Dissection(
        inputs.paths, ports.brokers, inputs.topic_ids, inputs.key_logs, inputs.hosts, only_ports=ports.only
    )


def _find(order: SaveOrder) -> FoundFrames:
    exchanges = order.exchanges
    # Frames that were decrypted for the list are written decrypted: the ciphertext of a frame is not a
    # separate packet.
    search = FrameSearch(
        lambda exchange: (exchange.connection.id, exchange.ordinal) in exchanges, decrypted=True
    )
    for events in _open(order).batches():
        for part in search.parts(events):
            search.add(part)
    return search.result()


def _copy(order: SaveOrder) -> int:
    """Copy the packets of whole connections. Return how many connections there are."""
    dissection = _open(order)
    captures, count = dissection.captures, len(order.connections)
    comment = f"{plural(count, 'connection')} with all their packets."
    with PacketFile(order.path, comment) as file:
        copy_connections(
            order.connections,
            captures.batches(),
            dissection.ports,
            lambda index: captures.files[index].capture_set,
            file.write,
        )
    return count


def _write(order: SaveOrder, found: FoundFrames) -> None:
    comment = _COMMENT.format(plural(found.exchanges, "exchange"))
    with PacketFile(order.path, comment) as file:
        write_frames(found, _open(order), True, file)


def _note(found: FoundFrames) -> str:
    return "captures of different sets are in one file" if found.capture_sets > 1 else ""


def main(arguments: Sequence[str]) -> int:
    """Carry out the order that comes in."""
    orders, out = map(int, arguments)
    order: SaveOrder = receive(orders)
    use(order.inputs.limits)
    send(out, save(order))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
