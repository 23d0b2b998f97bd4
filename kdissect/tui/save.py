"""Saving from the screen. Blocks: not for the thread that answers keys."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from kdissect.model.wording import plural
from kdissect.session.exchange import Exchange
from kdissect.tui.orders import receive, send
from kdissect.tui.save_order import Saved, SaveOrder
from kdissect.tui.session import Session

STREAM_COMMENT = (
    "{} of a stream. The packets are new: IP and TCP as they may have been; frames and times are "
    "those of the capture."
)


def save_rows(session: Session, rows: Sequence[int], path: str) -> Saved:
    """Write rows of the log: the packets they came in, or for streams new ones. Raises nothing."""
    log = session.log
    if session.is_stream:
        return _save_frames([log.exchange(row) for row in rows], path)
    places = frozenset((log.connection(row).id, log.columns["ordinal"][row]) for row in rows)
    inputs = session.order._replace(spool=-1, stdin=-1)
    return run_saver(SaveOrder(inputs, places, path))


def _save_frames(exchanges: list[Exchange], path: str) -> Saved:
    from kdissect import __version__
    from kdissect.capture.formats.packet_file import APPLICATION, PacketFile
    from kdissect.excerpt.frames_file import frame_packets

    written: set[tuple[str, int]] = set()
    try:
        comment = STREAM_COMMENT.format(plural(len(exchanges), "exchange"))
        with PacketFile(path, comment, f"{APPLICATION} {__version__}") as file:
            for packet, exchange, side in frame_packets(exchanges):
                written.add((exchange.connection.id, exchange.ordinal))
                file.write(packet, f"{exchange.connection.id}/{exchange.ordinal} {side}")
    except OSError as error:
        return Saved(0, path, error.strerror or str(error))
    lost = len(exchanges) - len(written)
    return Saved(len(written), path, f"the bytes of {lost} are not kept any more" if lost else "")


def run_saver(order: SaveOrder) -> Saved:
    """Write exchanges to a file. Blocks: not for the thread that answers keys. Raises nothing."""
    order_out, orders = os.pipe()
    results, results_in = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "kdissect.tui.saver", str(order_out), str(results_in)],
            pass_fds=(order_out, results_in),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        os.close(order_out)
        os.close(results_in)
        os.close(orders)
        os.close(results)
        return Saved(0, order.path, error.strerror or str(error))
    os.close(order_out)
    os.close(results_in)
    try:
        send(orders, order)
        saved: Saved = receive(results)
    except (EOFError, OSError):
        return Saved(0, order.path, f"writing ended with {process.wait()}")
    finally:
        os.close(orders)
        os.close(results)
    process.wait()
    return saved
