"""Saving from the screen: starts the saver, waits for it in a thread of the caller."""

from __future__ import annotations

import os
import subprocess
import sys

from kdissect.tui.orders import receive, send
from kdissect.tui.saver import Saved, SaveOrder


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
