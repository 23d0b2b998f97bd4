"""Sends findings to targets, each finding once to each target, also across restarts and kills.

Rules:
- `_alerts.json` next to the tables lists the findings that each target received. It is written after sending:
  if a kill comes between the two, the finding is sent again with the same id. A batch that is tried again
  sends no alert twice.
- An alert that a target does not take waits and is sent with the next batch, also by the next process.
- A failure here stops no stream: it is reported once until sending works again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.model.digest import blake2b
from kdissect.pipeline.sink.alert_targets import Alert, NotSentError, Target
from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.pipeline.table_files.whole_object import NEXT, read_whole, write_whole
from kdissect.rules.findings import key_of
from kdissect.rules.registry import ALL_RULES
from kdissect.rules.rule import Once
from kdissect.stages.rows.judgement_rows import finding_of_row

# Columns of `findings`, without the bytes, for which receivers have no use.
_TOLD = (
    "severity", "code", "name", "level", "claim", "expected", "seen", "consequence", "role", "address",
    "software", "version", "client_id", "label", "capture_set", "connection", "exchange", "api",
    "api_version", "side", "path", "file", "first_packet", "last_packet", "count", "fingerprint",
)  # fmt: skip
# Bytes of an id, in hex. It distinguishes the findings of one directory.
_ID_BYTES = 16
_ONCE = {rule.code: rule.once for rule in ALL_RULES}


def alert_of(row: Mapping[str, Any]) -> Alert:
    """Return the alert for a row of `findings`, as one JSON object. It has no secrets, because rows have
    none.

    `id` is equal whenever the same finding is sent, so that receivers drop doubles. Its values are those that
    make findings equal (`rules.findings`), not the first finding's position: a file that comes late may have
    an earlier one.
    """
    time_ns = row["time_ns"]
    time = None if time_ns is None else rfc3339(time_ns)
    return {"id": _id(row), "time": time, **{name: row[name] for name in _TOLD}}


def _id(row: Mapping[str, Any]) -> str:
    key = key_of(_ONCE.get(row["code"], Once.EACH), finding_of_row(row, {}))
    text = "\0".join(map(str, key)).encode("utf-8", "backslashreplace")
    return blake2b(text, digest_size=_ID_BYTES).hexdigest()


STATE = "_alerts.json"
# Alerts of one request: some hundred kilobytes of JSON.
_MAX_TOGETHER = 100
# Maximum for each target. The judge stores ten thousand findings, and an id is 35 bytes in the file.
MAX_REMEMBERED = 50_000
# Some megabytes in the file, which is written with each batch while a target is away.
MAX_WAITING = 1_000


class Alerts:
    """The targets of a stream. Call `send` with the findings of each batch, after its commit and within it.

    `warn` takes one line for people.
    """

    def __init__(
        self, targets: Sequence[Target], directory: StreamDirectory, warn: Callable[[str], None]
    ) -> None:
        self._targets = targets
        self._directory = directory
        self._warn = warn
        self._mails: list[_Mail] | None = None
        self._run: str | None = None

    def send(self, batch: int, findings_rows: Iterable[Mapping[str, Any]]) -> None:
        """Send the rows of `findings` that were not sent before, and the alerts that wait. Raises no
        exception.

        The rows may come from the batch or from all batches so far.
        """
        if not self._targets:
            return
        try:
            mails = self._begun()
            alerts = [alert_of(row) for row in findings_rows]
            is_news = [mail.deliver(alerts, self._warn) for mail in mails]
            if any(is_news):
                self._keep(mails)
        except Exception as error:  # a stream goes on whatever becomes of its alerts
            self._warn(f"alerts of batch {batch}: {error}")

    def _begun(self) -> list[_Mail]:
        """Return the mails. State of another stream, in a directory that was written again, does not
        count.
        """
        if self._mails is None:
            self._run = (self._directory.manifest() or {}).get("run")
            held = self._read()
            known = held["targets"] if held.get("run") == self._run else {}
            self._mails = [_Mail(target, known.get(_key(target), {})) for target in self._targets]
        return self._mails

    def _read(self) -> dict[str, Any]:
        path = f"{self._directory.root}/{STATE}"
        text = read_whole(self._directory.filesystem, path) or read_whole(
            self._directory.filesystem, path + NEXT
        )
        try:
            found = json.loads(text or b'{"targets": {}}')
            return found if isinstance(found["targets"], dict) else {"targets": {}}
        except (ValueError, KeyError, TypeError):
            self._warn(f"{STATE} is damaged: findings are sent again")
            return {"targets": {}}

    def _keep(self, mails: Iterable[_Mail]) -> None:
        targets = {_key(mail.target): mail.state() for mail in mails}
        document = {"run": self._run, "targets": targets}
        write_whole(
            self._directory.filesystem,
            f"{self._directory.root}/{STATE}",
            json.dumps(document, indent=1).encode(),
        )


class _Mail:
    """One target's received findings, and the alerts that wait for it."""

    def __init__(self, target: Target, held: Mapping[str, Any]) -> None:
        self.target = target
        self._told = dict.fromkeys(held.get("told", ()))
        self._waiting: dict[str, Alert] = {alert["id"]: alert for alert in held.get("waiting", ())}
        self._is_away = False

    def state(self) -> dict[str, Any]:
        """Return the values that restore `_Mail`."""
        return {"told": list(self._told), "waiting": list(self._waiting.values())}

    def deliver(self, alerts: Iterable[Alert], warn: Callable[[str], None]) -> bool:
        """Send the new and the waiting alerts. Return whether the state has changed."""
        before = len(self._told), len(self._waiting)
        for alert in alerts:
            if alert["id"] not in self._told:
                self._waiting.setdefault(alert["id"], alert)
        try:
            self._send()
        except NotSentError as error:
            self._stay_away(str(error), warn)
        else:
            if self._is_away:
                warn(f"alerts: {self.target.name} takes them again")
            self._is_away = False
        is_changed = before != (len(self._told), len(self._waiting))
        for told in list(self._told)[: len(self._told) - MAX_REMEMBERED]:
            del self._told[told]
        return is_changed

    def _send(self) -> None:
        while self._waiting:
            together = list(self._waiting.values())[:_MAX_TOGETHER]
            self.target.send(together)
            for alert in together:
                self._told[alert["id"]] = None
                del self._waiting[alert["id"]]

    def _stay_away(self, why: str, warn: Callable[[str], None]) -> None:
        too_many = list(self._waiting)[MAX_WAITING:]
        for each in too_many:
            del self._waiting[each]
        if not self._is_away:
            warn(f"alerts: {self.target.name}: {why}; {len(self._waiting):,} wait for the next batch")
        if too_many:
            warn(f"alerts: {self.target.name}: {len(too_many):,} are dropped, because too many wait")
        self._is_away = True


def _key(target: Target) -> str:
    """Distinguish targets without storing their URLs, which may contain secrets."""
    return blake2b(target.identity.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
