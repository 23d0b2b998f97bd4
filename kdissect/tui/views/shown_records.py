"""Records of the exchanges a list shows, read a few at a time, as they are looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kdissect.engine.exchange_log.log import ExchangeLog
from kdissect.engine.exchange_rows import Row
from kdissect.engine.records.record_rows import RecordRows
from kdissect.engine.records.record_sets import RecordSet, record_sets, records_side
from kdissect.model.anomaly import Anomaly
from kdissect.tui.panes.shown_exchanges import Shown

# Records in the list, some 2 KB each. Nobody pages through more: a filter finds what one looks for.
MAX_RECORDS = 20_000
# Characters of one key, header or value in the list; of the chosen one all is read again.
_PREVIEW = 200


class RecordReader:
    """`more` gives the next rows (`engine.record_rows`); each also has `row`, its exchange's in the log.

    `section` is the number of the records field in its exchange. `is_over`: all exchanges of the list so far
    were read, or there are as many records as are kept.
    """

    def __init__(self, log: ExchangeLog, shown: Shown, files: Callable[[], Any]) -> None:
        self._log = log
        self._shown = shown
        self._place = 0
        self._count = 0
        self._rows = RecordRows(_Files(files), topic_name=self._topic_name)
        self._current: Iterator[Row] | None = None

    @property
    def is_full(self) -> bool:
        """Whether there are as many as are kept."""
        return self._count >= MAX_RECORDS

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to read now."""
        return self.is_full or (self._current is None and self._place >= len(self._shown))

    @property
    def looked_at(self) -> int:
        """Exchanges of the list that were read."""
        return self._place

    def more(self, count: int, seconds: float) -> list[Row]:
        """At most so many rows, and no longer than that. Raises nothing."""
        until = time.monotonic() + seconds
        found: list[Row] = []
        while len(found) < count and not self.is_over and time.monotonic() < until:
            if self._current is None:
                self._next()
                continue
            row = next(self._current, None)
            if row is None:
                self._current = None
                continue
            self._count += 1
            row["number"] = self._count
            found.append(row)
        return found

    def whole(self, row: Row) -> Row | None:
        """A row of the list with all of its key, headers and value."""
        exchange = self._log.exchange(row["row"])
        for number, records in enumerate(record_sets(exchange)):
            if number == row["section"]:
                for found in self._rows.rows(records, []):
                    if (found["batch"], found["record"]) == (row["batch"], row["record"]):
                        return found
        return None

    def _next(self) -> None:
        """To the next exchange that may hold records: its API says which those are."""
        log, shown = self._log, self._shown
        while self._place < len(shown):
            row = shown[self._place]
            self._place += 1
            key = log.api_key(row)
            if key is not None and records_side(key) is not None:
                self._current = self._of_exchange(row)
                return

    def _of_exchange(self, row: int) -> Iterator[Row]:
        anomalies: list[Anomaly] = []
        for number, records in enumerate(record_sets(self._log.exchange(row))):
            batches = records.found.batches
            for found in self._rows.rows(records, anomalies):
                batch = batches[found["batch"]]
                place = {"row": row, "section": number, "is_response": records.is_response}
                yield _preview(found) | place | {"start": batch.start, "end": batch.end}

    def _topic_name(self, records: RecordSet) -> str | None:
        return self._log.topic_names.get(records.records_field.topic_id or b"")


class _Files(Sequence[str]):
    """File names by index, which are known only after the first file is opened."""

    def __init__(self, files: Callable[[], Any]) -> None:
        self._files = files

    def __getitem__(self, index: Any) -> Any:
        files = self._files()
        return files[index] if index < len(files) else ""

    def __len__(self) -> int:
        return len(self._files())


def _preview(row: Row) -> Row:
    """The row with texts cut: a value may be a megabyte long."""
    short = dict(row)
    short.pop("decoded", None)
    for name in ("key", "value"):
        short[name] = _short(row[name])
    short["headers"] = [
        {"key": _short(header["key"]), "value": _short(header["value"])} for header in row["headers"][:20]
    ]
    return short


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _PREVIEW else value[:_PREVIEW] + "…"
    if isinstance(value, dict) and set(value) == {"base64"}:
        text = value["base64"]
        return value if len(text) <= _PREVIEW else {"base64": text[:_PREVIEW]}  # 4 characters are 3 bytes
    return value
