"""Consumers: fetch sessions (KIP-227) over pools of Fetch responses."""

from __future__ import annotations

import struct
from random import Random

from .batches import Batch, serve, stamp
from .client import Client
from .cluster import Partition, by_topic
from .exchange import Exchange
from .options import FOLLOWER, MAX_WAIT_MS, Profile
from .role import Role
from .template import MARK, MARK32, Template

RESPONSES = 6  # Fetch responses with records in a consumer's pool
SESSIONS_SINCE = 7  # KIP-227
NO_SESSION = 0, -1  # id and epoch of a Fetch that asks for none (the same)
OFFSET_OUT_OF_RANGE = 1
SERVICE_MEAN_NS = 2_500_000
FOLLOWER_ID, FOLLOWER_EPOCH = 2, 31  # of the broker that follows
LAG = 4000  # records a consumer is behind, at most
_session = struct.Struct(">ii")
_session_id = struct.Struct(">i")


class FetchStep:
    """A response of the pool: its batches, and the request that follows it in a session.

    In the request MARK + n is the fetch offset of the n-th of `listed`; in the response MARK + 2n is the high
    watermark and MARK + 2n + 1 the last stable offset of the n-th of `answered`. Both hold indices into the
    program's partitions.
    """

    __slots__ = ("answered", "following", "listed", "response")

    def __init__(
        self, response: Template, answered: list[int], following: Template, listed: list[int]
    ) -> None:
        self.response = response
        self.answered = answered
        self.following = following
        self.listed = listed


class ConsumerProgram:
    """A consuming application: its partitions on one broker and the pool of exchanges."""

    def __init__(self, random: Random, profile: Profile, client: Client, pool: list[Batch]) -> None:
        self.client = client
        self.topics = random.sample(client.cluster.topics, 2)
        self.partitions = client.cluster.led_by(client.broker, self.topics)
        self.sessions = client.version("Fetch") >= SESSIONS_SINCE and profile.sessions
        self.follower = profile.role == FOLLOWER
        self.metadata_every = profile.metadata_every
        self.empty_ms = profile.empty_ms
        self.empty_rate = profile.empty_rate
        self.starts = [random.randint(1000, 10**6) for _ in self.partitions]
        self.greeting = [*client.api_versions(), client.metadata(self.topics), self._list_offsets()]
        self.full = self._request(range(len(self.partitions)), MARK32)
        self.first = self._step(self._batches(random, profile, pool), full=True)
        self.steps = [self._step(self._batches(random, profile, pool)) for _ in range(RESPONSES)]
        self.empty = self._step({})
        self.failing = self._step({0: []})

    def _list_offsets(self) -> tuple[Template, Template]:
        asked, told = [], []
        starts = dict(zip(self.partitions, self.starts, strict=True))
        for topic, partitions in by_topic(self.partitions):
            ask = [
                {"partition_index": p.index, "timestamp": -2, "current_leader_epoch": -1} for p in partitions
            ]
            tell = [{"partition_index": p.index, "offset": starts[p], "error_code": 0} for p in partitions]
            asked.append({"name": topic.name, "partitions": ask})
            told.append({"name": topic.name, "partitions": tell})
        request = {"replica_id": -1, "isolation_level": 0, "topics": asked, "timeout_ms": 30000}
        return self.client.pair("ListOffsets", request, {"topics": told})

    def _batches(self, random: Random, profile: Profile, pool: list[Batch]) -> dict[int, list[Batch]]:
        count = min(random.randint(*profile.fetch_partitions), len(self.partitions))
        chosen = sorted(random.sample(range(len(self.partitions)), count))
        return {index: random.choices(pool, k=random.randint(*profile.fetch_batches)) for index in chosen}

    def _step(self, batches: dict[int, list[Batch]], full: bool = False) -> FetchStep:
        everything = list(range(len(self.partitions)))
        answered = everything if full or not self.sessions else list(batches)
        listed = [i for i in everything if batches.get(i)] if self.sessions else everything
        response = self._response(answered, batches)
        return FetchStep(response, answered, self._request(listed, MARK32), listed)

    def _request(self, listed: range | list[int], session: int) -> Template:
        topics = []
        marks = iter(range(len(listed)))
        for topic, partitions in by_topic([self.partitions[i] for i in listed]):
            chosen = [
                {"partition": p.index, "fetch_offset": MARK + next(marks), "partition_max_bytes": 1048576}
                for p in partitions
            ]
            topics.append({"topic": topic.name, "topic_id": topic.topic_id, "partitions": chosen})
        values: dict[str, object] = {"max_wait_ms": MAX_WAIT_MS, "min_bytes": 1, "max_bytes": 52428800}
        values |= {"session_id": session, "session_epoch": 0, "topics": topics, "forgotten_topics_data": []}
        if self.follower:
            values["replica_id"] = FOLLOWER_ID  # up to v14; a tagged field from v15 on (KIP-903)
            values["replica_state"] = {"replica_id": FOLLOWER_ID, "replica_epoch": FOLLOWER_EPOCH}
        return self.client.request("Fetch", values)

    def _response(self, answered: list[int], batches: dict[int, list[Batch]]) -> Template:
        topics = []
        order = iter(enumerate(answered))
        for topic, partitions in by_topic([self.partitions[i] for i in answered]):
            chosen = [self._partition(partition, *next(order), batches) for partition in partitions]
            topics.append({"topic": topic.name, "topic_id": topic.topic_id, "partitions": chosen})
        values = {"throttle_time_ms": 0, "error_code": 0, "session_id": MARK32, "responses": topics}
        template = self.client.response("Fetch", values)
        template.find_batches([(index, batch) for index in answered for batch in batches.get(index, ())])
        return template

    def _partition(
        self, partition: Partition, place: int, index: int, batches: dict[int, list[Batch]]
    ) -> dict[str, object]:
        records = b"".join(batch.data for batch in batches.get(index, ()))
        error = OFFSET_OUT_OF_RANGE if index in batches and not records else 0
        return {
            "partition_index": partition.index,
            "error_code": error,
            "high_watermark": MARK + 2 * place,
            "last_stable_offset": MARK + 2 * place + 1,
            "log_start_offset": 0,
            "aborted_transactions": None,
            "preferred_read_replica": -1,
            "records": records,
        }


class FetchExchange(Exchange):
    """A Fetch: offsets and session into the request; these, watermarks and times into the response."""

    __slots__ = ("_consumer", "_epoch", "_listed", "_step")

    def __init__(
        self, consumer: Consumer, request: Template, listed: list[int], step: FetchStep, service_ns: int
    ) -> None:
        super().__init__(request, step.response, service_ns)
        self._consumer = consumer
        self._listed = listed
        self._step = step
        self._epoch = consumer.next_epoch()

    def request_frame(self, correlation_id: int, now_ms: int) -> bytearray:
        frame = self.request.take(correlation_id)
        consumer = self._consumer
        if self.request.session_at >= 0:
            session = consumer.session_id if self._epoch else 0, self._epoch
            if not consumer.program.sessions:
                session = NO_SESSION
            _session.pack_into(frame, self.request.session_at, *session)
        for mark, index in enumerate(self._listed):
            self.request.patch(frame, mark, consumer.offsets[index])
        return frame

    def response_frame(self, correlation_id: int, now_ms: int) -> bytearray:
        response = self._step.response
        frame = response.take(correlation_id)
        consumer = self._consumer
        offsets = consumer.offsets
        if response.session_at >= 0:
            session_id = consumer.session_id if consumer.program.sessions else NO_SESSION[0]
            _session_id.pack_into(frame, response.session_at, session_id)
        for place in response.stamps:
            stamp(frame, place, now_ms - 20 - place.span_ms, -1, -1, -1)
            serve(frame, place, offsets[place.partition])
            offsets[place.partition] += place.records
        for mark, index in enumerate(self._step.answered):
            watermark = consumer.watermark(index)
            response.patch(frame, 2 * mark, watermark)
            response.patch(frame, 2 * mark + 1, watermark)
        return frame


class Consumer(Role):
    """One connection of a consuming application."""

    def __init__(self, random: Random, program: ConsumerProgram) -> None:
        super().__init__(random, program.client)
        self.program = program
        self.offsets = list(program.starts)
        self.session_id = random.randint(1, 2**31 - 1)
        self._watermarks = [offset + random.randint(1, LAG) for offset in program.starts]
        self._epoch = 0
        self._last: FetchStep | None = None
        self._until_metadata = random.randint(1, program.metadata_every)

    def next_epoch(self) -> int:
        """Return the epoch of the next request: 0 opens the session, then it counts up."""
        epoch = self._epoch
        self._epoch += 1
        return epoch

    def watermark(self, index: int) -> int:
        """Return the partition's high watermark: never falls, and never below what was read."""
        offset = self.offsets[index]
        if self._watermarks[index] < offset:
            self._watermarks[index] = offset + offset % LAG
        return self._watermarks[index]

    def opening(self) -> list[Exchange]:
        return [self.plain(pair) for pair in self.program.greeting]

    def plan(self) -> list[Exchange]:
        self._until_metadata -= 1
        if self._until_metadata <= 0:
            self._until_metadata = self.program.metadata_every
            return [self.plain(self.program.greeting[-2])]
        return [self._fetch()]

    def _fetch(self) -> Exchange:
        program = self.program
        last = self._last
        step, service = self._choose(last)
        self._last = step
        if last is None:
            return FetchExchange(self, program.full, list(range(len(program.partitions))), step, service)
        return FetchExchange(self, last.following, last.listed, step, service)

    def _choose(self, last: FetchStep | None) -> tuple[FetchStep, int]:
        program, service = self.program, self.service(SERVICE_MEAN_NS)
        if last is None:
            return program.first, service
        luck = self.random.random()
        if luck < program.empty_rate:
            return program.empty, program.empty_ms * 1_000_000
        if luck < program.empty_rate + 0.003:
            return program.failing, service
        return self.random.choice(program.steps), service
