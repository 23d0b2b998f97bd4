"""`kdissect access`: operations on resources, allowed and denied, and the fewest ACLs that permit them."""

import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.report.acl_texts import acl_lines
from kdissect.schema.enums import enumeration
from kdissect.schema.protocol_messages import all_apis
from kdissect.session.exchange import Exchange
from kdissect.stats.by_access.access_rows import Existing, access_facts, clusters_of
from kdissect.stats.by_access.access_traffic import AccessTraffic
from kdissect.stats.by_access.acl import Acl, enum_text
from kdissect.stats.by_access.known_acls import listed_in
from kdissect.stats.by_access.operations import needs_of
from kdissect.stats.by_access.requirements import accesses_of
from tests.history.connections.test_sasl import authenticate, handshake
from tests.history.talk import Talk
from tests.support.console import CAPTURES
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

PRODUCE, FETCH, METADATA, OFFSET_COMMIT, FIND_COORDINATOR, HEARTBEAT = 0, 1, 3, 8, 10, 12
CREATE_TOPICS, INIT_PRODUCER_ID = 19, 22
TOPIC_DENIED, GROUP_DENIED, UNKNOWN_TOPIC, INVALID_REQUEST = 29, 30, 3, 42
UNKNOWN_TOPIC_ID = 100
Facts = dict[str, Any]


def names_of(enum: str) -> set[str]:
    found = enumeration(enum)
    assert found is not None
    return {enum_text(name) for name in found.values.values()}


OPERATIONS, TYPES = names_of("aclOperation"), names_of("aclResourceType")
# A broker checks nothing for these, or leaves out what is not permitted.
WITHOUT_NEEDS = {
    "SaslHandshake", "ApiVersions", "SaslAuthenticate", "ListGroups", "RenewDelegationToken",
    "ExpireDelegationToken", "DescribeCluster", "ListTransactions", "GetTelemetrySubscriptions",
    "PushTelemetry",
}  # fmt: skip
LISTED = """Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)`:
 \t(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)
 \t(principal=User:alice, host=*, operation=DELETE, permissionType=ALLOW)

Current ACLs for resource `ResourcePattern(resourceType=TRANSACTIONAL_ID, name=tx-, patternType=PREFIXED)`:
 \t(principal=User:*, host=10.0.0.9, operation=WRITE, permissionType=DENY)
"""


def logged_in(name: bytes = b"alice") -> Talk:
    """Return a connection whose client logs in by PLAIN."""
    talk = Talk()
    handshake(talk)
    authenticate(talk, b"\0" + name + b"\0secret")
    talk.info.mechanism, talk.info.principal = "PLAIN", name.decode()
    return talk


def produce(
    talk: Talk, topic: str = "orders", code: int = 0, transactional_id: str | None = None
) -> Exchange:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": None}]}]
    answer = [{"name": topic, "partition_responses": [{"index": 0, "error_code": code}]}]
    body = {"transactional_id": transactional_id, "acks": -1, "timeout_ms": 1, "topic_data": data}
    return talk.ask(PRODUCE, 7, body, {"responses": answer})


def commit(talk: Talk, codes: dict[str, int]) -> Exchange:
    topics = [{"name": name, "partitions": [{"partition_index": 0}]} for name in codes]
    answer = [
        {"name": name, "partitions": [{"partition_index": 0, "error_code": code}]}
        for name, code in codes.items()
    ]
    return talk.ask(OFFSET_COMMIT, 7, {"group_id": "g", "topics": topics}, {"topics": answer})


def metadata(talk: Talk, code: int) -> Exchange:
    body = {"topics": [{"name": "orders"}], "allow_auto_topic_creation": True}
    return talk.ask(METADATA, 4, body, {"topics": [{"error_code": code, "name": "orders"}]})


def init_producer_id(talk: Talk) -> Exchange:
    return talk.ask(INIT_PRODUCER_ID, 1, {"transactional_id": None}, {})


def found_in(*exchanges: Exchange, existing: Existing | None = None, **how: bool) -> Facts:
    traffic = AccessTraffic(TopicNames())
    for exchange in exchanges:
        traffic.add(exchange)
    traffic.finish()
    clusters = clusters_of(traffic, patterns=how.get("patterns", False), with_denied=how.get("denied", False))
    return access_facts(traffic, clusters, existing)


def outcomes(facts: Facts) -> dict[tuple[str, str, str], str]:
    names = "allowed", "denied", "unanswered", "unchecked"
    return {
        (row["operation"], row["resource"], row["name"]): " ".join(name for name in names if row[name])
        for row in facts["access"]
    }


def acls(facts: Facts) -> list[tuple[str, str, str]]:
    return [(row["operation"], row["resource"], row["name"]) for row in facts["acls"]]


def test_every_api_has_its_operations_or_needs_none() -> None:
    assert {api.name for api in all_apis() if not needs_of(api.key)} == WITHOUT_NEEDS


def test_a_change_of_the_table_is_seen() -> None:
    """Each row names an operation and a resource type that ACLs can have."""
    for api in all_apis():
        for need in needs_of(api.key):
            assert need.operation in OPERATIONS
            assert need.resource in TYPES
            assert {other.operation for other in need.alternatives} <= OPERATIONS


def test_topics_of_one_request_are_allowed_and_denied_separately() -> None:
    facts = found_in(commit(logged_in(), {"a": 0, "b": TOPIC_DENIED}))
    who = {(row["principal"], row["principal_source"]) for row in facts["access"]}
    assert who == {("alice", "login")}
    assert outcomes(facts) == {
        ("Read", "Group", "g"): "allowed",
        ("Read", "Topic", "a"): "allowed",
        ("Read", "Topic", "b"): "denied",
    }
    assert acls(facts) == [("Read", "Group", "g"), ("Read", "Topic", "a")]


def test_a_refused_topic_leaves_other_topics_checked() -> None:
    topics = [{"name": "a", "error_code": 0}, {"name": "b", "error_code": INVALID_REQUEST}]
    asked = {"topics": [{"name": row["name"]} for row in topics], "timeout_ms": 1}
    facts = found_in(logged_in().ask(CREATE_TOPICS, 2, asked, {"topics": topics}))
    assert outcomes(facts) == {("Create", "Topic", "a"): "allowed", ("Create", "Topic", "b"): "unchecked"}
    assert acls(facts) == [("Create", "Topic", "a")]


def test_topics_are_not_checked_if_the_group_is_denied() -> None:
    facts = found_in(commit(logged_in(), {"a": GROUP_DENIED}), denied=True)
    assert outcomes(facts) == {("Read", "Group", "g"): "denied", ("Read", "Topic", "a"): "unchecked"}
    assert len(facts["acls"]) == 2
    assert found_in(commit(logged_in(), {"a": GROUP_DENIED}))["acls"] == []


def test_a_write_is_enough_for_describe_and_idempotent_write() -> None:
    talk = logged_in()
    facts = found_in(metadata(talk, 0), init_producer_id(talk), produce(talk, transactional_id="tx"))
    assert outcomes(facts) == {
        ("Describe", "Topic", "orders"): "allowed",
        ("IdempotentWrite", "Cluster", "kafka-cluster"): "allowed",
        ("Write", "Topic", "orders"): "allowed", ("Write", "TransactionalId", "tx"): "allowed",
    }  # fmt: skip
    assert acls(facts) == [("Write", "Topic", "orders"), ("Write", "TransactionalId", "tx")]
    assert acls(found_in(init_producer_id(logged_in()))) == [("IdempotentWrite", "Cluster", "kafka-cluster")]


def test_a_topic_that_metadata_creates_needs_create() -> None:
    talk = logged_in()
    facts = found_in(metadata(talk, UNKNOWN_TOPIC), metadata(talk, 0))
    assert acls(facts) == [("Create", "Topic", "orders"), ("Describe", "Topic", "orders")]
    assert acls(found_in(metadata(logged_in(), UNKNOWN_TOPIC))) == [("Describe", "Topic", "orders")]


def test_configs_of_new_topics_are_allowed_refused_or_not_returned() -> None:
    names = {"a": (0, [], 0), "b": (0, None, TOPIC_DENIED), "c": (17, [], 0)}
    answer = [
        {"name": name, "error_code": code, "configs": configs, "topic_config_error_code": refused}
        for name, (code, configs, refused) in names.items()
    ]
    made = logged_in().ask(
        CREATE_TOPICS, 5, {"topics": [{"name": name} for name in names]}, {"topics": answer}
    )
    found = outcomes(found_in(made))
    assert {name: what for (operation, _, name), what in found.items() if operation == "DescribeConfigs"} == {
        "a": "allowed", "b": "denied",
    }  # fmt: skip
    assert {what for (operation, *_), what in found.items() if operation == "Create"} == {"allowed"}


def test_keys_of_coordinators_are_groups_or_transactional_ids() -> None:
    talk = logged_in()
    asked = [talk.ask(FIND_COORDINATOR, 1, {"key": "k", "key_type": kind}, {}) for kind in (0, 1)]
    assert outcomes(found_in(*asked)) == {
        ("Describe", "Group", "k"): "allowed", ("Describe", "TransactionalId", "k"): "allowed",
    }  # fmt: skip


def test_a_connection_without_a_login_is_anonymous_only_from_its_start() -> None:
    talk, before = Talk(), Talk()
    before.info.middle_start = True
    (first,) = found_in(produce(talk))["access"]
    (second,) = found_in(produce(before))["access"]
    assert (first["principal"], first["principal_source"]) == ("ANONYMOUS", "no login")
    assert (second["principal"], second["principal_source"]) == (None, "before the capture")
    assert found_in(produce(before))["acls"] == []


def test_the_id_of_a_delegation_token_is_no_principal() -> None:
    talk = Talk()
    talk.info.mechanism, talk.info.principal = "SCRAM-SHA-256", "token-id"
    login = authenticate(talk, b"n,,n=token-id,r=x,tokenauth=true")
    (row,) = found_in(login, produce(talk))["access"]
    assert (row["principal"], row["principal_source"]) == (None, "delegation token")


def test_existing_acls_are_compared() -> None:
    entries = listed_in(LISTED)
    assert entries[0] == Acl("User:alice", "*", "Read", "Allow", "Topic", "orders", "literal")
    talk = logged_in()
    read = talk.ask(FETCH, 4, {"topics": [{"topic": "orders", "partitions": []}], "replica_id": -1}, {})
    wrote = produce(talk, "other")
    facts = found_in(read, wrote, existing=Existing(entries, "acls.txt", is_complete=True))
    assert [row["operation"] for row in facts["unused"]] == ["Delete"]
    assert [(row["operation"], row["name"], row["why"]) for row in facts["lacking"]] == [
        ("Write", "other", "no ACL allows it")
    ]
    partly = found_in(read, wrote, existing=Existing(entries, "acls.txt", is_complete=False))
    assert partly["lacking"] == []


def test_a_line_that_is_no_entry_is_named() -> None:
    with pytest.raises(ValueError, match="line 2"):
        listed_in(LISTED.replace("(principal=User:alice, host=*", "(principal=User:alice host=*", 1))


@pytest.mark.parametrize(
    "text",
    ["User:alice has Allow permission for operations: Read from hosts: *", LISTED.replace("", "\0")],
)
def test_a_text_without_entries_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        listed_in(text)
    assert listed_in("") == listed_in("ACLs for principal `User:bob`\n") == []


def test_the_name_of_all_has_no_acl() -> None:
    body = {"group_id": "*", "generation_id": 1, "member_id": "m"}
    facts = found_in(logged_in().ask(HEARTBEAT, 0, body, {}), produce(logged_in(b"*")))
    assert len(facts["access"]) == 2
    assert facts["acls"] == []


def test_denied_accesses_have_no_acls_and_a_note(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["access", str(CAPTURES / "kafka44_java_errors.pcapng"), "--acls", "kafka-acls"]) == 0
    assert " accesses denied (--with-denied)" in capfd.readouterr().out


def test_acls_of_unknown_principals_may_be_used(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "acls.txt").write_text(LISTED)
    capture = str(CAPTURES / "kafka44_java_sasl.pcapng")
    assert main(["access", capture, "--existing", str(tmp_path / "acls.txt")]) == 0
    assert "whose principal is unknown may have used" in capfd.readouterr().out


def test_prefixes_and_wildcards_come_only_on_request() -> None:
    talk = logged_in()
    wrote = [produce(talk, f"app.orders-{number}") for number in range(3)]
    assert len(found_in(*wrote)["acls"]) == 3
    (acl,) = found_in(*wrote, patterns=True)["acls"]
    assert (acl["name"], acl["pattern"]) == ("app.orders-", "prefixed")
    (acl,) = found_in(*(produce(talk, name) for name in "abc"), patterns=True)["acls"]
    assert (acl["name"], acl["pattern"]) == ("*", "literal")


ORDERS = [
    Acl("User:alice", "*", operation, "Allow", "Topic", "orders", "literal")
    for operation in ("Read", "Write")
]


def test_commands_quote_names() -> None:
    odd = Acl("User:a b", "*", "Read", "Allow", "Group", "it's", "prefixed")
    assert list(acl_lines([*ORDERS, odd], "kafka-acls", ["seen"])) == [
        "# seen",
        'kafka-acls --bootstrap-server "$BOOTSTRAP" --add --allow-principal User:alice --operation Read '
        "--operation Write --topic orders",
        "kafka-acls --bootstrap-server \"$BOOTSTRAP\" --add --allow-principal 'User:a b' --operation Read "
        "--group 'it'\"'\"'s' --resource-pattern-type prefixed",
    ]


def test_strimzi_has_a_user_for_each_principal() -> None:
    odd = Acl("User:CN=x", "*", "Read", "Allow", "Group", "g", "literal")
    lines = list(acl_lines([*ORDERS, odd], "strimzi", []))
    assert lines[1:4] == ["kind: KafkaUser", "metadata:", '  name: "alice"']
    assert "        operations: [Read, Write]" in lines
    assert lines[-1] == "# left out: 'CN=x' cannot be the name of a KafkaUser"


def test_terraform_has_no_templates_of_names() -> None:
    odd = ORDERS[0]._replace(resource="Group", name="${x}")
    lines = list(acl_lines([odd], "terraform", []))
    assert lines[0] == 'resource "kafka_acl" "acl_1_alice_read_group_x" {'
    assert '  resource_name                = "$${x}"' in lines


@pytest.mark.parametrize("form", ["kafka-acls", "strimzi", "terraform"])
def test_a_name_that_cannot_be_printed_is_a_comment(form: str) -> None:
    odd = [ORDERS[0]._replace(principal="User:*"), ORDERS[0]._replace(resource="Group", name="a\n\x1b")]
    assert all(line.startswith("# left out: ") for line in acl_lines(odd, form, []))


@pytest.mark.parametrize(
    ("form", "acl", "why"),
    [
        ("kafka-acls", ORDERS[0]._replace(resource="Group", name="g "), "kafka-acls removes the spaces"),
        ("kafka-acls", ORDERS[0]._replace(principal="User:bob "), "kafka-acls removes the spaces"),
        ("strimzi", ORDERS[0]._replace(resource="User"), "strimzi has no ACLs on User"),
        ("strimzi", ORDERS[0]._replace(operation="TwoPhaseCommit"), "strimzi has no TwoPhaseCommit"),
        ("terraform", ORDERS[0]._replace(resource="User"), "terraform has no ACLs on User"),
        ("terraform", ORDERS[0]._replace(operation="TwoPhaseCommit"), "terraform has no TwoPhaseCommit"),
    ],
)
def test_an_acl_that_a_form_cannot_have_is_a_comment(form: str, acl: Acl, why: str) -> None:
    (line,) = acl_lines([acl], form, [])
    assert line.startswith("# left out: ")
    assert line.endswith(f" ({why})")


def test_forms_have_their_names_of_types_and_plain_characters() -> None:
    odd = Acl("User:alice", "*", "Write", "Allow", "TransactionalId", "\U0001f600 ", "literal")
    commands, strimzi, terraform = (
        "\n".join(acl_lines([odd], form, [])) for form in ("kafka-acls", "strimzi", "terraform")
    )
    assert "--transactional-id '\U0001f600 '" in commands
    assert 'name: "\U0001f600 "' in strimzi
    assert 'resource_type                = "TransactionalID"' in terraform


def test_each_topic_id_that_is_unknown_is_counted(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Also where the native engine groups responses with equal topics and error codes."""
    ids = [bytes([number]) * 16 for number in (1, 2)]
    talk = Conversation().handshake()
    for number in range(2):
        rows = [
            {"topic_id": each, "partitions": [{"error_code": UNKNOWN_TOPIC_ID * (at == number)}]}
            for at, each in enumerate(ids)
        ]
        asked = {"topics": [{"topic_id": each, "partitions": [{}]} for each in ids]}
        talk.client(encode_request(FETCH, 13, number, "c", asked))
        talk.broker(encode_response(FETCH, 13, number, {"responses": rows}))
    path = write_pcap(tmp_path / "fetches.pcap", talk.packets)
    assert main(["access", str(path), "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)["access"]
    assert [(row["allowed"], row["unchecked"]) for row in found] == [(1, 1), (1, 1)]


def test_a_request_that_cannot_be_read_has_no_accesses() -> None:
    exchange = produce(logged_in())
    assert exchange.request is not None
    exchange.request = exchange.request.shortened(20)
    assert accesses_of(ExchangeView(exchange)) == []


def test_the_recorded_denials_are_those_of_the_clients(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["access", str(CAPTURES / "kafka44_java_errors.pcapng"), "--format", "json"]) == 0
    rows = json.loads(capfd.readouterr().out)["access"]
    denied = {(row["resource"], row["name"]) for row in rows if row["denied"]}
    assert denied
    assert main(["topics", str(CAPTURES / "kafka44_java_errors.pcapng"), "--format", "json"]) == 0
    topics = json.loads(capfd.readouterr().out)["topics"]
    assert {name for kind, name in denied if kind == "Topic"} == {
        topic["topic"] for topic in topics if topic["denied"]
    }


def test_entries_that_a_broker_lists_are_compared(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["access", str(CAPTURES / "kafka44_java_admin.pcapng"), "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert [(row["principal"], row["operation"], row["name"]) for row in found["unused"]] == [
        ("User:carol", "IdempotentWrite", "kafka-cluster"), ("User:carol", "Read", "orders"),
    ]  # fmt: skip
