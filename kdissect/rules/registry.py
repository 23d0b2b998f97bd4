"""Every rule, in order of precedence: the more basic a cause, the earlier.

`python -m tests.regenerate registry` adds the line of a new module at the end of its folder.
"""

from collections.abc import Iterable
from importlib import import_module

from kdissect.model.digest import blake2b
from kdissect.model.version import __version__
from kdissect.rules.kinds import SchemaRule
from kdissect.rules.overrides import refuse_idle_overrides
from kdissect.rules.rule import Rule

# Modules below `kdissect.rules`. The order of a module's classes is kept.
_MODULES = (
    "connections.failed_connections",
    "framing.frame_size",
    "headers.header_form",
    "headers.client_id",
    "headers.correlation_ids",
    "headers.unknown_apis",
    "versions.not_advertised",
    "versions.api_version_requests",
    "versions.api_versions",
    "versions.unstable_version",
    "versions.other_version",
    "pairing.passed_over",
    "versions.refused_request",
    "versions.other_releases",
    "versions.features",
    "framing.trailing_bytes",
    "bodies.undecodable",
    "bodies.long_varint",
    "bodies.tags",
    "bodies.strings",
    "bodies.unknown_bytes",
    "bodies.topic_ids",
    "bodies.partition_numbers",
    "bodies.negative_times",
    "bodies.message_without_error",
    "bodies.illegal_topic_name",
    "bodies.impossible_numbers",
    "bodies.related_fields",
    "bodies.described_topics",
    "pairing.answers",
    "pairing.waiting_requests",
    "pairing.answered_entries",
    "pairing.filters",
    "pairing.throttle_ignored",
    "pairing.unasked_parts",
    "sasl.visible_credentials",
    "sasl.login_order",
    "sasl.tokens",
    "sasl.other_principal",
    "sasl.refused_logins",
    "metadata.metadata_answers",
    "metadata.advertised_unreached",
    "metadata.odd_replicas",
    "produce.produce_requests",
    "produce.idempotence",
    "produce.answered_offsets",
    "fetch.fetch_requests",
    "fetch.unrequested_partition",
    "fetch.order_of_offsets",
    "fetch.fetch_waits",
    "fetch.acknowledgements",
    "fetch.bad_acquired_records",
    "fetch.session_state",
    "fetch.stored_records",
    "fetch.misplaced_data",
    "fetch.fetched_partitions",
    "groups.empty_group_id",
    "groups.join_answers",
    "groups.join_heartbeats",
    "groups.odd_commit",
    "groups.bad_subscription",
    "groups.generation",
    "groups.member_epoch",
    "groups.late_members",
    "groups.coordinator",
    "groups.assignments",
    "groups.heartbeat_answers",
    "groups.member_lists",
    "records.malformed",
    "batch_headers.too_new",
    "batch_headers.attributes",
    "batch_headers.offsets",
    "batch_headers.produced_attributes",
    "batch_headers.fetched_offsets",
    "records.record_fields",
    "records.timestamps",
    "records.message_set_offsets",
    "records.lz4_checksum",
    "records.control_batches",
    "records.own_topics",
    "schemas.value_schemas",
    "transactions.transaction_requests",
    "transactions.order",
    "metadata.quorum",
    "metadata.addresses",
    "metadata.epoch_ends",
    "metadata.partition_states",
    "metadata.quorum_leader",
    "metadata.topic_ids",
    "telemetry.pushes",
    "admin.list_offsets",
    "admin.topic_requests",
    "admin.access_requests",
    "admin.changes",
    "admin.cursor_does_not_advance",
    "admin.nested_envelope",
    "admin.created_topics",
    "admin.answered_changes",
)


def _rules_in(name: str) -> list[Rule]:
    """Return the rules that a module defines, in their order there. Raises ValueError if there is none."""
    module = import_module(f"kdissect.rules.{name}")
    found = [
        thing()
        for thing in vars(module).values()
        if isinstance(thing, type)
        and issubclass(thing, Rule)
        and thing.__module__ == module.__name__
        and "code" in vars(thing)
    ]
    if not found:
        raise ValueError(f"{module.__name__} defines no rule")
    return found


EVERY_RULE: tuple[Rule, ...] = tuple(rule for name in _MODULES for rule in _rules_in(name))
"""All rules, including those that need the user's schemas."""
SCHEMA_RULES: tuple[SchemaRule, ...] = tuple(rule for rule in EVERY_RULE if isinstance(rule, SchemaRule))
"""The rules that need the user's schemas."""
ALL_RULES: tuple[Rule, ...] = tuple(rule for rule in EVERY_RULE if rule not in SCHEMA_RULES)
"""The rules that need the traffic alone."""
refuse_idle_overrides(ALL_RULES)


def rule_by(word: str) -> Rule | None:
    """Return the rule or the statement of `kdissect conform` with this code or name."""
    # start-up: few ask for one by its name
    from kdissect.rules.broker_statements import BROKER_STATEMENTS
    from kdissect.rules.client_statements import CLIENT_STATEMENTS

    known = (*EVERY_RULE, *BROKER_STATEMENTS, *CLIENT_STATEMENTS)
    return next((rule for rule in known if word.upper() == rule.code or word == rule.name), None)


def ruleset_version(rules: Iterable[Rule]) -> str:
    """Return `0.1.0+3f2a9c01`: the version of kdissect, and a hash of the rules' own facts."""
    facts = "\n".join("\t".join(_facts(rule)) for rule in rules)
    return f"{__version__}+{blake2b(facts.encode(), digest_size=4).hexdigest()}"


def _facts(rule: Rule) -> tuple[str, ...]:
    return (
        rule.code,
        rule.name,
        rule.level,
        rule.claim,
        rule.effective_severity(),
        rule.who or "",
        *rule.cites,
    )
