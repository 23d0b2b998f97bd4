"""Everything that talks: clusters, programs, and the connections that come and go until the file is full."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from ipaddress import IPv4Address
from random import Random
from typing import Any, BinaryIO

from .batches import build_pool
from .client import Client
from .cluster import PORT, Cluster
from .codecs import codec_of
from .consumers import FOLLOWER_ID, Consumer, ConsumerProgram
from .conversation import Budget, Conversation
from .flow import Endpoints, Flow
from .members import Member
from .options import CONSUMER, FOLLOWER, PRODUCER, RELEASES, Options
from .producers import Producer, ProducerProgram
from .role import Role
from .silent import write_silent
from .sink import START_NS, Sink
from .truth import Truth

ACKS = (1, -1, 1, -1, 0)
CLUSTER_RELEASE = {"old": (2, 5), "new": (4, 2)}
UNNAMED_TURN = 9  # a client without a client id
REFUSED_TURN = 4  # in mixed traffic this program is newer than its brokers: its ApiVersions is refused
SERVICES = ("checkout", "billing", "web-tracker", "stock", "rdkafka", "mailer", "etl-nightly")
RAMP = 0.15  # connections start within this part of the expected duration
SHORT_LIVED_RATE = 0.1  # connections that close after a few exchanges, and are followed by a new one
SHORT_PLANS = 5
FIRST_EPHEMERAL_PORT = 32768
LAST_EPHEMERAL_PORT = 60999
SECOND_NS = 1_000_000_000


class World:
    """One run's actors. All randomness comes from one seeded generator, used in one thread."""

    def __init__(self, options: Options, file: BinaryIO) -> None:
        self.options = options
        self.truth = Truth()
        self._random = Random(options.seed)
        profile = options.profile
        self._sink = Sink(file, options.link, profile.loopback, self._random, options.loss)
        self._budget = Budget(options.size)
        self._pools: dict[str, Any] = {}
        self._clusters = self._build_clusters()
        turns, role = range(profile.programs), profile.role
        self._producers = [self._producer_program(turn) for turn in turns if role in ("", PRODUCER)]
        self._consumers = [self._consumer_program(turn) for turn in turns if role in ("", CONSUMER, FOLLOWER)]
        self._members = [self._member_client(turn) for turn in turns]

    def _build_clusters(self) -> list[tuple[str, Cluster]]:
        eras = ["old", "new"] if self.options.versions == "mixed" else [self.options.versions]
        clusters = []
        partitions = self.options.profile.partitions
        for number, era in enumerate(eras, 1):
            hosts = [f"10.{number}.0.{node}" for node in range(1, self.options.profile.brokers + 1)]
            if self.options.profile.loopback:
                hosts = [f"127.0.0.{number}"]
            clusters.append((era, Cluster(self._random, CLUSTER_RELEASE[era], hosts, partitions)))
        return clusters

    def _client(self, turn: int) -> Client:
        era, cluster = self._clusters[turn % len(self._clusters)]
        releases = RELEASES[era]
        release = releases[turn // len(self._clusters) % len(releases)]
        if len(self._clusters) == 2 and era == "old" and turn == REFUSED_TURN:
            release = RELEASES["new"][-1]
        broker = cluster.brokers[turn % len(cluster.brokers)]
        profile = self.options.profile
        name = None if turn == UNNAMED_TURN else f"{SERVICES[turn % len(SERVICES)]}-{turn}"
        if profile.role == FOLLOWER:
            name = f"broker-{FOLLOWER_ID}-fetcher-{turn}"
        return Client(cluster, broker, release, name)

    def _member_client(self, turn: int) -> Client:
        client = self._client(turn)
        if client.cluster.release == CLUSTER_RELEASE["old"]:
            # Wireshark 4.0 takes the length of non-compact `bytes` for an int16: older JoinGroup looks cut.
            client.release = RELEASES["old"][-1]
        return client

    def _pool(self, codec: str) -> Any:
        if codec not in self._pools:
            self._pools[codec] = build_pool(self._random, self.options.profile, codec)
        return self._pools[codec]

    def _producer_program(self, turn: int) -> ProducerProgram:
        client = self._client(turn)
        codec = codec_of(self.options.codec, turn * 3 + turn // 5, "produce", client.version("Produce"))
        # Shifted every round, so that each release meets each setting.
        acks = ACKS[(turn + turn // len(ACKS)) % len(ACKS)]
        return ProducerProgram(self._random, self.options.profile, client, acks, self._pool(codec))

    def _consumer_program(self, turn: int) -> ConsumerProgram:
        client = self._client(turn)
        codec = codec_of(self.options.codec, turn * 2 + turn // 5, "fetch", client.version("Fetch"))
        return ConsumerProgram(self._random, self.options.profile, client, self._pool(codec))

    def _role(self, slot: int) -> Role:
        """Slots are dealt 9 : 9 : 2 to producers, consumers and group members; the first five have each."""
        profile = self.options.profile
        kind, turn, programs = slot % 20, slot // 2, profile.programs
        role = profile.role
        if not role and kind in (4, 13):
            client = self._members[slot // 10 % programs]
            return Member(self._random, client, f"group-{slot % 7}")
        if role in (CONSUMER, FOLLOWER) or (not role and slot % 2):
            return Consumer(self._random, self._consumers[turn % programs])
        return Producer(self._random, profile, self._producers[turn % programs])

    def _endpoints(self, role: Role, number: int) -> Endpoints:
        ports = LAST_EPHEMERAL_PORT - FIRST_EPHEMERAL_PORT + 1
        profile = self.options.profile
        host = IPv4Address("127.0.0.1") if profile.loopback else IPv4Address("10.200.0.1") + number % 250
        broker = IPv4Address(role.client.broker.host).packed
        port = FIRST_EPHEMERAL_PORT + number * 7 % ports
        return Endpoints(host.packed, port, broker, PORT, self.options.link, profile.loopback)

    def _start(self, slot: int) -> Iterator[int]:
        profile = self.options.profile
        role = self._role(slot)
        ends = self._endpoints(role, self.truth.connections)
        self.truth.connections += 1
        flow = Flow(self._random, self._sink, ends, profile, self.options.reorder)
        share = profile.group_share if isinstance(role, Member) else 1.0
        byte_ns = SECOND_NS * self.options.connections / profile.rate / share
        plans = (
            SHORT_PLANS if self._random.random() < SHORT_LIVED_RATE and profile.plans < 0 else profile.plans
        )
        talk = Conversation(self._random, profile, self._sink, self.truth, self._budget, flow, role)
        return talk.run(byte_ns, plans)

    def run(self) -> dict[str, Any]:
        """Let them talk until the file has its size; returns the truth."""
        sink, budget = self._sink, self._budget
        ramp = int(RAMP * SECOND_NS * self.options.size / self.options.profile.rate)
        slots = range(self.options.connections)
        queue = [(sink.clock + self._random.randint(0, ramp), serial, serial) for serial in slots]
        heapq.heapify(queue)
        talks: dict[int, Iterator[int]] = {}
        serial = len(queue)  # breaks ties, so that equal times have one order
        while queue:
            due, _, slot = queue[0]
            sink.clock = max(sink.clock, due)
            if slot not in talks:
                if budget.left <= 0:
                    heapq.heappop(queue)
                    continue
                talks[slot] = self._start(slot)
            resume = next(talks[slot], None)
            if resume is None:
                del talks[slot]
                resume = sink.clock
            serial += 1
            heapq.heapreplace(queue, (resume, serial, slot))
        sink.flush()
        return self._summary()

    def run_silent(self, count: int) -> dict[str, Any]:
        """Write connections that fall silent, and nothing else; the truth counts connections and bytes."""
        clients = [self._client(turn) for turn in range(self.options.profile.programs)]
        write_silent(self._random, self._sink, self.options, clients, count)
        self.truth.connections += count
        return self._summary()

    def _summary(self) -> dict[str, Any]:
        sink, options = self._sink, self.options
        return {
            "profile": options.profile.name,
            "versions": options.versions,
            "codec": options.codec,
            "seed": options.seed,
            "bytes": sink.written,
            "packets": sink.packets,
            "lost_packets": sink.lost,
            "swapped_segments": sink.swapped,
            "duration_ns": sink.last - START_NS,
            **self.truth.as_json(),
        }
