"""What the Python drivers share: the command line, the events they print, and the records of the story."""

import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Header = tuple[str, bytes | None]
Options = dict[str, str]
_PATIENCE = 6  # tries
_FIRST_TIMESTAMP = 1_700_000_000_000  # milliseconds: 2023-11-14 22:13:20 UTC


class Record(NamedTuple):
    """One record as the scenarios write it, in no client's own terms; the timestamp is in milliseconds."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[Header]
    timestamp: int


def main(actions: dict[str, Callable[[str, Options], None]]) -> None:
    """Run `BOOTSTRAP ACTION [--key value ...]`; raises KeyError for an action nobody knows."""
    bootstrap, action, *words = sys.argv[1:]
    options = {key.removeprefix("--"): value for key, value in zip(words[::2], words[1::2], strict=True)}
    actions[action](bootstrap, options)


def emit(event: str, **content: Any) -> None:
    """Print one event."""
    print(json.dumps({"event": event, **content}), flush=True)


def outcome(call: str, work: Callable[[], Any]) -> None:
    """Make a call and print how it ended; while a coordinator is coming up it is made again."""
    for patience in range(_PATIENCE, -1, -1):
        try:
            work()
        except Exception as error:  # those of clients are of all kinds
            if patience and "coordinator" in f"{type(error).__name__} {error}".lower():
                time.sleep(0.5)
                continue
            emit("call", call=call, outcome=f"{type(error).__name__}: {error}"[:300])
        else:
            emit("call", call=call, outcome="ok")
        return


def story(options: Options) -> list[Record]:
    """The records to write: every fourth has no key, every fifth no value, every third headers."""
    label, count = options.get("label", "story"), int(options.get("count", "6"))
    partitions = int(options.get("partitions", "2"))
    return [_record(options["topic"], label, number, partitions) for number in range(count)]


def _record(topic: str, label: str, number: int, partitions: int) -> Record:
    key = None if number % 4 == 3 else f"key-{number}".encode()
    value = None if number % 5 == 4 else f"{label} {number}{' again' * 8}".encode()
    headers: list[Header] = []
    if number % 3 == 0:
        headers = [("trace", f"{label}-{number}".encode()), ("empty", b""), ("binary", b"\x00\xff")]
    return Record(topic, number % partitions, -1, key, value, headers, _FIRST_TIMESTAMP + number * 1000)


def text(data: bytes | None) -> Any:
    """Bytes as text when they are printable ASCII, else as hex."""
    if data is None:
        return None
    if all(32 <= octet < 127 for octet in data):
        return data.decode()
    return {"hex": data.hex()}


def tell(event: str, record: Record) -> None:
    """Print a record that was sent (with the offset the client was told, -1 for none) or read."""
    emit(
        event,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=text(record.key),
        value=text(record.value),
        headers=[[key, text(value)] for key, value in record.headers],
        timestamp=record.timestamp,
    )


def moved(event: str, client_id: str, group: str, member: str, partitions: Iterable[tuple[str, int]]) -> None:
    """Print what a member of a group was given or gave back."""
    emit(event, client_id=client_id, group=group, member=member, partitions=sorted(partitions))
