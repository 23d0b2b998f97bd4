"""What the Python drivers share: the command line, the events they print, and the records of the story."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
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
    options: Options = {}
    for key, value in zip(words[::2], words[1::2], strict=True):
        name = key.removeprefix("--")
        options[name] = f"{options['set']}\n{value}" if name == "set" and "set" in options else value
    actions[action](bootstrap, options)


def endless(
    works: Iterable[Callable[[dict[str, Any], Options], None]],
    common: Callable[[str, Options], dict[str, Any]],
) -> dict[str, Callable[[str, Options], None]]:
    """Actions by name of functions that take what `common` sets up and the options."""

    def action(work: Callable[[dict[str, Any], Options], None]) -> Callable[[str, Options], None]:
        return lambda bootstrap, options: work(common(bootstrap, options), options)

    return {work.__name__: action(work) for work in works}


def settings_of(options: Options) -> dict[str, Any]:
    """Return the client's own settings, of every `--set NAME=VALUE`: numbers, true, false and null
    as such.
    """
    pairs = (line.split("=", 1) for line in options.get("set", "").splitlines())
    return {name: _value(text) for name, text in pairs}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def told_to_stop() -> threading.Event:
    """Set when standard input says something, as `stop`."""
    told = threading.Event()

    def listen() -> None:
        if sys.stdin.readline():
            told.set()

    threading.Thread(target=listen, daemon=True).start()
    return told


def steps() -> Iterator[tuple[str, str]]:
    """Words and what they are about, of the lines of standard input, until one is `stop`.

    After each step it prints `done`.
    """
    emit("ready")
    for line in iter(sys.stdin.readline, ""):
        what, _, about = line.strip().partition(" ")
        if what == "stop":
            return
        yield what, about
        emit("done", step=line.strip())


class Flow(NamedTuple):
    """Records written without end: in bursts of --burst with --pace milliseconds between, --count in all."""

    topic: str
    count: int
    burst: int
    pace_s: float
    size: int
    keys: int
    partition: int | None
    transactions: str

    @classmethod
    def of(cls, options: Options) -> "Flow":
        """From the command line; --transactions is `commit` (one a burst) or `open` (never ended)."""
        number = {name: int(options.get(name, "-1")) for name in ("count", "burst", "pace", "size", "keys")}
        return cls(
            options["topic"],
            number["count"] if number["count"] >= 0 else 1 << 40,
            max(1, number["burst"]),
            max(0, number["pace"]) / 1000,
            number["size"],
            number["keys"],
            int(options["partition"]) if "partition" in options else None,
            options.get("transactions", ""),
        )

    def key(self, number: int) -> bytes | None:
        """Return the key of a record; none with --keys 0."""
        return f"customer-{number % self.keys if self.keys > 0 else number}".encode() if self.keys else None

    def value(self, number: int) -> bytes:
        """Return an order, as long as --size bytes at least."""
        text = f'{{"order": {number}, "state": "packed", "note": "'
        return (text + "as usual " * (max(0, self.size - len(text)) // 9) + '"}').encode()

    def bursts(self, told: threading.Event) -> Iterator[range]:
        """Yield the numbers of the records of each burst, with the rests between, until it has to stop."""
        for first in range(0, self.count, self.burst):
            if told.is_set():
                return
            yield range(first, min(first + self.burst, self.count))
            told.wait(self.pace_s)


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
    """Return the records to write: every fourth has no key, every fifth no value, every third headers."""
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
    """Return bytes as text when they are printable ASCII, else as hex."""
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
