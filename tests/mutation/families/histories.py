"""Mutators of state: sessions, groups, producers and leaders, which several exchanges tell of together."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.mutation.corpus import Recording, Scene, Side, prefix, side_of
from tests.mutation.families.order_of_lines import LONGEST, shuffled
from tests.mutation.mutators import MANY, SOME, Edit, Mutant, mutator
from tests.support.messages.traffic import BROKER, CLIENT

METADATA, FETCH = 3, 1
SHARE_FETCH, SHARE_ACKNOWLEDGE = 78, 79
GROUP = (11, 12, 13, 14)  # JoinGroup, Heartbeat, LeaveGroup, SyncGroup
INVALID_FETCH_SESSION_EPOCH = 71  # org.apache.kafka.common.protocol.Errors
MODERN = (68, 76, 88)  # heartbeats of consumer, share and streams groups


def places(
    rng: random.Random, key: int, *with_keys: int, each: int = 3, oldest: int = 0
) -> Iterator[tuple[Recording, Scene]]:  # fmt: skip
    """Yield exchanges of an API from a version on, with those of some APIs before them; `each` of a
    recording.
    """
    for recording in shuffled(rng):
        found = [n for n in recording.of(key) if (recording.exchanges[n].api_version or 0) >= oldest]
        for index in found[-each:]:
            scene = prefix(recording, index, key, *with_keys)
            scene = scene._replace(
                exchanges=scene.exchanges[: scene.target + 1]
            )  # what follows would differ too
            if len(scene.exchanges) <= LONGEST and recording.exchanges[index].response is not None:
                yield recording, scene


def edited(scene: Scene, side: int, edit: Edit, found_at: int | None = None) -> Iterator[Mutant]:
    """Yield the scene with a value changed, if it has one to change."""
    body = side_of(scene, side)
    other = side_of(scene, BROKER if side == CLIENT else CLIENT)
    if body is None or other is None:
        return
    value = body.value()
    if edit(value, other.value()) is not False:
        content = body.encoded(value)
        if content != body.data:
            yield Mutant(scene, body.talk(content), scene.target if found_at is None else found_at)


def sequence(
    name: str, owner: str, says: str, key: int, *with_keys: int, side: int = CLIENT, limit: int = SOME,
    oldest: int = 0,
) -> Callable[[Edit], Edit]:  # fmt: skip
    """Register an edit of the last of several exchanges."""

    def register(edit: Edit) -> Edit:
        def make(rng: random.Random) -> Iterator[Mutant]:
            for _, scene in places(rng, key, *with_keys, oldest=oldest):
                yield from edited(scene, side, edit)

        mutator(name, owner, says, limit)(make)
        return edit

    return register


def before(scene: Scene, key: int, side: int) -> list[Side]:
    """Bodies of an API before the scene's exchange."""
    found = [
        side_of(scene._replace(target=n), side)
        for n in range(scene.target)
        if scene.exchanges[n].api_key == key
    ]
    return [body for body in found if body is not None]


# fetch sessions


def _goes_on(value: Any, answer: Any) -> bool:
    return value.session_epoch > 0 and not answer.error_code


@sequence(
    "session-epoch-skipped",
    "FET012",
    "epochs of a fetch session count up by one",
    FETCH,
    limit=MANY,
    oldest=7,
)
def _epoch(value: Any, answer: Any) -> bool:
    goes_on = _goes_on(value, answer)
    value.session_epoch += 5
    return goes_on


@sequence(
    "session-of-nobody",
    "FET013",
    "an incremental fetch names a session the broker gave",
    FETCH,
    limit=MANY,
    oldest=7,
)
def _session(value: Any, answer: Any) -> bool:
    value.session_id ^= 0x55
    return _goes_on(value, answer)


@sequence(
    "next-epoch-refused",
    "FET033",
    "the epoch that comes next in a fetch session is accepted",
    FETCH,
    side=BROKER,
    limit=MANY,
    oldest=7,
)
def _next_refused(value: Any, asked: Any) -> bool:
    goes_on = _goes_on(asked, value)
    value.error_code, value.session_id, value.responses = INVALID_FETCH_SESSION_EPOCH, 0, []
    return goes_on


@mutator("partition-outside-session", "FET014", "a fetch session answers for its own partitions", MANY)
def _outside(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, asked: Any) -> bool:
        for topic in value.responses:
            for row in topic.partitions:
                row.partition_index += 77
                return bool(asked.session_epoch > 0)
        return False

    for _, scene in places(rng, FETCH, oldest=7):
        opened = any(getattr(b.value(), "session_epoch", -1) == 0 for b in before(scene, FETCH, CLIENT))
        if opened:
            yield from edited(scene, BROKER, edit)


@mutator("ids-then-names", "FET015", "a fetch session keeps to names or to ids")
def _mixed(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which a session that was opened with topic ids goes on with v12, which has names."""
    from tests.mutation.families.values_of_any_api import translated

    for _, scene in places(rng, FETCH, each=20, oldest=13):
        body = side_of(scene, CLIENT)
        if body is None or body.value().session_epoch <= 0 or not body.value().topics:
            continue
        both = translated(body, 12)
        if both is not None and before(scene, FETCH, CLIENT):
            talk = scene.talk().replace(scene.target, CLIENT, both[0]).replace(scene.target, BROKER, both[1])
            yield Mutant(scene, talk, scene.target)


SHARING = (SHARE_FETCH, SHARE_ACKNOWLEDGE)


@mutator("share-epoch-skipped", "FET016", "epochs of a share session count up by one")
def _share_epoch(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, answer: Any) -> bool:
        value.share_session_epoch += 5
        return value.share_session_epoch > 5 and not answer.error_code

    for key in SHARING:
        for _, scene in places(rng, key, *SHARING):
            yield from edited(scene, CLIENT, edit)


@mutator("acknowledged-at-opening", "FET017", "a share session opens without acknowledgements")
def _at_opening(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> bool:
        for topic in value.topics:
            for row in topic.partitions:
                batch = {"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}
                row.acknowledgement_batches = [batch]
                return bool(value.share_session_epoch == 0)
        return False

    for _, scene in places(rng, SHARE_FETCH, *SHARING, each=30):
        yield from edited(scene, CLIENT, edit)


# classic groups


def _generation(value: Any, answer: Any) -> bool:
    value.generation_id += 3
    return not answer.error_code


def _of_members(scene: Scene) -> bool:
    """Return whether the member of the scene's request joined on the connection."""
    body = side_of(scene, CLIENT)
    member = None if body is None else body.value().member_id
    return any(
        answer.value().member_id == member and not answer.value().error_code
        for answer in before(scene, 11, BROKER)
    )


@mutator("generation-ahead", "GRP010", "a member uses the generation of its last JoinGroup", MANY)
def _wrong_generation(rng: random.Random) -> Iterator[Mutant]:
    for key in (12, 14):
        count = 0
        for _, scene in places(rng, key, *GROUP):
            if _of_members(scene):
                for mutant in edited(scene, CLIENT, _generation):
                    count += 1
                    yield mutant
            if count >= MANY // 2:
                break


@mutator("given-id-unused", "GRP011", "a member joins again with the id it was given", MANY)
def _given_id(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> None:
        value.member_id += "-other"

    for _, scene in places(rng, 11, each=9):
        given = [body.value() for body in before(scene, 11, BROKER)]
        asked = [body.value().group_id for body in before(scene, 11, CLIENT)]
        body = side_of(scene, CLIENT)
        # MEMBER_ID_REQUIRED
        if body is not None and given and given[-1].error_code == 79 and asked[-1] == body.value().group_id:
            yield from edited(scene, CLIENT, edit)


def _last_join(scene: Scene) -> Any:
    """Return the last successful JoinGroup answer before the scene's exchange; None if there is none."""
    body = side_of(scene, CLIENT)
    found = [answer.value() for answer in before(scene, 11, BROKER) if not answer.value().error_code]
    same = found and body is not None and found[-1].generation_id == body.value().generation_id
    return found[-1] if same else None


@mutator("follower-assigns", "GRP012", "only the leader of a group sends assignments")
def _follower(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> None:
        value.assignments.append({"member_id": value.member_id, "assignment": b""})

    for _, scene in places(rng, 14, *GROUP, each=9):
        joined = _last_join(scene)
        if joined is not None and joined.leader != joined.member_id:
            yield from edited(scene, CLIENT, edit)


@mutator("stranger-is-assigned", "GRP013", "the leader assigns to members of the generation", MANY)
def _to_stranger(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> bool:
        for row in value.assignments[-1:]:
            row.member_id = "nobody"
        return bool(value.assignments)

    for _, scene in places(rng, 14, *GROUP):
        joined = _last_join(scene)
        if joined is not None and joined.leader == joined.member_id:
            yield from edited(scene, CLIENT, edit)


@mutator("other-protocol-synced", "GRP014", "SyncGroup names the protocol that JoinGroup chose", MANY)
def _other_protocol(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> bool:
        value.protocol_name = f"{value.protocol_name}-2"
        return value.protocol_type is not None

    for _, scene in places(rng, 14, *GROUP, oldest=5):
        joined = _last_join(scene)
        if joined is not None and joined.protocol_name is not None:
            yield from edited(scene, CLIENT, edit)


# groups of heartbeats


@mutator("member-epoch-ahead", "GRP015", "a member heartbeats with the epoch it was told", MANY)
def _member_epoch(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, answer: Any) -> bool:
        value.member_epoch += 7
        return value.member_epoch > 7 and not answer.error_code

    for key in MODERN:
        for _, scene in places(rng, key, each=2):
            if before(scene, key, CLIENT):
                yield from edited(scene, CLIENT, edit)


@mutator("answer-for-other-member", "GRP016", "a heartbeat is answered for its own member", MANY)
def _other_member(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, asked: Any) -> bool:
        value.member_id = "somebody-else"
        return bool(asked.member_id) and not value.error_code

    for key in MODERN:
        for _, scene in places(rng, key, each=2):
            yield from edited(scene, BROKER, edit)


# leaders


def _rows(answer: Any) -> dict[tuple[str, int], Any]:
    """Return partitions of a Metadata answer that have a leader and no error."""
    return {
        (topic.name, row.partition_index): row
        for topic in answer.topics
        for row in topic.partitions
        if not topic.error_code and row.leader_id >= 0 and topic.name is not None
    }


def _told_twice(rng: random.Random) -> Iterator[tuple[Scene, Side, Side, tuple[str, int]]]:
    """Yield two Metadata answers of one broker about one partition."""
    for _, scene in places(rng, METADATA, each=4, oldest=7):
        body = side_of(scene, BROKER)
        if body is None:
            continue
        now = _rows(body.value())
        for earlier in before(scene, METADATA, BROKER):
            both = [
                name for name, row in _rows(earlier.value()).items() if name in now and earlier.version >= 7
            ]
            if both:
                yield scene, earlier, body, both[0]
                break


@mutator("leader-epoch-back", "MET005", "a leader epoch does not go back", MANY)
def _epoch_back(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the earlier answer contains a higher epoch."""
    for scene, earlier, body, name in _told_twice(rng):
        value = earlier.value()
        _rows(value)[name].leader_epoch += 4
        talk = scene.talk().replace(earlier.scene.target, BROKER, earlier.encoded(value))
        assert body.scene is scene
        yield Mutant(scene, talk)


@mutator("other-cluster-told", "MET015", "a connection leads to one cluster", MANY)
def _other_cluster(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> bool:
        value.cluster_id = "another-cluster"
        return True

    for _, scene in places(rng, METADATA):
        told = [found.value() for found in before(scene, METADATA, BROKER)]
        if any(getattr(value, "cluster_id", None) is not None for value in told):
            yield from edited(scene, BROKER, edit)


@mutator("former-topic-again", "MET016", "a broker does not return to the id of a deleted topic", MANY)
def _former_again(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which the second of three answers has another id for a topic."""
    for _, scene in places(rng, METADATA, each=1, oldest=10):
        body = side_of(scene, BROKER)
        told = before(scene, METADATA, BROKER)[-2:]
        if body is None or len(told) < 2 or min(found.version for found in told) < 10:
            continue
        values = [found.value() for found in (*told, body)]
        ids = [{t.name: t.topic_id for t in value.topics if not t.error_code} for value in values]
        both = [name for name, known in ids[0].items() if name and any(known) and known == ids[2].get(name)]
        for topic in values[1].topics:
            if topic.name in both and topic.topic_id == ids[0][topic.name]:
                topic.topic_id = topic.topic_id[::-1]
                talk = scene.talk().replace(told[1].scene.target, BROKER, told[1].encoded(values[1]))
                yield Mutant(scene, talk, scene.target)
                break


@mutator("other-name-of-an-id", "MET017", "an id belongs to one name", MANY)
def _other_name(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which a later answer has another name for an id."""

    for _, scene in places(rng, METADATA, each=1, oldest=10):
        known = {
            topic.topic_id
            for found in before(scene, METADATA, BROKER)
            for topic in (found.value().topics if found.version >= 10 else ())
            if topic.name and is_random(topic.topic_id) and not topic.error_code
        }

        def edit(value: Any, asked: Any, known: set[bytes] = known) -> bool:
            for topic in value.topics if asked.topics is None else ():
                if topic.topic_id in known and not topic.error_code:
                    topic.name = "another-name"
                    return True
            return False

        yield from edited(scene, BROKER, edit)


def is_random(topic_id: bytes) -> bool:
    """Return a UUID of version 4 (RFC 9562 section 5.4)."""
    return topic_id[6] >> 4 == 4 and topic_id[8] >> 6 == 2


@mutator("two-leaders", "MET006", "an epoch has one leader", MANY)
def _two_leaders(rng: random.Random) -> Iterator[Mutant]:
    for scene, earlier, body, name in _told_twice(rng):
        value = body.value()
        row, told = _rows(value)[name], _rows(earlier.value())[name]
        listed = {broker.node_id for broker in value.brokers}
        others = [node for node in row.replica_nodes if node != row.leader_id and node in listed]
        if others and row.leader_epoch == told.leader_epoch and row.leader_id == told.leader_id:
            row.leader_id = others[0]
            yield Mutant(scene, body.talk(body.encoded(value)), scene.target)
