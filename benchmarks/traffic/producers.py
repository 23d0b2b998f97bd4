"""Producers: pools of Produce requests, and the connections that send them."""

from __future__ import annotations

from random import Random

from .batches import Batch, Stamp, stamp
from .client import Client, Pair
from .cluster import Partition, broker_values, by_topic
from .exchange import Exchange
from .options import Profile
from .role import Role
from .template import MARK, Template

REQUESTS = 6  # Produce requests in a producer's pool
METADATA_EVERY = 40  # plans between two Metadata refreshes
ERROR_RATE = 0.005
NOT_LEADER_OR_FOLLOWER = 6
SERVICE_MEAN_NS = {0: 0, 1: 1_500_000, -1: 4_000_000}  # by acks: the leader's disk, or its followers' too


Answers = tuple[Template | None, Template | None]


class ProduceFrame:
    """One request of the pool with its good and its bad answer."""

    __slots__ = ("bad", "good", "partitions", "request")

    def __init__(self, request: Template, answers: Answers, partitions: list[Partition]) -> None:
        self.request = request
        self.good, self.bad = answers
        self.partitions = partitions


class ProducerProgram:
    """A producing application: settings, topics and its pool of requests; shared by its connections."""

    def __init__(
        self, random: Random, profile: Profile, client: Client, acks: int, pool: list[Batch]
    ) -> None:
        self.client = client
        self.acks = acks
        self.idempotent = acks == -1
        self.topics = random.sample(client.cluster.topics, 2)
        self.partitions = client.cluster.led_by(client.broker, self.topics)
        self.greeting = [*client.api_versions(), client.metadata(self.topics)]
        self.frames = [self._frame(random, profile, pool) for _ in range(REQUESTS)]

    def _frame(self, random: Random, profile: Profile, pool: list[Batch]) -> ProduceFrame:
        count = min(random.randint(*profile.produce_partitions), len(self.partitions))
        chosen = sorted(random.sample(range(len(self.partitions)), count))
        batches = [(index, random.choice(pool)) for index in chosen]
        request = self._request(batches)
        partitions = [self.partitions[index] for index in chosen]
        if self.acks == 0:
            return ProduceFrame(request, (None, None), partitions)
        return ProduceFrame(request, (self._answer(partitions, 0), self._answer(partitions, 1)), partitions)

    def _request(self, batches: list[tuple[int, Batch]]) -> Template:
        data = {self.partitions[index]: batch.data for index, batch in batches}
        topics = [
            {
                "name": topic.name,
                "topic_id": topic.topic_id,
                "partition_data": [{"index": p.index, "records": data[p]} for p in partitions],
            }
            for topic, partitions in by_topic(list(data))
        ]
        values = {"transactional_id": None, "acks": self.acks, "timeout_ms": 30000, "topic_data": topics}
        template = self.client.request("Produce", values)
        template.find_batches(batches)
        return template

    def _answer(self, partitions: list[Partition], failed: int) -> Template:
        """Return the response; the first `failed` partitions have moved (with the new leader from v10,
        KIP-951).
        """
        marks = iter(range(len(partitions)))
        topics = [
            {
                "name": topic.name,
                "topic_id": topic.topic_id,
                "partition_responses": [self._outcome(p, next(marks), failed) for p in chosen],
            }
            for topic, chosen in by_topic(partitions)
        ]
        values: dict[str, object] = {"responses": topics, "throttle_time_ms": 0}
        if failed:
            values["node_endpoints"] = broker_values(self.client.cluster)[-1:]
        return self.client.response("Produce", values)

    def _outcome(self, partition: Partition, mark: int, failed: int) -> dict[str, object]:
        outcome: dict[str, object] = {"index": partition.index, "log_append_time_ms": -1}
        if mark >= failed:
            return outcome | {"error_code": 0, "base_offset": MARK + mark - failed, "log_start_offset": 0}
        outcome |= {"error_code": NOT_LEADER_OR_FOLLOWER, "base_offset": -1, "log_start_offset": -1}
        outcome["current_leader"] = {"leader_id": self.client.cluster.brokers[-1].node, "leader_epoch": 8}
        return outcome


class ProduceExchange(Exchange):
    """A Produce: sequences and times into the request, the log's offsets into the response."""

    __slots__ = ("_frame", "_producer")

    def __init__(
        self, producer: Producer, frame: ProduceFrame, answer: Template | None, service_ns: int
    ) -> None:
        super().__init__(frame.request, answer, service_ns)
        self._frame = frame
        self._producer = producer

    def request_frame(self, correlation_id: int, now_ms: int) -> bytearray:
        frame = self.request.take(correlation_id)
        producer = self._producer
        for place in self.request.stamps:
            sequence = producer.next_sequence(place)
            stamp(frame, place, now_ms - place.span_ms, producer.producer_id, producer.epoch, sequence)
        return frame

    def response_frame(self, correlation_id: int, now_ms: int) -> bytearray:
        assert self.response is not None
        frame = self.response.take(correlation_id)
        failed = len(self._frame.partitions) - len(self.response.marks)
        for mark, partition in enumerate(self._frame.partitions[failed:]):
            self.response.patch(frame, mark, partition.end)
            partition.end += self.request.stamps[mark + failed].records
        return frame


class Producer(Role):
    """One connection of a producing application."""

    def __init__(self, random: Random, profile: Profile, program: ProducerProgram) -> None:
        super().__init__(random, program.client)
        self.program = program
        self.producer_id = random.randint(1000, 10**6) if program.idempotent else -1
        self.epoch = 0 if program.idempotent else -1
        self._sequences = [0] * len(program.partitions)
        self._depth = profile.depth
        # After a connection was refused and closed, the next one would have to know the leader's new epoch.
        self._may_fail = profile.plans < 0
        self._until_metadata = random.randint(1, METADATA_EVERY)

    def next_sequence(self, place: Stamp) -> int:
        """Return the base sequence of the next batch of a partition; -1 without idempotence."""
        if self.producer_id < 0:
            return -1
        sequence = self._sequences[place.partition]
        self._sequences[place.partition] = sequence + place.records
        return sequence

    def opening(self) -> list[Exchange]:
        pairs: list[Pair] = list(self.program.greeting)
        if self.program.idempotent:
            request = {"transactional_id": None, "transaction_timeout_ms": 60000}
            response = {"error_code": 0, "producer_id": self.producer_id, "producer_epoch": self.epoch}
            pairs.append(self.client.pair("InitProducerId", request, response))
        return [self.plain(pair) for pair in pairs]

    def plan(self) -> list[Exchange]:
        exchanges = [self._produce() for _ in range(self.random.randint(1, self._depth))]
        self._until_metadata -= 1
        if self._until_metadata <= 0:
            self._until_metadata = METADATA_EVERY
            exchanges.insert(0, self.plain(self.program.greeting[-1]))
        return exchanges

    def _produce(self) -> Exchange:
        random = self.random
        frame = random.choice(self.program.frames)
        answer = frame.good
        # Only without idempotence: an idempotent producer would have to send the batch again, same sequence.
        if self._may_fail and self.program.acks == 1 and random.random() < ERROR_RATE:
            answer = frame.bad
        return ProduceExchange(self, frame, answer, self.service(SERVICE_MEAN_NS[self.program.acks]))
