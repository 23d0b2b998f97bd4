"""Mutators of state that few connections show: quorums, telemetry, timeouts of groups, SASL tokens."""

import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.mutation.corpus import API_VERSIONS, SASL_AUTHENTICATE, Scene, Side, recordings, side_of, sides_of
from tests.mutation.families.authentication import again, logins
from tests.mutation.families.batches import PRODUCER_ID, held_in, is_whole, number, put
from tests.mutation.families.bytes_of_headers import advertised
from tests.mutation.families.histories import GROUP, before, edited, places
from tests.mutation.families.order_of_lines import SECOND, later
from tests.mutation.families.producers import ADD_PARTITIONS, INIT_PRODUCER_ID, PRODUCE, STEPS
from tests.mutation.families.values_of_any_api import translated
from tests.mutation.mutators import MANY, Mutant, changed, edits, mutator, spread
from tests.support.messages.traffic import BROKER, CLIENT

JOIN_GROUP, HEARTBEAT = 11, 12
REBALANCE_IN_PROGRESS = 27
SUBSCRIPTIONS, PUSH = 71, 72
VOTE, BEGIN_EPOCH, END_EPOCH, FETCH_SNAPSHOT = 52, 53, 54, 59
REGISTRATION, BROKER_HEARTBEAT = 62, 63
FETCH, UPDATE_METADATA = 1, 6
LONGEST_WAIT = 1200 * SECOND  # a connection that is silent for half an hour is another one

# producers


@mutator("producer-id-of-nobody", "PRD009", "a producer uses the id that InitProducerId gave it", MANY)
def _of_nobody(rng: random.Random) -> Iterator[Mutant]:
    for _, scene in places(rng, PRODUCE, INIT_PRODUCER_ID):
        body = side_of(scene, CLIENT)
        given = [answer.value().producer_id for answer in before(scene, INIT_PRODUCER_ID, BROKER)]
        for held in held_in(body) if body is not None and given else ():
            if is_whole(held.data) and number(held.data, PRODUCER_ID, 8) in given:
                other = number(held.data, PRODUCER_ID, 8) + 777_777
                yield held.mutant(put(held.data, PRODUCER_ID, 8, other))._replace(exchange=scene.target)
            break


@mutator("two-ways-to-join", "TXN008", "a producer adds partitions itself, or uses Produce v12")
def _two_ways(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which a batch after AddPartitionsToTxn says the same in Produce v12."""
    for _, scene in places(rng, PRODUCE, *STEPS):
        body = side_of(scene, CLIENT)
        ranges = advertised(scene, PRODUCE)
        if body is None or body.version > 11 or getattr(body.value(), "transactional_id", None) is None:
            continue
        if (ranges is not None and ranges[1] < 12) or not before(scene, ADD_PARTITIONS, CLIENT):
            continue
        both = translated(body, 12)
        if both is not None and before(scene, INIT_PRODUCER_ID, CLIENT):
            talk = scene.talk().replace(scene.target, CLIENT, both[0])
            yield Mutant(scene, talk.replace(scene.target, BROKER, both[1]), scene.target)


# groups


def _joined(scene: Scene) -> Any:
    """Return the JoinGroup request whose member heartbeats in the scene's exchange, or None if it is not
    there.
    """
    body = side_of(scene, CLIENT)
    for index in range(scene.target - 1, -1, -1):
        at = scene._replace(target=index)
        asked, answer = side_of(at, CLIENT), side_of(at, BROKER)
        if (
            scene.exchanges[index].api_key == JOIN_GROUP
            and body is not None
            and asked is not None
            and answer is not None
        ):
            told = answer.value()
            return asked.value() if not told.error_code and told.member_id == body.value().member_id else None
    return None


@mutator("silent-member", "GRP017", "a member is heard of within its session timeout", MANY)
def _silent(rng: random.Random) -> Iterator[Mutant]:
    for _, scene in places(rng, HEARTBEAT, *GROUP, each=1):
        joined = _joined(scene)
        if joined is not None:
            talk = scene.talk()
            late = joined.session_timeout_ms * 1_000_000 + SECOND
            yield Mutant(scene, later(talk, talk.line(scene.target, CLIENT), late), scene.target)


@mutator("rebalance-ignored", "GRP018", "a member that is told of a rebalance joins again in time", MANY)
def _overdue(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the last two heartbeats are answered with a rebalance, the first of them long
    ago.
    """
    for _, scene in places(rng, HEARTBEAT, *GROUP, each=1):
        joined = _joined(scene)
        if joined is None or scene.target == 0 or scene.exchanges[scene.target - 1].api_key != HEARTBEAT:
            continue
        talk = scene.talk()
        sides = [(n, side_of(scene._replace(target=n), BROKER)) for n in (scene.target - 1, scene.target)]
        answers = [(n, side) for n, side in sides if side is not None and not side.value().error_code]
        if len(answers) < len(sides):
            continue
        for place, side in answers:
            value = side.value()
            value.error_code = REBALANCE_IN_PROGRESS
            talk = talk.replace(place, BROKER, side.encoded(value))
        wait = getattr(joined, "rebalance_timeout_ms", joined.session_timeout_ms) * 1_000_000 + SECOND
        if wait > LONGEST_WAIT:
            continue
        yield Mutant(scene, later(talk, talk.line(scene.target, CLIENT), wait), scene.target)


# SASL


@mutator("api-versions-late", "SAS009", "ApiVersions comes before SaslHandshake", MANY)
def _late_versions(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which ApiVersions moves after the handshake."""
    for recording, scene in logins(rng):
        asked = [n for n in recording.of(API_VERSIONS) if n < scene.target]
        if len(asked) == 1:
            talk = scene.talk()
            moved = [line for line in talk.lines if line.exchange == asked[0]]
            rest = [line for line in talk.lines if line not in moved]
            at = rest.index(next(x for x in rest if x.exchange == scene.target and x.side == BROKER)) + 1
            talk.lines = rest[:at] + moved + rest[at:]
            yield Mutant(scene, talk, scene.target)


def _tokens(rng: random.Random, mechanism: str) -> Iterator[list[Side]]:
    """Yield the SaslAuthenticate requests of a login with a mechanism."""
    for recording, scene in logins(rng):
        asked = side_of(scene, CLIENT)
        if asked is not None and asked.value().mechanism.startswith(mechanism):
            found = [side_of(scene._replace(target=n), CLIENT) for n in recording.of(SASL_AUTHENTICATE)]
            yield [body for body in found if body is not None]


def _with_token(body: Side, token: bytes) -> Mutant:
    value = body.value()
    value.auth_bytes = token
    return changed(body, body.encoded(value))


@mutator("plain-without-nul", "SAS010", "a PLAIN token has two NULs", MANY)
def _one_nul(rng: random.Random) -> Iterator[Mutant]:
    for bodies in _tokens(rng, "PLAIN"):
        token = bytes(bodies[0].value().auth_bytes)
        yield _with_token(bodies[0], token.replace(b"\0", b":", 1))


@mutator("plain-without-password", "SAS010", "a PLAIN token has a password", MANY)
def _no_password(rng: random.Random) -> Iterator[Mutant]:
    for bodies in _tokens(rng, "PLAIN"):
        token = bytes(bodies[0].value().auth_bytes)
        yield _with_token(bodies[0], token[: token.rindex(b"\0") + 1])


@mutator("scram-other-nonce", "SAS011", "the client's proof carries the server's nonce", MANY)
def _nonce(rng: random.Random) -> Iterator[Mutant]:
    for bodies in _tokens(rng, "SCRAM"):
        if len(bodies) == 2:
            token = bytes(bodies[1].value().auth_bytes)
            at = token.index(b"r=") + 2
            yield _with_token(bodies[1], token[:at] + bytes((token[at] ^ 1,)) + token[at + 1 :])


@mutator("scram-few-iterations", "SAS011", "SCRAM has 4096 iterations at least", MANY)
def _iterations(rng: random.Random) -> Iterator[Mutant]:
    for bodies in _tokens(rng, "SCRAM"):
        answer = side_of(bodies[0].scene, BROKER)
        if answer is not None and b",i=" in bytes(answer.value().auth_bytes):
            value = answer.value()
            head, _, _ = bytes(value.auth_bytes).partition(b",i=")
            value.auth_bytes = head + b",i=64"
            yield changed(answer, answer.encoded(value))


@mutator("other-user", "SAS012", "re-authentication is as the same principal")
def _other_user(rng: random.Random) -> Iterator[Mutant]:
    for scene in again(rng):
        keys = [exchange.api_key for exchange in scene.exchanges]
        token = scene._replace(target=keys.index(SASL_AUTHENTICATE, scene.target))
        body = side_of(token, CLIENT)
        sent = b"" if body is None else bytes(body.value().auth_bytes)
        # PLAIN: identity NUL user NUL password (RFC 4616); SCRAM: n,,n=user,r=nonce (RFC 5802)
        other = re.sub(rb"^(n,,n=)|^(\0)", rb"\1\2other-", sent)
        if body is not None and other != sent:
            yield _with_token(body, other)._replace(exchange=None)  # shows when the login is over


# telemetry


class Pushed(NamedTuple):
    """A push, the subscription that another connection gave it, and the push before it."""

    body: Side
    given: Side
    before: Side | None

    def with_subscription(self, value: Any) -> Mutant:
        """Another subscription was given."""
        talk = self.body.scene.talk()
        assert talk.other is not None
        talk.other.replace(self.given.scene.target, BROKER, self.given.encoded(value))
        return Mutant(self.body.scene, talk)


def _pushes(rng: random.Random) -> Iterator[Pushed]:
    for recording, scene in places(rng, PUSH, each=5):
        body, pushes = side_of(scene, CLIENT), before(scene, PUSH, CLIENT)
        given = None if body is None else _subscription_of(recording.capture, body.value().client_instance_id)
        if body is not None and given is not None:
            whole = scene._replace(other=given.scene.exchanges)
            pushed = side_of(whole, CLIENT)
            assert pushed is not None
            yield Pushed(pushed, given, pushes[-1] if pushes else None)


def _subscription_of(capture: str, instance: bytes) -> Side | None:
    """Return the answer that gave a client instance its subscription."""
    for recording in recordings():
        for index in recording.of(SUBSCRIPTIONS) if recording.capture == capture else ():
            scene = Scene(capture, recording.exchanges[: index + 1], index)
            answer = side_of(scene, BROKER)
            if answer is not None and answer.value().client_instance_id == instance:
                return answer
    return None


@mutator("metrics-too-large", "TEL001", "metrics have telemetry_max_bytes at most")
def _too_large(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the subscription allows ten bytes."""
    for pushed in _pushes(rng):
        value = pushed.given.value()
        value.telemetry_max_bytes = 10
        if len(pushed.body.value().metrics) > 10:
            yield pushed.with_subscription(value)


@mutator("other-subscription", "TEL002", "a push names the subscription given last")
def _subscription(rng: random.Random) -> Iterator[Mutant]:
    for pushed in _pushes(rng):
        value = pushed.body.value()
        value.subscription_id ^= 0x1234
        yield changed(pushed.body, pushed.body.encoded(value))


@mutator("pushed-too-early", "TEL003", "metrics are not pushed before the interval is over")
def _too_early(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the subscription asks for an interval of an hour."""
    for pushed in _pushes(rng):
        value = pushed.given.value()
        value.push_interval_ms = 3_600_000
        if pushed.before is not None and not pushed.body.value().terminating:
            yield pushed.with_subscription(value)


@mutator("codec-not-accepted", "TEL004", "metrics are compressed with an accepted codec")
def _codec(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the subscription leaves the codec out that the client uses."""
    for pushed in _pushes(rng):
        used, value = pushed.body.value().compression_type, pushed.given.value()
        if used and used in value.accepted_compression_types:
            value.accepted_compression_types = [c for c in value.accepted_compression_types if c != used]
            yield pushed.with_subscription(value)


@mutator("pushed-after-the-end", "TEL006", "nothing is pushed behind a push that terminates")
def _after_end(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the push before says that it is the last."""
    for pushed in _pushes(rng):
        if pushed.before is not None:
            value, scene = pushed.before.value(), pushed.body.scene
            value.terminating = True
            talk = scene.talk().replace(pushed.before.scene.target, CLIENT, pushed.before.encoded(value))
            yield Mutant(scene, talk, scene.target)


@mutator("other-client-instance", "TEL008", "a connection is of one client instance")
def _other_instance(rng: random.Random) -> Iterator[Mutant]:
    for _, scene in places(rng, PUSH, SUBSCRIPTIONS, each=2):
        if before(scene, SUBSCRIPTIONS, CLIENT) or before(scene, PUSH, CLIENT):

            def edit(value: Any, _: Any) -> None:
                value.client_instance_id = value.client_instance_id[::-1]

            yield from edited(scene, CLIENT, edit)


@edits("metrics-are-noise", "TEL005", "metrics are OpenTelemetry MetricsData", ("PushTelemetry",))
def _noise(value: Any, _: Any) -> None:
    value.compression_type, value.metrics = 0, b"\xff\xff\xff\xff"


# quorums


@mutator("stale-broker-epoch", "KRF001", "BrokerHeartbeat carries the epoch of the last registration", MANY)
def _stale(rng: random.Random) -> Iterator[Mutant]:
    for _, scene in places(rng, BROKER_HEARTBEAT, REGISTRATION, each=2):
        body = side_of(scene, CLIENT)
        given = [answer.value() for answer in before(scene, REGISTRATION, BROKER)]
        if body is None or not given or given[-1].error_code or body.value().broker_epoch < 1:
            continue
        value = body.value()
        value.broker_epoch -= 1
        yield changed(body, body.encoded(value))


@mutator("registration-epoch-back", "KRF002", "the epoch of a registration rises")
def _registered(rng: random.Random) -> Iterator[Mutant]:
    for _, scene in places(rng, REGISTRATION, each=9):
        given = [answer.value() for answer in before(scene, REGISTRATION, BROKER)]

        def edit(value: Any, _: Any, given: list[Any] = given) -> bool:
            epochs = [answer.broker_epoch for answer in given if not answer.error_code]
            value.broker_epoch = epochs[-1] - 1 if epochs else 0
            return bool(epochs) and not value.error_code

        yield from edited(scene, BROKER, edit)


@mutator("quorum-epoch-back", "KRF003", "the epoch that a node of the quorum names does not go back", MANY)
def _quorum(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which an earlier request names a later epoch."""
    for key, field in ((BEGIN_EPOCH, "leader_epoch"), (VOTE, "replica_epoch"), (END_EPOCH, "leader_epoch")):
        for _, scene in places(rng, key, each=4):
            now = side_of(scene, CLIENT)
            earlier = before(scene, key, CLIENT)
            if now is None or not earlier or getattr(now.value().topics[0].partitions[0], field) < 1:
                continue
            body = earlier[-1]
            value = body.value()
            row = value.topics[0].partitions[0]
            setattr(row, field, getattr(now.value().topics[0].partitions[0], field) + 5)
            talk = scene.talk().replace(body.scene.target, CLIENT, body.encoded(value))
            yield Mutant(scene, talk)


@mutator("counted-back", "KRF006", "what a broker or controller counts up does not go back", MANY)
def _counted_back(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which an earlier request names a later number."""
    for key, field in ((BROKER_HEARTBEAT, "current_metadata_offset"), (UPDATE_METADATA, "controller_epoch")):
        for _, scene in places(rng, key, each=4):
            now, earlier = side_of(scene, CLIENT), before(scene, key, CLIENT)
            if now is None or not earlier or getattr(now.value(), field) < 1:
                continue
            value = earlier[-1].value()
            setattr(value, field, getattr(now.value(), field) + 5)
            talk = scene.talk().replace(earlier[-1].scene.target, CLIENT, earlier[-1].encoded(value))
            yield Mutant(scene, talk)


@mutator("other-node", "KRF007", "a node names its own id")
def _other_node(rng: random.Random) -> Iterator[Mutant]:
    """Have an earlier request name another broker."""
    for _, scene in places(rng, BROKER_HEARTBEAT, each=4):
        earlier = before(scene, BROKER_HEARTBEAT, CLIENT)
        if earlier:
            value = earlier[-1].value()
            value.broker_id += 50
            talk = scene.talk().replace(earlier[-1].scene.target, CLIENT, earlier[-1].encoded(value))
            yield Mutant(scene, talk)


@mutator("snapshot-skipped", "KRF004", "the pieces of a snapshot follow each other", MANY)
def _skipped(rng: random.Random) -> Iterator[Mutant]:
    for body in spread(sides_of("FetchSnapshot", BROKER), rng):
        value = body.value()
        rows = [row for topic in value.topics for row in topic.partitions if not row.error_code]
        if rows:
            rows[0].position += 1000
            yield changed(body, body.encoded(value))
