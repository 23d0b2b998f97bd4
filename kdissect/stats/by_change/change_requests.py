"""The changes of a request, and the result in its answer: a reader for each API that changes a cluster.

Secrets are left out: values of configs as `schema.secrets` decides, and fields with the mark `@secret` are
not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.engine.exchange_rows import topic_id_text
from kdissect.engine.times import millis_text
from kdissect.model.wording import plural
from kdissect.schema.enums import enum_name
from kdissect.schema.secrets import MASK, is_sensitive
from kdissect.stats.client import advertised, is_commit_from_outside, text_of

ENVELOPE = 58  # org.apache.kafka.common.protocol.ApiKeys
_UPGRADE = 1  # FeatureUpdate.UpgradeType
_CONFIG_SET, _CONFIG_DELETED = 0, 1  # AlterConfigOp.OpType
_CONFIG_SIGNS = {2: "+=", 3: "-="}
_LITERAL = 3  # org.apache.kafka.common.resource.PatternType
_TO_THE_END = -1  # DeleteRecordsRequest.HIGH_WATERMARK


class Item(NamedTuple):
    """One changed thing. `code` is its error code, None if no answer reports it."""

    kind: str
    name: str
    did: str
    detail: str = ""
    code: int | None = None
    message: str | None = None


Reader = Callable[[Any, Any], Iterator[Item]]


def items_of(api_key: int, request: Any, answer: Any) -> Iterator[Item]:
    """Yield the changes of an API's request. `answer` is None if there is none that can be read."""
    return READERS[api_key](request, answer)


def is_only_check(request: Any) -> bool:
    """Return whether the request changes no state, because it only asks for the effect."""
    return bool(sent(request, "validate_only", False))


def _answers(rows: Iterable[Any], *names: str) -> dict[Any, Any]:
    """Return rows of an answer by what they are about: a value, or several."""
    if len(names) == 1:
        return {sent(row, names[0]): row for row in rows}
    return {tuple(sent(row, name) for name in names): row for row in rows}


def _said(row: Any, whole: Any = None) -> Mapping[str, Any]:
    """Return error and message of a part of a response, or of the whole response if it failed as a whole."""
    failed = sent(whole, "error_code")
    held = whole if failed or sent(row, "error_code") is None else row
    message = sent(held, "error_message")
    return {"code": sent(held, "error_code"), "message": text_of(message) if message else None}


def _create_topics(request: Any, answer: Any) -> Iterator[Item]:
    answers = _answers(sent(answer, "topics", []), "name")
    for topic in request.topics:
        told = answers.get(topic.name)
        partitions = max(sent(told, "num_partitions", -1), topic.num_partitions, len(topic.assignments))
        replicas = max(sent(told, "replication_factor", -1), topic.replication_factor)
        detail = [plural(partitions, "partition")] if partitions > 0 else []
        detail += [plural(replicas, "replica")] if replicas > 0 else []
        detail += [_config(config, "=") for config in topic.configs]
        yield Item("topic", text_of(topic.name), "created", ", ".join(detail), **_said(told))


def _delete_topics(request: Any, answer: Any) -> Iterator[Item]:
    told = sent(answer, "responses", [])
    by_name, by_id = _answers(told, "name"), _answers(told, "topic_id")
    for name in sent(request, "topic_names", []):
        yield Item("topic", text_of(name), "deleted", **_said(by_name.get(name)))
    for topic in sent(request, "topics", []):
        row = by_name.get(topic.name) if topic.name is not None else by_id.get(topic.topic_id)
        name = topic.name if topic.name is not None else sent(row, "name")
        shown = topic_id_text(topic.topic_id) if name is None else text_of(name)
        yield Item("topic", shown, "deleted", **_said(row))


def _create_partitions(request: Any, answer: Any) -> Iterator[Item]:
    answers = _answers(sent(answer, "results", []), "name")
    for topic in request.topics:
        detail = f"to {plural(topic.count, 'partition')}"
        yield Item("topic", text_of(topic.name), "grown", detail, **_said(answers.get(topic.name)))


def _delete_records(request: Any, answer: Any) -> Iterator[Item]:
    for topic, partition, told in _partitions(request.topics, sent(answer, "topics", []), "name"):
        detail = "all" if partition.offset == _TO_THE_END else f"below offset {partition.offset}"
        low = sent(told, "low_watermark", -1)
        detail += f", now from offset {low}" if low >= 0 and partition.offset != low else ""
        yield Item("records", _place(topic, partition.partition_index), "deleted", detail, **_said(told))


def _alter_configs(request: Any, answer: Any) -> Iterator[Item]:
    yield from _configs(request, answer, "replaced")  # what is not named goes back to its default


def _incremental_alter_configs(request: Any, answer: Any) -> Iterator[Item]:
    yield from _configs(request, answer, "altered")


def _configs(request: Any, answer: Any, did: str) -> Iterator[Item]:
    answers = _answers(sent(answer, "responses", []), "resource_type", "resource_name")
    for resource in request.resources:
        told = answers.get((resource.resource_type, resource.resource_name))
        name = f"{_word('configResourceType', resource.resource_type)} {text_of(resource.resource_name)}"
        changes = []
        for config in resource.configs:
            operation = sent(config, "config_operation", _CONFIG_SET)
            if operation == _CONFIG_DELETED:
                changes.append(f"{text_of(config.name)} unset")
            else:
                changes.append(_config(config, _CONFIG_SIGNS.get(operation, "=")))
        yield Item("config", name.rstrip() or "all", did, ", ".join(changes), **_said(told))


def _config(config: Any, sign: str) -> str:
    """Return a config with its value, if the value is no secret."""
    value = config.value
    if value is None:
        return f"{text_of(config.name)} unset"
    secret = is_sensitive({"name": config.name, "value": value})
    return f"{text_of(config.name)}{sign}{MASK if secret else text_of(value)}"


def _create_acls(request: Any, answer: Any) -> Iterator[Item]:
    told = sent(answer, "results", [])
    for index, acl in enumerate(request.creations):  # answered by their places
        pattern = sent(acl, "resource_pattern_type", _LITERAL)
        said = _said(told[index] if index < len(told) else None)
        yield Item("acl", _resource(acl, pattern), "created", _permission(acl), **said)


def _delete_acls(request: Any, answer: Any) -> Iterator[Item]:
    told = sent(answer, "filter_results", [])
    for index, wanted in enumerate(request.filters):
        found = told[index] if index < len(told) else None
        matching = sent(found, "matching_acls", [])
        for acl in matching:
            pattern = sent(acl, "pattern_type", _LITERAL)
            yield Item("acl", _resource(acl, pattern), "deleted", _permission(acl), **_said(acl))
        if not matching:
            name = _word("aclResourceType", wanted.resource_type_filter)
            if wanted.resource_name_filter is not None:
                name += f" {text_of(wanted.resource_name_filter)}"
            who = wanted.principal_filter
            detail = "" if who is None else f"of {text_of(who)}"
            detail += "" if found is None or found.error_code else f"{', ' if detail else ''}none matched"
            yield Item("acl", name, "deleted", detail, **_said(found))


def _resource(acl: Any, pattern: int) -> str:
    kind = _word("aclResourceType", acl.resource_type)
    shown = "" if pattern == _LITERAL else f" ({_word('aclPatternType', pattern)})"
    return f"{kind} {text_of(acl.resource_name)}{shown}"


def _permission(acl: Any) -> str:
    what = f"{_word('aclPermission', acl.permission_type)} {_word('aclOperation', acl.operation)}"
    where = "" if acl.host == "*" else f" from {text_of(acl.host)}"
    return f"{what} {text_of(acl.principal)}{where}"


def _alter_quotas(request: Any, answer: Any) -> Iterator[Item]:
    answers = {_entity(row.entity): row for row in sent(answer, "entries", [])}
    for entry in request.entries:
        who = _entity(entry.entity)
        changes = [
            f"{text_of(op.key)} removed" if op.remove else f"{text_of(op.key)}={op.value:.10g}"
            for op in entry.ops
        ]
        yield Item("quota", who, "altered", ", ".join(changes), **_said(answers.get(who)))


def _entity(parts: Iterable[Any]) -> str:
    """Return `user alice, client-id default`, in an order that request and answer have in common."""
    words = (
        f"{text_of(part.entity_type)} {'default' if part.entity_name is None else text_of(part.entity_name)}"
        for part in parts
    )
    return ", ".join(sorted(words))


def _alter_scram(request: Any, answer: Any) -> Iterator[Item]:
    answers = _answers(sent(answer, "results", []), "user")
    for gone in request.deletions:
        detail = _mechanism(gone.mechanism)
        yield Item("user", text_of(gone.name), "credential deleted", detail, **_said(answers.get(gone.name)))
    for put in request.upsertions:
        detail = f"{_mechanism(put.mechanism)}, {plural(put.iterations, 'iteration')}"
        yield Item("user", text_of(put.name), "credential set", detail, **_said(answers.get(put.name)))


def _mechanism(code: int) -> str:
    return (enum_name("scramMechanism", code) or str(code)).replace("_", "-")


def _create_token(request: Any, answer: Any) -> Iterator[Item]:
    owner = sent(answer, "principal_name") or sent(request, "owner_principal_name")
    detail = f"id {text_of(answer.token_id)}" if sent(answer, "token_id") else ""
    renewers = ", ".join(text_of(renewer.principal_name) for renewer in request.renewers)
    detail += f"{', ' if detail else ''}renewers {renewers}" if renewers else ""
    yield Item("token", f"of {text_of(owner)}" if owner else "", "created", detail, **_said(answer))


def _renew_token(request: Any, answer: Any) -> Iterator[Item]:
    yield Item("token", "", "renewed", _until(answer), **_said(answer))


def _expire_token(request: Any, answer: Any) -> Iterator[Item]:
    yield Item("token", "", "expired", _until(answer), **_said(answer))


def _until(answer: Any) -> str:
    expiry = sent(answer, "expiry_timestamp_ms", -1)
    at = None if expiry <= 0 else millis_text(expiry)
    return "" if at is None else f"until {at[:19]}"


def _delete_groups(request: Any, answer: Any) -> Iterator[Item]:
    answers = _answers(sent(answer, "results", []), "group_id")
    for group in request.groups_names:
        yield Item("group", text_of(group), "deleted", **_said(answers.get(group)))


def _delete_offsets(request: Any, answer: Any) -> Iterator[Item]:
    for topic, partition, told in _partitions(request.topics, sent(answer, "topics", []), "name"):
        place = _place(topic, partition.partition_index)
        yield Item("offsets", f"of {text_of(request.group_id)}", "deleted", place, **_said(told, answer))


def _commit_offsets(request: Any, answer: Any) -> Iterator[Item]:
    if not is_commit_from_outside(request):
        return
    for topic, partition, told in _partitions(request.topics, sent(answer, "topics", []), "name"):
        detail = f"{_place(topic, partition.partition_index)} to {partition.committed_offset}"
        yield Item("offsets", f"of {text_of(request.group_id)}", "set", detail, **_said(told))


def _alter_share_offsets(request: Any, answer: Any) -> Iterator[Item]:
    told_topics = sent(answer, "responses", [])
    for topic, partition, told in _partitions(request.topics, told_topics, "topic_name"):
        detail = f"{_place(topic, partition.partition_index)} to {partition.start_offset}"
        yield Item("offsets", f"of {text_of(request.group_id)}", "altered", detail, **_said(told, answer))


def _delete_share_offsets(request: Any, answer: Any) -> Iterator[Item]:
    answers = _answers(sent(answer, "responses", []), "topic_name")
    for topic in request.topics:
        said = _said(answers.get(topic.topic_name), answer)
        yield Item("offsets", f"of {text_of(request.group_id)}", "deleted", text_of(topic.topic_name), **said)


def _reassign(request: Any, answer: Any) -> Iterator[Item]:
    for topic, partition, told in _partitions(request.topics, sent(answer, "responses", []), "name"):
        replicas = partition.replicas
        did = "move cancelled" if replicas is None else "moved"
        detail = "" if replicas is None else f"to {', '.join(map(str, replicas))}"
        yield Item("replicas", _place(topic, partition.partition_index), did, detail, **_said(told, answer))


def _elect_leaders(request: Any, answer: Any) -> Iterator[Item]:
    kind = (enum_name("electionType", sent(request, "election_type", 0)) or "").lower()
    results = {
        (text_of(topic.topic), part.partition_id): part
        for topic in sent(answer, "replica_election_results", [])
        for part in topic.partition_result
    }
    asked = request.topic_partitions
    if asked is None:
        places = list(results)
    else:
        places = [(text_of(topic.topic), number) for topic in asked for number in topic.partitions]
    for topic, number in places:
        said = _said(results.get((topic, number)), answer)
        yield Item("leader", _place(topic, number), "elected", kind, **said)


def _move_log_dirs(request: Any, answer: Any) -> Iterator[Item]:
    results = {
        (topic.topic_name, part.partition_index): part
        for topic in sent(answer, "results", [])
        for part in topic.partitions
    }
    for folder in request.dirs:
        for topic in folder.topics:
            for number in topic.partitions:
                told = results.get((topic.name, number))
                place = _place(text_of(topic.name), number)
                yield Item("replicas", place, "moved", f"to {text_of(folder.path)}", **_said(told))


def _update_features(request: Any, answer: Any) -> Iterator[Item]:
    answers = _answers(sent(answer, "results", []), "feature")
    for feature in request.feature_updates:
        level = feature.max_version_level
        way = sent(feature, "upgrade_type", _UPGRADE)
        detail = f"level {level}" if level > 0 else "off"
        detail += "" if way == _UPGRADE else f", {_word('featureUpgradeType', way)}"
        said = _said(answers.get(feature.feature), answer)
        yield Item("feature", text_of(feature.feature), "set", detail, **said)


def _unregister_broker(request: Any, answer: Any) -> Iterator[Item]:
    yield Item("broker", str(request.broker_id), "unregistered", **_said(answer))


def _add_voter(request: Any, answer: Any) -> Iterator[Item]:
    detail = ", ".join(advertised(where) for where in request.listeners)
    yield Item("voter", str(request.voter_id), "added", detail, **_said(answer))


def _remove_voter(request: Any, answer: Any) -> Iterator[Item]:
    yield Item("voter", str(request.voter_id), "removed", **_said(answer))


def _partitions(asked: Iterable[Any], told: Iterable[Any], name: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield partitions of a request, with their topics and their answers."""
    answers = {(sent(topic, name), part.partition_index): part for topic in told for part in topic.partitions}
    for topic in asked:
        topic_name = sent(topic, name)
        for partition in topic.partitions:
            yield text_of(topic_name), partition, answers.get((topic_name, partition.partition_index))


def _place(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


def _word(enum: str, code: int) -> str:
    return (enum_name(enum, code) or str(code)).lower().replace("_", " ")


READERS: dict[int, Reader] = {
    8: _commit_offsets, 19: _create_topics, 20: _delete_topics, 21: _delete_records, 30: _create_acls,
    31: _delete_acls, 33: _alter_configs, 34: _move_log_dirs, 37: _create_partitions, 38: _create_token,
    39: _renew_token, 40: _expire_token, 42: _delete_groups, 43: _elect_leaders,
    44: _incremental_alter_configs, 45: _reassign, 47: _delete_offsets, 49: _alter_quotas, 51: _alter_scram,
    57: _update_features, 64: _unregister_broker, 80: _add_voter, 81: _remove_voter,
    91: _alter_share_offsets, 92: _delete_share_offsets,
}  # fmt: skip
"""By API key (org.apache.kafka.common.protocol.ApiKeys)."""
