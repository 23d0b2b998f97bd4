"""The small broker with fetch sessions, groups whose members have epochs, share groups, and a quota.

It behaves as the schema and the KIPs say, or plays one fault: `FAULTS` names the statement that each breaks.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from tests.conform.small_broker import (
    API_VERSIONS,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
    TOPIC_ID,
    SmallBroker,
)

OFFSET_COMMIT, FIND_COORDINATOR, QUOTAS = 8, 10, 49
DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS = 29, 30, 31
SUBSCRIPTIONS = 71
INSTANCE, OTHER_INSTANCE = b"the instance ...", b"another instance"
CONSUMER, DESCRIBE, SHARE, SHARE_FETCH, ACKNOWLEDGE, STREAMS = 68, 69, 76, 78, 79, 88
UNKNOWN_MEMBER, NO_SESSION, SESSION_EPOCH, FENCED, INSTANCE_ID, ASSIGNOR = 25, 70, 71, 110, 111, 112
STALE, RECORD_STATE, NO_SHARE_SESSION, SHARE_EPOCH = 113, 121, 122, 123
MISSING_SOURCE = 1
NO_AUTHORIZER = 54
FAULTS = {
    "no throttle": ("CNF065", "AlterClientQuotas"),
    "no ACL": ("CNF066", "CreateAcls"),
    "keeps ACLs": ("CNF067", "CreateAcls"),
    "another instance": ("CNF068", "GetTelemetrySubscriptions"),
    "no session": ("CNF070", "Fetch"),
    "unchanged partitions": ("CNF071", "Fetch"),
    "no new records": ("CNF072", "Fetch"),
    "never forgets": ("CNF073", "Fetch"),
    "any session epoch": ("CNF074", "Fetch"),
    "any session": ("CNF075", "Fetch"),
    "never closes": ("CNF076", "Fetch"),
    "any instance id": ("CNF079", "ConsumerGroupHeartbeat"),
    "epoch 0": ("CNF080", "ShareGroupHeartbeat"),
    "two owners": ("CNF081", "ConsumerGroupHeartbeat"),
    "no tasks": ("CNF081", "StreamsGroupHeartbeat"),
    "own epoch refused": ("CNF082", "ShareGroupHeartbeat"),
    "any epoch": ("CNF083", "ShareGroupHeartbeat"),
    "any member": ("CNF084", "StreamsGroupHeartbeat"),
    "never leaves": ("CNF085", "ConsumerGroupHeartbeat"),
    "any assignor": ("CNF086", "ConsumerGroupHeartbeat"),
    "describes none": ("CNF087", "ConsumerGroupHeartbeat"),
    "any source": ("CNF088", "StreamsGroupHeartbeat"),
    "any commit": ("CNF089", "ConsumerGroupHeartbeat"),
    "delivery count 5": ("CNF090", "ShareFetch"),
    "no lock": ("CNF091", "ShareFetch"),
    "never released": ("CNF092", "ShareFetch"),
    "accepted again": ("CNF093", "ShareFetch"),
    "acknowledged twice": ("CNF094", "ShareFetch"),
    "any share epoch": ("CNF095", "ShareFetch"),
    "any share session": ("CNF096", "ShareFetch"),
    "locked at close": ("CNF097", "ShareFetch"),
}
"""The statement that each fault breaks, and an API whose sequence shows it."""


class Member:
    """A member of a group, with what it owns."""

    def __init__(self) -> None:
        self.epoch = 1
        self.instance: str | None = None
        self.owned: set[int] = set()


class Session(NamedTuple):
    """A fetch session: offsets of partitions, and the next epoch."""

    offsets: dict[int, int]
    epoch: int


class Lock(NamedTuple):
    """The member that acquired an offset, empty if it may be acquired, and the number of deliveries."""

    member: str
    count: int
    is_accepted: bool = False


def _acl_row(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("principal", "host", "operation", "permission_type")}


class GroupBroker(SmallBroker):
    """One broker with a topic of two partitions. All records are in the first."""

    partitions = 2
    versions: ClassVar = {
        PRODUCE: (3, 5), FETCH: (4, 8), LIST_OFFSETS: (1, 2), METADATA: (4, 10), API_VERSIONS: (0, 3),
        OFFSET_COMMIT: (9, 9), FIND_COORDINATOR: (4, 4), QUOTAS: (1, 1), CONSUMER: (0, 1), DESCRIBE: (0, 0),
        SHARE: (1, 1), SHARE_FETCH: (1, 1), ACKNOWLEDGE: (1, 1), STREAMS: (0, 0), DESCRIBE_ACLS: (1, 3),
        CREATE_ACLS: (1, 3), DELETE_ACLS: (1, 3), SUBSCRIPTIONS: (0, 0),
    }  # fmt: skip

    def __init__(self, fault: str = "") -> None:
        super().__init__(fault)
        self.groups: dict[str, dict[str, Member]] = {}
        self.sessions: dict[int, Session] = {}
        self.share_epochs: dict[str, int] = {}
        self.locks: dict[tuple[str, int], Lock] = {}
        self.has_quota = False
        self.acls: list[Any] = []

    def handlers(self) -> dict[int, Callable[[Any], dict[str, Any]]]:
        return super().handlers() | {
            OFFSET_COMMIT: self._commit, FIND_COORDINATOR: self._coordinator, QUOTAS: self._quotas,
            CONSUMER: self._consumer, DESCRIBE: self._describe, SHARE: self._share, STREAMS: self._streams,
            SHARE_FETCH: self._share_fetch, ACKNOWLEDGE: self._acknowledge, PRODUCE: self._throttled,
            DESCRIBE_ACLS: self._described_acls, CREATE_ACLS: self._created_acls,
            DELETE_ACLS: self._deleted_acls, SUBSCRIPTIONS: self._subscriptions,
        }  # fmt: skip

    def _throttled(self, body: Any) -> dict[str, Any]:
        is_throttled = self.has_quota and self.fault != "no throttle"
        return super().handlers()[PRODUCE](body) | {"throttle_time_ms": 5 * is_throttled}

    def _subscriptions(self, body: Any) -> dict[str, Any]:
        named = body.client_instance_id if any(body.client_instance_id) else INSTANCE
        is_other = named == INSTANCE and self.fault == "another instance" and any(body.client_instance_id)
        return {"client_instance_id": OTHER_INSTANCE if is_other else named, "requested_metrics": []}

    def _described_acls(self, _: Any) -> dict[str, Any]:
        if self.fault == "no authorizer":
            return {"error_code": NO_AUTHORIZER, "error_message": None, "resources": []}
        rows = [
            {"resource_type": one.resource_type, "resource_name": one.resource_name, "acls": [_acl_row(one)]}
            for one in self.acls
        ]
        return {"error_message": None, "resources": rows}

    def _created_acls(self, body: Any) -> dict[str, Any]:
        self.acls = [] if self.fault == "no ACL" else list(body.creations)
        return {"results": [{"error_message": None} for _ in body.creations]}

    def _deleted_acls(self, body: Any) -> dict[str, Any]:
        rows = [
            _acl_row(one)
            | {
                "resource_type": one.resource_type, "resource_name": one.resource_name,
                "error_message": None,
            }
            for one in self.acls
        ]  # fmt: skip
        if self.fault != "keeps ACLs" and body.filters:
            self.acls = []
        return {"filter_results": [{"error_message": None, "matching_acls": rows} for _ in body.filters]}

    def _quotas(self, body: Any) -> dict[str, Any]:
        self.has_quota = not body.validate_only and bool(body.entries) and not body.entries[0].ops[0].remove
        return {"entries": [{"entity": [
            {"entity_type": one.entity_type, "entity_name": one.entity_name} for one in row.entity
        ]} for row in body.entries]}  # fmt: skip

    def _coordinator(self, body: Any) -> dict[str, Any]:
        where = {"node_id": 1, "host": "127.0.0.1", "port": self.server_address[1]}
        return {"coordinators": [where | {"key": key} for key in body.coordinator_keys]}

    # fetch sessions

    def fetch(self, body: Any) -> dict[str, Any]:
        number, epoch = getattr(body, "session_id", 0), getattr(body, "session_epoch", -1)
        if not number:
            return self._full(body, opens=epoch == 0)
        session = self.sessions.get(number)
        if session is None:
            if self.fault != "any session":
                return {"error_code": NO_SESSION}
            session = Session({}, epoch)
        if epoch == -1:
            if self.fault != "never closes":
                self.sessions.pop(number)
            return super().fetch(body)
        if epoch != session.epoch and self.fault != "any session epoch":
            return {"error_code": SESSION_EPOCH}
        return self._continued(body, number, session)

    def _full(self, body: Any, *, opens: bool) -> dict[str, Any]:
        number = 7 + len(self.sessions) if opens and self.fault != "no session" else 0
        if number:
            offsets = {
                part.partition: part.fetch_offset for topic in body.topics for part in topic.partitions
            }
            self.sessions[number] = Session(offsets, 1)
        return super().fetch(body) | {"session_id": number}

    def _continued(self, body: Any, number: int, session: Session) -> dict[str, Any]:
        offsets = dict(session.offsets)
        if self.fault != "never forgets":
            for topic in body.forgotten_topics_data:
                for part in topic.partitions:
                    offsets.pop(part)
        (name,) = self.topics
        rows = []
        new = self.end > offsets.get(0, self.end)
        if (new and self.fault != "no new records") or (
            0 in offsets and self.fault == "unchanged partitions"
        ):
            rows.append({"partition_index": 0} | self.read(name, offsets[0]))
        # The suite reads a record once: the offset stays until it asks for another one.
        offsets |= {0: self.end} if 0 in offsets else {}
        self.sessions[number] = Session(offsets, session.epoch + 1)
        return {"session_id": number, "responses": [{"topic": name, "partitions": rows}] if rows else []}

    # groups

    def _consumer(self, body: Any) -> dict[str, Any]:
        group = self.groups.setdefault(body.group_id, {})
        if body.member_epoch == 0 and body.group_id.startswith("kdissect"):
            is_taken = body.instance_id and any(one.instance == body.instance_id for one in group.values())
            if is_taken and self.fault != "any instance id":
                return {"error_code": INSTANCE_ID}
            if body.server_assignor == "kdissect" and self.fault != "any assignor":
                return {"error_code": ASSIGNOR}
        answer = self._heartbeat(body, group)
        member = group.get(answer.get("member_id", ""))
        if member is not None and not answer.get("error_code"):
            member.instance = body.instance_id or member.instance
            if body.topic_partitions is not None:
                member.owned = {each for row in body.topic_partitions for each in row.partitions}
            parts = sorted(self._target(group, answer["member_id"]))
            rows = [{"topic_id": TOPIC_ID, "partitions": parts}] if parts else []
            answer["assignment"] = {"topic_partitions": rows}
        return answer

    def _target(self, group: dict[str, Member], member_id: str) -> set[int]:
        """Each member has the partitions of its place, as soon as the others have given them up."""
        names = list(group)
        wanted = {number for number in range(2) if number % len(names) == names.index(member_id) % 2}
        if self.fault == "two owners":
            return {0, 1}
        others = {each for name, one in group.items() if name != member_id for each in one.owned}
        target = wanted - others
        group[member_id].owned |= target
        return target

    def _heartbeat(self, body: Any, group: dict[str, Member]) -> dict[str, Any]:
        name = body.member_id or f"member-{len(group)}"
        if body.member_epoch == 0:
            group[name] = Member()
            return {
                "member_id": name,
                "member_epoch": int(self.fault != "epoch 0"),
                "heartbeat_interval_ms": 1,
            }
        if body.member_epoch == -1:
            if self.fault != "never leaves":
                group.pop(name, None)
            return {"member_id": name, "member_epoch": -1}
        if name not in group and self.fault != "any member":
            return {"error_code": UNKNOWN_MEMBER}
        is_fenced = body.member_epoch > 1 and self.fault != "any epoch"
        if is_fenced or self.fault == "own epoch refused":
            return {"error_code": FENCED}
        return {"member_id": name, "member_epoch": 1, "heartbeat_interval_ms": 1}

    def _share(self, body: Any) -> dict[str, Any]:
        answer = self._heartbeat(body, self.groups.setdefault(body.group_id, {}))
        parts = [{"topic_id": TOPIC_ID, "partitions": [0, 1]}]
        return answer | ({} if answer.get("error_code") else {"assignment": {"topic_partitions": parts}})

    def _streams(self, body: Any) -> dict[str, Any]:
        answer = self._heartbeat(body, self.groups.setdefault(body.group_id, {}))
        if answer.get("error_code"):
            return answer
        sources = (
            [name for one in body.topology.subtopologies for name in one.source_topics]
            if body.topology
            else []
        )
        lacks = any(name not in self.topics for name in sources) and self.fault != "any source"
        tasks = [] if self.fault == "no tasks" else [{"subtopology_id": "0", "partitions": [0, 1]}]
        status = [{"status_code": MISSING_SOURCE, "status_detail": "no such topic"}] if lacks else []
        return answer | {"active_tasks": tasks, "standby_tasks": [], "warmup_tasks": [], "status": status}

    def _describe(self, body: Any) -> dict[str, Any]:
        return {"groups": [self._described(name) for name in body.group_ids]}

    def _described(self, name: str) -> dict[str, Any]:
        group = {} if self.fault == "describes none" else self.groups.get(name, {})
        rows = [{"member_id": each, "member_epoch": one.epoch, "client_host": "/127.0.0.1"}
                for each, one in group.items()]  # fmt: skip
        state = {"group_state": "Stable" if rows else "Empty", "group_epoch": 1, "assignment_epoch": 1}
        return state | {"group_id": name, "members": rows}

    def _commit(self, body: Any) -> dict[str, Any]:
        is_stale = body.generation_id_or_member_epoch > 1 and self.fault != "any commit"
        return {"topics": [{"name": topic.name, "partitions": [
            {"partition_index": part.partition_index, "error_code": STALE if is_stale else 0}
            for part in topic.partitions
        ]} for topic in body.topics]}  # fmt: skip

    # shared records

    def _share_fetch(self, body: Any) -> dict[str, Any]:
        code = self._share_session(body)
        if code:
            return {"error_code": code}
        is_asked = bool(body.topics) or body.share_session_epoch > 0
        got = [offset for offset in range(self.end) if is_asked and self._may_acquire(body, offset)]
        rows = []
        for offset in got:
            count = self.locks.get((body.group_id, offset), Lock("", 0)).count + 1
            self.locks[body.group_id, offset] = Lock(body.member_id, count)
            shown = 5 if self.fault == "delivery count 5" else count
            rows.append({"first_offset": offset, "last_offset": offset, "delivery_count": shown})
        (name,) = self.topics or ("",)
        read = self.read(name, got[0])["records"] if got else b""
        part = {"partition_index": 0, "records": read, "acquired_records": rows}
        return {"acquisition_lock_timeout_ms": 30_000,
                "responses": [{"topic_id": TOPIC_ID, "partitions": [part]}] if is_asked else []}  # fmt: skip

    def _may_acquire(self, body: Any, offset: int) -> bool:
        lock = self.locks.get((body.group_id, offset))
        if lock is None:
            return True
        if lock.is_accepted:
            return self.fault == "accepted again"
        return not lock.member or (self.fault == "no lock" and lock.member != body.member_id)

    def _share_session(self, body: Any) -> int:
        """Return an error code, and count the epoch of the session."""
        key = f"{body.group_id}/{body.member_id}"
        if body.share_session_epoch == 0:
            self.share_epochs[key] = 1
            return 0
        if key not in self.share_epochs:
            return 0 if self.fault == "any share session" else NO_SHARE_SESSION
        if body.share_session_epoch == -1:
            self.share_epochs.pop(key)
        elif body.share_session_epoch != self.share_epochs[key]:
            return 0 if self.fault == "any share epoch" else SHARE_EPOCH
        else:
            self.share_epochs[key] += 1
        return 0

    def _acknowledge(self, body: Any) -> dict[str, Any]:
        code = self._share_session(body)
        if code:
            return {"error_code": code}
        if body.share_session_epoch == -1 and self.fault != "locked at close":
            for key, lock in self.locks.items():
                if key[0] == body.group_id and lock.member == body.member_id and not lock.is_accepted:
                    self.locks[key] = lock._replace(member="")
        return {"responses": [{"topic_id": topic.topic_id, "partitions": [
            {"partition_index": part.partition_index, "error_code": self._settle(body, part)}
            for part in topic.partitions
        ]} for topic in body.topics]}  # fmt: skip

    def _settle(self, body: Any, part: Any) -> int:
        for row in part.acknowledgement_batches:
            for offset in range(row.first_offset, row.last_offset + 1):
                lock = self.locks.get((body.group_id, offset))
                is_own = lock is not None and lock.member == body.member_id and not lock.is_accepted
                if lock is None or not (is_own or self.fault == "acknowledged twice"):
                    return RECORD_STATE
                is_accepted = row.acknowledge_types[0] == 1
                keeps = is_accepted or self.fault == "never released"
                member = body.member_id if keeps else ""
                self.locks[body.group_id, offset] = lock._replace(member=member, is_accepted=is_accepted)
        return 0
