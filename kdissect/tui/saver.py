"""Writes chosen exchanges as pcapng, as `kdissect extract` does. A process: it reads the inputs twice.

`python -m kdissect.tui.saver IN OUT`: inherited pipes, a `SaveOrder` comes in, a `Saved` goes out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kdissect import __version__
from kdissect.api import Dissection
from kdissect.capture.formats.packet_file import APPLICATION, PacketFile
from kdissect.excerpt.extract import write_frames
from kdissect.excerpt.harvest import Harvest, Harvested, PlanTooLargeError
from kdissect.excerpt.reader import ExcerptPacket
from kdissect.model.limits import use
from kdissect.model.wording import plural
from kdissect.report.printable import printable
from kdissect.tui.orders import receive, send
from kdissect.tui.save_order import Saved, SaveOrder

COMMENT = (
    "{}. Packets of others are left out. Headers and times are those of the capture; sequence "
    "numbers, lengths and checksums those of what is here."
)


def save(order: SaveOrder) -> Saved:
    """Write the file. Raises nothing a file or a capture could be the cause of."""
    try:
        harvested = _harvest(order)
        if not harvested.exchanges:
            return Saved(0, order.path, "no packet of them was found again")
        found = harvested.exchanges
        _write(order, harvested)
    except PlanTooLargeError:
        return Saved(0, order.path, "too many frames; `kdissect extract --connections` takes any number")
    except OSError as error:
        return Saved(0, order.path, error.strerror or str(error))
    return Saved(found, order.path, _told(harvested))


def _open(order: SaveOrder) -> Dissection:
    inputs = order.inputs
    ports = inputs.ports
    return Dissection(
        inputs.paths, ports.brokers, inputs.topic_ids, inputs.key_logs, inputs.hosts, only_ports=ports.only
    )


def _harvest(order: SaveOrder) -> Harvested:
    places = order.places
    # What was decrypted for the list is written decrypted: the ciphertext of a frame is no packet of its own.
    harvest = Harvest(lambda exchange: (exchange.connection.id, exchange.ordinal) in places, decrypted=True)
    for event in _open(order).events():
        harvest.add(event)
    return harvest.result()


def _write(order: SaveOrder, harvested: Harvested) -> None:
    comment = COMMENT.format(plural(harvested.exchanges, "exchange"))
    with PacketFile(order.path, comment, f"{APPLICATION} {__version__}") as file:

        def write(item: ExcerptPacket) -> None:
            file.write(item.packet, "" if item.frame is None else printable(item.frame.label))

        write_frames(harvested, _open(order), True, write)


def _told(harvested: Harvested) -> str:
    return "captures of different sets are in one file" if harvested.capture_sets > 1 else ""


def main(arguments: Sequence[str]) -> int:
    """Carry out the order that comes in."""
    orders, out = map(int, arguments)
    order: SaveOrder = receive(orders)
    use(order.inputs.limits)
    send(out, save(order))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
