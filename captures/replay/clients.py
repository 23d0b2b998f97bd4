"""Real clients, what they do in a story, and what became of it in words."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from captures.record import java, pythons
from captures.record.drivers import Driver, Running
from captures.record.truth import Event

WAIT_SECONDS = 45
_COUNTED = ("called", "sent", "read", "delivered", "committed", "committed_transaction")
_CLASS = re.compile(r"\b[A-Za-z.]*?([A-Z]\w+(?:Exception|Error))\b")


class Story(NamedTuple):
    """An action of a driver with its options, and settings of the client."""

    action: str
    options: Mapping[str, str]
    settings: Mapping[str, str] = {}
    names_calls: bool = False
    """Its errors are those of calls, and are named with the call."""


class Client(NamedTuple):
    """A real client by its name in the evidence, and what it does in each story."""

    name: str
    driver: Driver
    stories: Mapping[str, Story]
    once: str
    """What of a written topic is unique: the option that names it."""


_CLASSIC = {"group.protocol": "classic", "session.timeout.ms": "6000"}
_PATIENT = {"max.block.ms": "10000", "request.timeout.ms": "5000", "delivery.timeout.ms": "15000"}
_SHORT = {"request.timeout.ms": "4000", "default.api.timeout.ms": "4000"}
_READER = {"count": "6", "polls": "40"}
JAVA = {
    "produce": Story("Produce", {"count": "6"}, _PATIENT),
    "batches": Story(
        "Produce", {"count": "6", "partition": "0"}, _PATIENT | {"batch.size": "1", "linger.ms": "0"}
    ),
    "consume": Story("Consume", _READER | {"partitions": "2"}),
    "read back": Story("Consume", _READER | {"partitions": "2"}),
    "linger": Story("Consume", _READER | {"count": "12", "partitions": "2"}),
    "group": Story("Consume", _READER | {"commit": "true"}, _CLASSIC),
    "modern group": Story("Consume", _READER | {"commit": "true"}, {"group.protocol": "consumer"}),
    "share": Story("ShareConsume", _READER | {"explicit": "true", "acts": "ACCEPT"}),
    "transactions": Story(
        "Transact", {"count": "3", "plan": "offsets,commit"}, {"request.timeout.ms": "5000"}
    ),
    "topics": Story("AdminTopics", {"count": "6", "dir": "/nowhere"}, _SHORT, names_calls=True),
    "cluster": Story("AdminModern", {}, _SHORT, names_calls=True),
}
LIBRDKAFKA = {
    "produce": Story("produce", {"idempotent": "yes"}),
    "batches": Story("produce", {"idempotent": "yes", "partitions": "1"}),
    "consume": Story("consume", {}),
    "read back": Story("consume", {}),
    "linger": Story("consume", {"count": "12"}),
    "group": Story("group", {"members": "1"}),
    "modern group": Story("group", {"members": "1", "protocol": "consumer"}),
    "share": Story("share", {}),
    "transactions": Story("transactions", {}),
}


def clients() -> list[Client]:
    """Return the Java client and librdkafka, built if they are not yet."""
    found = [(java.java("4.4.0"), JAVA, "transactional-id"), (pythons.librdkafka(), LIBRDKAFKA, "id")]
    return [
        Client(f"{driver.name} {driver.version}", driver, stories, once) for driver, stories, once in found
    ]


class Seen(NamedTuple):
    """What a client told: events by kind, the errors it named, whether it ended by itself."""

    counts: Counter[str]
    errors: tuple[str, ...]
    has_ended: bool
    left_for: float | None = None
    """Seconds until the connection of the last fault was closed by the client, and another one made."""


def run(client: Client, story: str, bootstrap: str, names: Mapping[str, str]) -> Seen:
    """Run a story; `names` are options that name the topic, the group and the transaction."""
    told = client.stories[story]
    command = [*client.driver.command, bootstrap, told.action, "--client-id", "replay"]
    for key, value in {**names, **told.options}.items():
        command += [f"--{key}", value]
    for key, value in told.settings.items():
        command += ["--set", f"{key}={value}"]
    events: list[Event] = []
    running = Running(command, events.append)
    failure = ""
    try:
        running.wait(WAIT_SECONDS)
    except RuntimeError as error:
        failure = str(error)
    errors = [
        f"{event['where']}: {event['code']}" if told.names_calls else str(event["code"])
        for event in events
        if event.get("event") == "error"
    ]
    errors += [str(event["outcome"]) for event in events if event.get("outcome") not in (None, "ok")]
    errors += _CLASS.findall(failure)[:1]
    counts = Counter(str(event.get("event")) for event in events)
    return Seen(counts, tuple(dict.fromkeys(errors)), "ended with -1" not in failure)


def outcome(seen: Seen, healthy: Seen) -> str:
    """Return what a client did with a fault, held against the same story without it."""
    said = []
    if seen.left_for is not None and healthy.left_for is None:
        when = "at once" if seen.left_for < 1 else f"after {seen.left_for:.0f} s"
        said.append(f"closes the connection {when} and makes another")
    errors = [error for error in seen.errors if error not in healthy.errors]
    if errors:
        said.append(", ".join(errors))
    said += [
        f"{kind.replace('_', ' ')}: {seen.counts[kind]} instead of {healthy.counts[kind]}"
        for kind in _COUNTED
        if seen.counts[kind] != healthy.counts[kind]
    ]
    if not seen.has_ended:
        said.append(f"has not ended after {WAIT_SECONDS} s")
    return ", ".join(said) or "no error: it sends, reads and commits the same amounts as without the fault"
