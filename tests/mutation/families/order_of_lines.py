"""Mutators of order and time: which answer comes when, and with which correlation id."""

import random
from collections.abc import Iterator
from typing import Any

from tests.mutation.corpus import Recording, Scene, opening, prefix, recordings, side_of, sides_of
from tests.mutation.families.bytes_of_headers import bodies
from tests.mutation.mutators import MANY, Mutant, edits, mutator, spread
from tests.mutation.talk import Line, Talk
from tests.support.messages.traffic import BROKER, CLIENT

SECOND = 1_000_000_000
LONGEST = 40  # exchanges of a scene with history
PRODUCE, FETCH = 0, 1
SASL = (17, 36)

# Requests that a broker leaves unanswered on purpose, or for reasons of their own.
WAITING = (1, 11, 14, 17, 36, 58, 59, 78)


def shuffled(rng: random.Random) -> list[Recording]:
    """Return every recording; those of one capture do not stand together."""
    return rng.sample(recordings(), len(recordings()))


def with_id(content: bytes, side: int, correlation_id: int) -> bytes:
    """Return a frame under another correlation id."""
    at = 4 if side == CLIENT else 0
    return content[:at] + correlation_id.to_bytes(4, signed=True) + content[at + 4 :]


def later(talk: Talk, line: Line, nanoseconds: int) -> Talk:
    """Delay a line and all lines after it."""
    for other in talk.lines[talk.lines.index(line) :]:
        other.at_ns += nanoseconds
    return talk


def pipelined(rng: random.Random) -> Iterator[tuple[Scene, int]]:
    """Scenes whose exchange was sent while the one before it waited; the index of that one."""
    for recording in shuffled(rng):
        exchanges = recording.exchanges
        for index in range(opening(recording) + 1, min(len(exchanges), LONGEST)):
            before, now = exchanges[index - 1], exchanges[index]
            if before.response is None or now.response is None or now.request is None or now.anomalies:
                continue
            if now.request.time_ns < before.response.time_ns:
                scene = prefix(recording, index)
                yield scene, scene.target - 1
                break


# correlation ids and answers


@mutator(
    "other-correlation-id", "PAI001", "a response carries the correlation id of a request that waits", MANY
)
def _other_id(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, BROKER):
        talk = body.talk(with_id(body.data, BROKER, 0x11223344))
        talk.cut_behind(talk.line(body.scene.target, BROKER))  # clients close then
        yield Mutant(body.scene, talk)


@mutator("answers-swapped", "PAI002", "responses come in the order of their requests", MANY)
def _swapped(rng: random.Random) -> Iterator[Mutant]:
    for scene, earlier in pipelined(rng):
        talk = scene.talk()
        one, two = talk.line(earlier, BROKER), talk.line(scene.target, BROKER)
        one.content, two.content = two.content, one.content
        one.exchange, two.exchange = two.exchange, one.exchange
        yield Mutant(scene, talk, scene.target, BROKER)


@mutator("request-passed-over", "PAI015", "a request is answered before those behind it", MANY)
def _passed_over(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which its answer goes to the same request, asked once more under the next id."""
    for body in bodies(rng, BROKER):
        if body.scene.exchange.close is not None or body.api.key in SASL:
            continue  # a login that is not answered is none
        talk = body.scene.talk()
        asked, answered = talk.line(body.scene.target, CLIENT), talk.line(body.scene.target, BROKER)
        number = int.from_bytes(asked.content[4:8]) + 1 & 0x7FFFFFFF
        again = asked.copy(content=with_id(asked.content, CLIENT, number), at_ns=answered.at_ns - 1)
        talk.insert_behind(asked, again)
        answered.content = with_id(answered.content, BROKER, number)
        yield Mutant(body.scene, talk.cut_behind(answered), body.scene.target, CLIENT)


@mutator("answer-twice", "PAI003", "a request is answered once", MANY)
def _twice(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, BROKER):
        talk = body.scene.talk()
        line = talk.line(body.scene.target, BROKER)
        yield Mutant(body.scene, talk.insert_behind(line, line.copy()))


@edits("acks-0-answered", "PAI004", "Produce with acks=0 is not answered", ("Produce",), found_at=BROKER)
def _acks_0(value: Any, _: Any) -> bool:
    value.acks = 0
    return True


@mutator("waiting-request-dropped", "PAI005", "a broker that closes leaves no request unanswered")
def _dropped(rng: random.Random) -> Iterator[Mutant]:
    for api in ("Fetch", "JoinGroup", "SyncGroup", "ShareFetch"):
        for body in [b for b in spread(sides_of(api, CLIENT), rng) if b.scene.exchanges[0].api_key == 18][
            :12
        ]:
            talk = body.scene.talk()
            talk.cut_behind(talk.line(body.scene.target, CLIENT)).closer = BROKER
            yield Mutant(body.scene, talk)


@mutator(
    "correlation-id-in-flight", "HDR008", "a correlation id is unique among the requests in flight", MANY
)
def _reused(rng: random.Random) -> Iterator[Mutant]:
    for scene, earlier in pipelined(rng):
        first = scene.exchanges[earlier].correlation_id or 0
        talk = scene.talk()
        for side in (CLIENT, BROKER):
            line = talk.line(scene.target, side)
            line.content = with_id(line.content, side, first)
        yield Mutant(scene, talk, scene.target, CLIENT)


@mutator("correlation-id-again", "HDR009", "correlation ids increase")
def _again(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, CLIENT):
        before = body.scene.exchanges[body.scene.target - 1].correlation_id
        if before is not None and 0 < before < 0x7FFFFF00:
            talk = body.talk(with_id(body.data, CLIENT, before))
            line = talk.line(body.scene.target, BROKER)
            line.content = with_id(line.content, BROKER, before)
            yield Mutant(body.scene, talk, body.scene.target, CLIENT)


@mutator("six-in-flight", "PAI006", "Java's producer has five requests in flight", 12)
def _deep(rng: random.Random) -> Iterator[Mutant]:
    for recording in shuffled(rng):
        sent = [n for n in recording.of(PRODUCE) if recording.exchanges[n].response is not None][:6]
        if len(sent) == 6:
            chosen = [*range(opening(recording)), *sent]
            scene = Scene(recording.capture, tuple(recording.exchanges[n] for n in chosen), len(chosen) - 1)
            talk, first = scene.talk(), len(chosen) - 6
            asked = [line for line in talk.lines if line.side == CLIENT or line.exchange < first]
            answers = [line for line in talk.lines if line not in asked]
            talk.lines = asked + answers
            yield Mutant(scene, talk, scene.target)


# time


@mutator("slow-answer", "PAI007", "a broker answers within request.timeout.ms, 30 s")
def _slow(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, BROKER):
        if body.api.key not in WAITING:
            talk = body.scene.talk()
            yield Mutant(
                body.scene, later(talk, talk.line(body.scene.target, BROKER), 31 * SECOND), body.scene.target
            )


@mutator("late-fetch", "FET007", "a fetch is answered within max_wait_ms")
def _late(rng: random.Random) -> Iterator[Mutant]:
    for body in spread(sides_of("Fetch", BROKER), rng):
        talk, asked = body.scene.talk(), side_of(body.scene, CLIENT)
        if asked is not None and not getattr(body.value(), "throttle_time_ms", 0):
            wait = asked.value().max_wait_ms * 1_000_000 + 2 * SECOND
            yield Mutant(
                body.scene, later(talk, talk.line(body.scene.target, BROKER), wait), body.scene.target
            )


@mutator("early-fetch", "FET008", "a fetch waits max_wait_ms for min_bytes")
def _early(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which an empty answer that came after the wait comes at once."""
    for body in spread(sides_of("Fetch", BROKER), rng):
        asked, answer = side_of(body.scene, CLIENT), body.value()
        rows = [row for topic in answer.responses for row in topic.partitions]
        if (
            asked is None
            or any(row.records for row in rows)
            or any(row.error_code for row in rows)
            or not rows
        ):
            continue
        request = asked.value()
        if getattr(request, "session_id", 0) or request.min_bytes < 1 or request.max_wait_ms < 50:
            continue
        talk = body.scene.talk()
        line = talk.line(body.scene.target, BROKER)
        line.at_ns = talk.line(body.scene.target, CLIENT).at_ns
        yield Mutant(body.scene, talk, body.scene.target)


@mutator("throttle-ignored", "PAI010", "a client is silent for throttle_time_ms")
def _throttled(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the answer asks for a minute of silence, and the next request comes 200 ms
    later.
    """
    for body in bodies(rng, BROKER):
        value = body.value()
        scene = body.scene
        if (
            body.version < 9
            or not hasattr(value, "throttle_time_ms")
            or len(scene.exchanges) == scene.target + 1
        ):
            continue  # v9: every API's clients wait by then (KIP-219)
        value.throttle_time_ms = 60_000
        talk = body.talk(body.encoded(value))
        following = talk.line(scene.target + 1, CLIENT)
        if talk.lines.index(following) > talk.lines.index(talk.line(scene.target, BROKER)):
            later(talk, following, SECOND // 5)
            yield Mutant(scene, talk, scene.target + 1)
