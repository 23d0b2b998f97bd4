"""Worker processes: started, listened to, ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Thread
from typing import Any

from kdissect.tui.processes.worker_messages import Order, Wanted, receive, send

# Seconds for a worker to end on its own, before it is killed.
GRACE_S = 1.0


class WorkerProcess:
    """One worker. `listen` hands its messages to a function, from a thread of its own."""

    def __init__(self, order: Order) -> None:
        order_out, self._orders = os.pipe()
        self._messages, messages_in = os.pipe()
        handles = [order_out, messages_in, *(h for h in (order.spool, order.stdin) if h >= 0)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kdissect.tui.processes.screen_worker", str(order_out), str(messages_in)],
            pass_fds=handles,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(order_out)
        os.close(messages_in)
        self.is_stopped = False
        self._thread: Thread | None = None
        with suppress(OSError):  # it has ended already: `listen` reports it
            send(self._orders, order)

    def listen(self, take: Callable[[Any], None], ended: Callable[[], None]) -> None:
        """Call `take` with each message, then `ended`; both from another thread."""
        self._thread = Thread(target=self._listen, args=(take, ended), daemon=True)
        self._thread.start()

    def want(self, studies: Iterable[str]) -> None:
        """Have it send what these studies know before they are over."""
        with suppress(OSError):  # it has ended meanwhile
            send(self._orders, Wanted(tuple(studies)))

    def stop(self) -> None:
        """End it, whatever it does."""
        if self.is_stopped:
            return
        self.is_stopped = True
        os.close(self._orders)
        self._process.terminate()
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._thread is not None:
            self._thread.join(GRACE_S)
        else:
            os.close(self._messages)

    def _listen(self, take: Callable[[Any], None], ended: Callable[[], None]) -> None:
        try:
            while True:
                message = receive(self._messages)
                if not self.is_stopped:
                    take(message)
        except (EOFError, OSError):
            pass
        finally:
            os.close(self._messages)
        if not self.is_stopped:
            ended()
