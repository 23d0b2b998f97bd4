"""Time at the broker: what `stats --split` says, against the request log of the broker itself.

The broker counts from when it has read a request to when it has sent the response
(kafka.network.RequestChannel: totalTimeMs). The capture begins when the request came to the host, so that the
time until a busy broker reads it counts here, too.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kdissect.api import Dissection
from kdissect.history.exchange_view import ExchangeView
from kdissect.stats.times.response_time import response_time
from kdissect.stats.times.time_split import TimeSplit
from kdissect.stats.times.waited import WAITING, at_broker_ns, waited_ns
from kdissect.stats.watermarks import Watermarks
from tests.support.console import CAPTURES

MS = 1_000_000
BY = ("broker", "client", "correlation_id")
AT_BROKER = ("broker_ns", "unclear_ns", "wait_ns", "unknown_ns")


def logged(path: Path) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield exchanges as `BY` names them, with milliseconds at the broker."""
    for line in gzip.decompress(path.read_bytes()).decode("utf-8", "replace").splitlines():
        _, _, text = line.partition("Completed request:")
        end = text.rfind("} (kafka.request.logger)")
        if end >= 0:
            row = json.loads(text[: end + 1])
            broker, client, *_ = row["connection"].split("-")
            yield (broker, client, str(row["requestHeader"]["correlationId"])), row["totalTimeMs"]


def split(path: Path) -> dict[tuple[str, ...], dict[str, Any]]:
    """Return the split of each exchange."""

    def keys_of(view: ExchangeView) -> list[tuple[str, ...]]:
        return [(view.info.broker_text, view.info.client_text, str(view.exchange.correlation_id))]

    found, watermarks, keys = TimeSplit(keys_of), Watermarks(), []
    for exchange in Dissection(str(path)):
        view = ExchangeView(exchange)
        keys += keys_of(view)
        found.add(view, response_time(view, watermarks), True)
    rows = found.facts(list(dict.fromkeys(keys)), BY)["rows"]
    return {tuple(row[name] for name in BY): row for row in rows}


def test_time_at_the_broker_is_that_of_its_request_log(reference: Path, tmp_path: Path) -> None:
    log = dict(logged(reference / "request-logs" / "kafka-4.4.0.log.gz"))
    rows = split(reference / "request-logs" / "kafka-4.4.0.pcap.gz")
    both = [(sum(rows[key][part] for part in AT_BROKER) / MS, log[key]) for key in rows.keys() & log.keys()]
    apart = sorted(abs(mine - theirs) for mine, theirs in both)
    assert len(both) == 103
    assert apart[len(both) // 2] < 0.2
    assert apart[len(both) * 9 // 10] < 3
    assert abs(sum(mine for mine, _ in both) / sum(theirs for _, theirs in both) - 1) < 0.06


def test_why_and_stats_agree_on_the_time_at_the_broker() -> None:
    """But for what waits on purpose: only `stats` looks at what other exchanges show."""
    seen = 0
    for name in ("kafka44_java_errors", "kafka44_rdkafka_groups", "taps/kafka44_java_far.client"):
        path, watermarks = CAPTURES / f"{name}.pcapng", Watermarks()
        rows = split(path)
        for exchange in Dissection(str(path)):
            view = ExchangeView(exchange)
            times = response_time(view, watermarks)
            row = rows.get((view.info.broker_text, view.info.client_text, str(exchange.correlation_id)))
            if times is not None and row is not None and view.key not in WAITING:
                mine = max(at_broker_ns(exchange, waited_ns(view)), 0)
                assert mine == row["broker_ns"] + row["unknown_ns"], (name, exchange)
                seen += 1
    assert seen > 300
