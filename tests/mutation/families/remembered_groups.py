"""Mutators of what coordinators of groups remember, and hand on from one member to another."""

import random
from collections.abc import Iterator
from typing import Any

from tests.mutation.corpus import Scene, side_of
from tests.mutation.families.histories import GROUP, MODERN, before, edited, places
from tests.mutation.families.order_of_lines import SECOND
from tests.mutation.mutators import MANY, Mutant, edits, mutator
from tests.support.messages.traffic import BROKER, CLIENT

JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = GROUP
CONSUMER_HEARTBEAT = 68  # org.apache.kafka.common.protocol.ApiKeys
_NAME_AT = 8  # of the first topic: version, count of topics, length of its name (ConsumerProtocolAssignment)
EXCLUSIVE = ("range", "roundrobin", "sticky", "cooperative-sticky")


def _led(rng: random.Random) -> Iterator[tuple[Scene, Any]]:
    """SyncGroups of leaders that assign, and the answers that made them leaders."""
    for _, scene in places(rng, SYNC_GROUP, *GROUP):
        body, answer = side_of(scene, CLIENT), side_of(scene, BROKER)
        joined = [found.value() for found in before(scene, JOIN_GROUP, BROKER)]
        if body is None or answer is None or not joined or answer.value().error_code:
            continue
        led = joined[-1].leader == joined[-1].member_id and not joined[-1].error_code
        if led and body.value().assignments and joined[-1].generation_id == body.value().generation_id:
            yield scene, joined[-1]


@mutator("other-assignment-given", "GRP022", "a member is given what the leader assigned to it", MANY)
def _other_assignment(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, asked: Any) -> bool:
        value.assignment = bytes(value.assignment)[:-1] + b"\x7f"
        return any(row.member_id == asked.member_id for row in asked.assignments)

    for scene, _ in _led(rng):
        yield from edited(scene, BROKER, edit)


@mutator("partition-assigned-twice", "GRP023", "a partition is assigned to one member", MANY)
def _assigned_twice(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> bool:
        sent = next((bytes(row.assignment) for row in value.assignments if len(row.assignment) > 10), None)
        value.assignments.append({"member_id": "one-more", "assignment": sent})
        return sent is not None

    for scene, joined in _led(rng):
        if joined.protocol_name in EXCLUSIVE:
            yield from edited(scene, CLIENT, edit)


@mutator("other-topic-assigned", "GRP035", "a member is assigned topics that it joined for", MANY)
def _other_topic(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which each letter of the topic that the leader itself gets is another one."""

    def edit(value: Any, _: Any) -> bool:
        row = next((row for row in value.assignments if str(row.member_id) == str(value.member_id)), None)
        sent = b"" if row is None else bytes(row.assignment)
        if row is None or len(sent) < _NAME_AT or not int.from_bytes(sent[2:6]):
            return False
        length = int.from_bytes(sent[6:_NAME_AT])
        row.assignment = sent[:_NAME_AT] + b"z" * length + sent[_NAME_AT + length :]
        return True

    for scene, joined in _led(rng):
        asked = before(scene, JOIN_GROUP, CLIENT)[-1].value()
        is_readable = all(_is_whole(bytes(row.metadata)) for row in asked.protocols)
        if joined.protocol_name in EXCLUSIVE and is_readable:
            yield from edited(scene, CLIENT, edit)


def _is_whole(subscription: bytes) -> bool:
    """Return whether partitions that the member owns follow the topics and the user's data, where they
    should.
    """
    at = 6
    for _ in range(int.from_bytes(subscription[2:6])):
        at += 2 + int.from_bytes(subscription[at : at + 2])
    at += 4 + max(0, int.from_bytes(subscription[at : at + 4], signed=True))
    return not int.from_bytes(subscription[:2]) or len(subscription) >= at + 4


@mutator("stranger-answered", "GRP036", "who is no member gets no heartbeat accepted", MANY)
def _stranger(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants of a member that the leader learned on the same connection, in a group without static
    members.
    """
    for _, scene in places(rng, HEARTBEAT, *GROUP):
        body, answer = side_of(scene, CLIENT), side_of(scene, BROKER)
        joined = [found.value() for found in before(scene, JOIN_GROUP, BROKER)]
        if body is None or answer is None or not joined or answer.value().error_code:
            continue
        told, asked = joined[-1], body.value()
        is_static = any(getattr(row, "group_instance_id", None) is not None for row in told.members)
        left = before(scene, LEAVE_GROUP, CLIENT)
        if told.error_code or not told.members or is_static or left:
            continue
        if told.generation_id == asked.generation_id and told.member_id == asked.member_id:
            yield from edited(scene, CLIENT, _called_somebody)


def _called_somebody(value: Any, _: Any) -> None:
    value.member_id = "somebody-else"


@mutator("owns-what-it-was-not-given", "GRP037", "a member holds what it was assigned", MANY)
def _not_given(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> bool:
        rows = value.topic_partitions or ()
        for row in rows:
            row.partitions = [*row.partitions, 77]
        return bool(rows) and value.member_epoch > 0

    for _, scene in places(rng, CONSUMER_HEARTBEAT, each=2):
        if any(found.value().member_epoch == 0 for found in before(scene, CONSUMER_HEARTBEAT, CLIENT)):
            yield from edited(scene, CLIENT, edit)


@mutator("assignment-is-noise", "GRP024", "what the leader of consumers sends are assignments", MANY)
def _noise(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> None:
        value.assignments[0].assignment = b"\0\1\0\0\0\x09t"

    for scene, joined in _led(rng):
        if joined.protocol_name in EXCLUSIVE:
            yield from edited(scene, CLIENT, edit)


@mutator("other-metadata-told", "GRP026", "the leader is told the metadata that members sent", MANY)
def _other_metadata(rng: random.Random) -> Iterator[Mutant]:
    def edit(value: Any, _: Any) -> bool:
        for row in value.members:
            if row.member_id == value.member_id and not value.error_code:
                row.metadata = bytes(row.metadata) + b"!"
                return True
        return False

    for _, scene in places(rng, JOIN_GROUP, *GROUP):
        yield from edited(scene, BROKER, edit)


@mutator("heartbeat-behind-leaving", "GRP027", "who left is no member any more")
def _behind_leaving(rng: random.Random) -> Iterator[Mutant]:
    """Yield mutants in which a heartbeat that came before, and its answer, come later."""
    for key, left in ((HEARTBEAT, LEAVE_GROUP), *((key, key) for key in MODERN)):
        for _, scene in places(rng, left, *(GROUP if left == LEAVE_GROUP else (left,)), each=2):
            for index in range(scene.target - 1, -1, -1):
                if _is_of_same_member(scene, index, key):
                    talk = scene.talk()
                    moved = [talk.line(index, CLIENT), talk.line(index, BROKER)]
                    for line in moved:
                        talk.lines.remove(line)
                        line.at_ns = talk.lines[-1].at_ns + SECOND
                        talk.lines.append(line)
                    yield Mutant(scene, talk)
                    break


def _is_of_same_member(scene: Scene, index: int, key: int) -> bool:
    """Return whether an exchange is an accepted heartbeat of who leaves in the scene's."""
    beat, leaves = side_of(scene._replace(target=index), CLIENT), side_of(scene, CLIENT)
    told, answer = side_of(scene._replace(target=index), BROKER), side_of(scene, BROKER)
    if beat is None or beat.api.key != key or leaves is None or told is None or answer is None:
        return False
    if told.value().error_code or answer.value().error_code:
        return False
    asked = leaves.value()
    if leaves.api.key == key:
        ends = asked.member_epoch < 0 < beat.value().member_epoch
        return ends and asked.member_id == beat.value().member_id
    rows = getattr(asked, "members", None)
    ids = [asked.member_id] if rows is None else [row.member_id for row in rows]
    return beat.value().member_id in ids and beat.value().group_id == asked.group_id


@edits("joined-without-id", "GRP029", "who joined is told its member id", ("JoinGroup",), side=BROKER)
def _without_id(value: Any, _: Any) -> bool:
    value.member_id = ""
    return not value.error_code


@edits(
    "members-beside-error", "GRP029", "who did not join is told of no members", ("JoinGroup",), side=BROKER
)
def _beside_error(value: Any, _: Any) -> bool:
    value.error_code = 27
    return bool(value.members)
