"""The room a fault happens in: a running cluster, clients that work well, and what was injected."""

import json
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from captures.faults import clients
from captures.faults.clients import Client
from captures.faults.fault import Fault
from captures.record.drivers import Driver, Running
from captures.record.far import far
from captures.record.lab import Lab
from captures.record.spec import TLS12_PLAIN

SECURE = TLS12_PLAIN
"""The role of the listener of clusters whose brokers speak TLS with clients that work well."""
_PATIENCE_S = 60
_GOOD_WRITER = {"linger.ms": 100, "compression.type": "gzip", "batch.size": 16384, "acks": "all"}
_GOOD_READER = {"fetch.max.wait.ms": 1000, "session.timeout.ms": 45000, "heartbeat.interval.ms": 3000}
_GOOD_READER |= {"enable.auto.commit": True, "auto.commit.interval.ms": 5000}


class Room:
    """What the function of a fault gets."""

    def __init__(
        self,
        lab: Lab,
        fault: Fault,
        variant: int,
        library: str | None = None,
        *,
        number: int = 0,
        certificate: Path | None = None,
    ) -> None:
        """`library` may name a release; with `certificate` clients trust it and speak TLS to `SECURE`.

        `number` is that of its topics and groups, by default one that follows from the fault.
        """
        self.lab = lab
        self.fault = fault
        self.variant = variant
        self.number = number or zlib.crc32(f"{fault.name} {variant}".encode()) % 900 + 100
        self.said: list[dict[str, Any]] = []
        self.beside: list[str] = []
        self.afterwards: list[Callable[[], object]] = []
        self._library = library or clients.library_of(variant)
        self._certificate = certificate
        self._crowding = threading.Lock()

    @property
    def library(self) -> str:
        """The client library this variant is about."""
        return clients.family(self._library)

    def among(self, *values: Any) -> Any:
        """One value for each variant."""
        return values[self.variant - 1]

    def name(self, word: str) -> str:
        """Return a topic, group or transactional id with the number of the run: runs share a broker."""
        return f"{word}-{self.number}"

    def client(self, library: str | None = None) -> Client:
        """Return a client of a library, by default the variant's library."""
        return clients.client(library or self._library)

    def writes(
        self,
        client_id: str,
        topic: str,
        settings: Mapping[str, Any] | None = None,
        *,
        library: str | None = None,
        bootstrap: str | None = None,
        away: bool = False,
        **options: Any,
    ) -> Running:
        """Start a producer on the topic named so in this run: `count`, `pace`, `size`, `keys`, `burst`."""
        client = self.client(library)
        wanted = {"compression.type": "gzip", "linger.ms": 20} | dict(settings or {})
        options.setdefault("count", 20000)
        options.setdefault("pace", 100)
        if client.is_java:
            for name in ("burst", "partition", "transactions"):
                options.pop(name, None)
        return self._start(
            client, "writes", client_id, wanted, bootstrap, away, topic=self.name(topic), **options
        )

    def reads(
        self,
        client_id: str,
        topic: str,
        group: str | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        library: str | None = None,
        bootstrap: str | None = None,
        away: bool = False,
        **options: Any,
    ) -> Running:
        """Start a consumer of the topic, in a group or alone: `slow`, `stall`, `commit_each` and so on."""
        client = self.client(library)
        wanted = {"fetch.max.wait.ms": 1000} | dict(settings or {})
        if client.is_java:
            options = {"wait": "true"} | options
        if group:
            options["group"] = self.name(group)
        topics = ",".join(self.name(each) for each in topic.split(","))
        return self._start(client, "reads", client_id, wanted, bootstrap, away, topic=topics, **options)

    def _start(
        self,
        client: Client,
        action: str,
        client_id: str,
        settings: Mapping[str, Any],
        bootstrap: str | None,
        away: bool,
        **options: Any,
    ) -> Running:
        driver: Driver = far(client.driver) if away else client.driver
        if bootstrap is None and self._certificate is not None:
            bootstrap = self.lab.cluster.listener(SECURE)
            if client.library == clients.FRANZ:
                options["trust"] = self._certificate
            else:
                trusted = clients.trusting(client.library, str(self._certificate), any_host=True)
                settings = trusted | dict(settings)
        return self.lab.start_driver(
            driver,
            client.action(action),
            client_id=client_id,
            bootstrap=bootstrap,
            properties=client.settings(settings),
            **options,
        )

    def errand(
        self, action: str, *, library: str = clients.KAFKA_PYTHON, client_id: str = "ops", **options: Any
    ) -> None:
        """Run an administrator's action of a driver to its end."""
        self.lab.run_driver(self.client(library).driver, action, client_id=client_id, **options)

    def crowd(self) -> None:
        """Start what works well beside the fault, once: a producer, and a group that reads it and commits."""
        with self._crowding:
            if not self.beside:
                self._start_crowd()

    def _start_crowd(self) -> None:
        library = clients.LIBRDKAFKA if self.library != clients.LIBRDKAFKA else clients.KAFKA_PYTHON
        burst = {"burst": 8, "pace": self.among(1500, 1800, 1300), "size": self.among(90, 140, 110)}
        producer = self.writes("shop", "sales", _GOOD_WRITER, library=library, keys=400, **burst)
        reader = self.reads("mailer", "sales", "mailers", _GOOD_READER, library=library)
        self.beside += ["shop", "mailer"]
        producer.until("wrote", seconds=_PATIENCE_S)
        reader.until("seen", seconds=_PATIENCE_S)

    def joined(self, reader: Running) -> None:
        """Wait until a member of a group was given partitions."""
        self.either(reader, "assigned", "joined")

    def seen(self, reader: Running, count: int = 1) -> None:
        """Wait until a consumer read so many records."""
        self.either(reader, "read", "seen", count=count)

    def either(self, running: Running, *kinds: str, count: int = 1, seconds: float = _PATIENCE_S) -> None:
        """Wait for so many events of one of the kinds. Raises RuntimeError when they do not come."""
        end = time.monotonic() + seconds
        while sum(event.get("event") in kinds for event in list(running.events)) < count:
            if time.monotonic() > end or not running.alive:
                running.until(kinds[0], seconds=0)
            time.sleep(0.05)

    def injects(self, what: str, **who: Any) -> None:
        """Say what is done from now on, in a sentence, and to whom."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.said.append({"what": what, "who": who, "since": now})

    def after(self, repairs: Callable[[], object]) -> None:
        """Do this when the capture has ended: what puts the cluster right for the next fault."""
        self.afterwards.append(repairs)

    def lasts(self, seconds: float) -> None:
        """Let it go on for so long."""
        time.sleep(seconds)

    def until(self, seconds: float) -> Callable[[], bool]:
        """Return what says whether so many seconds are over."""
        end = time.monotonic() + seconds
        return lambda: time.monotonic() >= end

    def together(self, *injections: Callable[["Room"], None]) -> None:
        """Run several injections at once; the first problem of them is raised."""
        problems: list[BaseException] = []

        def guarded(inject: Callable[[Room], None]) -> None:
            try:
                inject(self)
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=guarded, args=(inject,)) for inject in injections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]

    def truth(self) -> dict[str, Any]:
        """Return the injected fault as the file next to the capture has it."""
        fault = self.fault
        return {
            "fault": fault.name,
            "variant": self.variant,
            "causes": list(fault.causes),
            "also": list(fault.also),
            "story": fault.story,
            "injected": self.said,
            "broker": self.lab.truth.content["broker"] | {"nodes": fault.broker.nodes},
            "clients": self.lab.truth.content["clients"],
            "beside": self.beside,
            "client_errors": self._errors(),
        }

    def _errors(self) -> dict[str, dict[str, int]]:
        """Return how often each error appears in the output of the clients, by client id."""
        found: dict[str, dict[str, int]] = {}
        for error in self.lab.truth.content["errors"]:
            of_client = found.setdefault(error["client_id"], {})
            code = str(error.get("code"))
            of_client[code] = of_client.get(code, 0) + 1
        return found


def write(truth: Mapping[str, Any], path: Path) -> None:
    """Write it."""
    path.write_text(json.dumps(truth, indent=1) + "\n")
