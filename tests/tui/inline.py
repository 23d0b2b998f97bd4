"""A worker in a thread of the test, in the place of a process: the same messages without its start."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterable
from typing import Any

from kdissect.engine.exchange_log.log import ExchangeLog
from kdissect.tui.processes.frame_store import Frames
from kdissect.tui.processes.screen_worker import Worker
from kdissect.tui.processes.spool import SpoolReader
from kdissect.tui.processes.worker_messages import Done, Order, Progress, Rows


class Sending(Worker):
    """Hands its messages to a function."""

    def __init__(self, order: Order, take: Callable[[Any], None]) -> None:
        self._take_message = take
        super().__init__(order, -1)

    def _send(self, message: object) -> None:
        self._take_message(message)


class ThreadWorker:
    """What `WorkerProcess` is to a session."""

    def __init__(self, order: Order) -> None:
        self.is_stopped = False
        self._order = order
        self._thread: threading.Thread | None = None
        self._worker: Sending | None = None

    def listen(self, take: Callable[[Any], None], ended: Callable[[], None]) -> None:
        """Run the worker."""

        self._worker = worker = Sending(self._order, take)

        def run() -> None:
            worker.run()
            if not self.is_stopped:
                ended()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def want(self, studies: Iterable[str]) -> None:
        """Tell it."""
        if self._worker is not None:
            self._worker.want(tuple(studies))

    def stop(self) -> None:
        """Nothing of it is heard any more."""
        self.is_stopped = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(10)


class Loaded:
    """A log filled by a worker, with the spool it may need. Use it in a `with`."""

    def __init__(self, *paths: object, **order: Any) -> None:
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end of the with
        handle = self._spool.fileno()
        self.messages: list[Any] = []
        names = tuple(map(str, paths))
        self.order = Order(names, rows=True, spool=handle)._replace(**order)
        self.log = ExchangeLog()
        self.log.store = Frames(self.log, lambda: self.names, SpoolReader(handle))
        self.names: tuple[str, ...] = ()

    def __enter__(self) -> Loaded:
        worker = Sending(self.order, self._take)
        worker.run()
        return self

    def __exit__(self, *_: object) -> None:
        self._spool.close()

    def _take(self, message: Any) -> None:
        self.messages.append(message)
        if isinstance(message, Rows):
            self.log.extend(message.batch)
        elif isinstance(message, Progress):
            self.names = message.file_names

    @property
    def errors(self) -> tuple[str, ...]:
        """Why inputs could not be read."""
        (done,) = [message for message in self.messages if isinstance(message, Done)]
        return done.errors
