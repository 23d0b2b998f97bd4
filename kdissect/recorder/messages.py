"""Messages about incidents to webhooks: each at most once to each, also across restarts and kills.

- A message is noted as sent before it is sent. A kill meanwhile does not repeat it.
- If the server refuses it (a status from 500 on, 429) or cannot be reached, it waits and is sent again.
- If the server was reached and does not respond in time, it may have taken the message: it is not sent again.
- Each webhook has a thread, so that none waits for another, and nothing waits for them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import gethostname
from typing import TYPE_CHECKING, Any

from kdissect.recorder.folder import Folder, write_whole
from kdissect.recorder.incident import Incident
from kdissect.recorder.webhook import Message, Webhook

if TYPE_CHECKING:
    from kdissect.serdes.http_exchange import HttpFailureError

_PAUSES_S = (1.0, 5.0, 15.0, 60.0)
_ATTEMPTS = 30  # about half an hour
_MAX_WAITING = 100  # of a webhook
_MAX_SENT = 1_000
_MAX_PROBLEMS = 10  # of a message
_CLOSE_S = 5.0


class Messages:
    """The webhooks of a recorder. `announce` returns at once."""

    def __init__(
        self,
        folder: Folder,
        webhooks: Sequence[Webhook],
        signing_key: str,
        with_names: bool,
        say: Callable[[str], object],
    ) -> None:
        self._folder = folder
        self._with_names = with_names
        self._lock = threading.Lock()
        known = _read(folder) if webhooks else {}
        self._boxes = [
            _Outbox(webhook, signing_key, known.get(webhook.identity, {}), self._store, say)
            for webhook in webhooks
        ]
        for box in self._boxes:
            box.start()

    def announce(self, incident: Incident) -> None:
        """Send a message about a new incident, unless it was sent before."""
        if not self._boxes:
            return
        message = message_of(incident, str(self._folder.incident_path(incident.id)), self._with_names)
        for box in self._boxes:
            box.put(message)
        self._store()

    @property
    def waiting(self) -> int:
        """Messages that were not sent yet."""
        return sum(box.waiting for box in self._boxes)

    def close(self) -> None:
        """End. What waits still is sent by the next recorder of the folder."""
        for box in self._boxes:
            box.end()

    def _store(self) -> None:
        with self._lock, suppress(OSError):  # a full disk: at the next change
            rows = {box.webhook.identity: box.state() for box in self._boxes}
            write_whole(self._folder.messages_path, rows)


def message_of(incident: Incident, path: str, with_names: bool) -> Message:
    """Return the message about an incident."""
    row = incident.row(with_names)
    first = row["problems"][0]
    host = gethostname()
    text = f"kdissect on {host}: {row['headline']}. {first['sentence']} Incident: {path}"
    return {
        "id": f"{incident.id}@{host}",
        "event": "incident",
        "host": host,
        "level": first["level"],
        "opened": row["opened"],
        "text": text,
        "path": path,
        "incident": row | {"problems": row["problems"][:_MAX_PROBLEMS]},
    }


class _Outbox:
    """The messages of one webhook."""

    def __init__(
        self,
        webhook: Webhook,
        signing_key: str,
        known: dict[str, Any],
        store: Callable[[], None],
        say: Callable[[str], object],
    ) -> None:
        self.webhook = webhook
        self._signing_key = signing_key
        self._store = store
        self._say = say
        self._sent: dict[str, None] = dict.fromkeys(known.get("sent", ()))
        self._waiting: dict[str, Message] = {one["id"]: one for one in known.get("waiting", ())}
        self._attempts: dict[str, int] = {}
        self._changed = threading.Condition()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="kdissect-webhook", daemon=True)

    @property
    def waiting(self) -> int:
        """Messages that were not sent yet."""
        return len(self._waiting)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def put(self, message: Message) -> None:
        """Take a message that was not sent before."""
        with self._changed:
            if message["id"] in self._sent or message["id"] in self._waiting:
                return
            self._waiting[message["id"]] = message
            if len(self._waiting) > _MAX_WAITING:
                del self._waiting[next(iter(self._waiting))]
                self._say(f"{self.webhook.name}: too many messages wait: the oldest is dropped")
            self._changed.notify()

    def end(self) -> None:
        """Send what waits, for some seconds."""
        with self._changed:
            self._is_over = True
            self._changed.notify()
        self._thread.join(_CLOSE_S)

    def state(self) -> dict[str, Any]:
        """Return the values that restore it."""
        with self._changed:
            return {"sent": list(self._sent), "waiting": list(self._waiting.values())}

    def _run(self) -> None:
        pause_s = 0.0
        while True:
            with self._changed:
                if pause_s and not self._is_over:
                    self._changed.wait(pause_s)
                while not self._waiting and not self._is_over:
                    self._changed.wait()
                if not self._waiting:
                    return
                message = next(iter(self._waiting.values()))
                del self._waiting[message["id"]]
                self._sent[message["id"]] = None
                while len(self._sent) > _MAX_SENT:
                    del self._sent[next(iter(self._sent))]
            self._store()
            failure = self._send(message)
            pause_s = 0.0 if failure is None else self._again(message, failure)
            if failure is not None and self._is_over:
                return

    def _send(self, message: Message) -> HttpFailureError | None:
        from kdissect.serdes.http_exchange import HttpFailureError  # memory: of recorders with webhooks

        try:
            self.webhook.send(message, self._signing_key)
        except HttpFailureError as failure:
            return failure
        return None

    def _again(self, message: Message, failure: HttpFailureError) -> float:
        """Keep a message that did not arrive. Return the seconds until the next attempt."""
        identity = message["id"]
        attempts = self._attempts[identity] = self._attempts.get(identity, 0) + 1
        is_last = failure.may_have_arrived or not failure.may_pass or attempts >= _ATTEMPTS
        if attempts == 1 or is_last:
            what = "the message is not sent again" if is_last else "the message is sent again later"
            self._say(f"{self.webhook.name}: {failure}; {what}")
        if is_last:
            del self._attempts[identity]
            return 0.0
        with self._changed:
            del self._sent[identity]
            self._waiting = {identity: message} | self._waiting
        self._store()
        return _PAUSES_S[min(attempts, len(_PAUSES_S)) - 1]


def _read(folder: Folder) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        found = json.loads(folder.messages_path.read_bytes())
        if isinstance(found, dict):
            return found
    return {}
