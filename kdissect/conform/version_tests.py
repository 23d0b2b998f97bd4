"""Each API version that a broker advertises: typical requests, with unknown tags, nulls and empty lists."""

from __future__ import annotations

from kdissect.conform.broker_connection import TLS_ALERT, Outcome, Response
from kdissect.conform.broker_run import (
    METADATA,
    PRODUCE,
    BrokerRun,
    NoBrokerError,
    RunOverError,
    is_flexible,
    key_of,
)
from kdissect.conform.request_bodies import REQUESTS, Effect, Fields, emptied, with_nulls
from kdissect.model.wording import plural
from kdissect.schema import protocol_messages
from kdissect.schema.protocol_messages import API_VERSIONS

UNKNOWN_TAGS = {9_999: b"kdissect"}
"""Of no message: KIP-482 gives numbers in ascending order."""
_NOT_THERE = 32_767
_NO_FRAME = Outcome.CLOSED, Outcome.SILENT, Outcome.GARBAGE
_UNSUPPORTED_MECHANISM, _UNSUPPORTED_VERSION = 33, 35


def discover(run: BrokerRun) -> None:
    """Read the advertised versions, and test how the broker negotiates them.

    Raises RunOverError if it stops to respond, or speaks TLS, and NoBrokerError without a frame of Kafka.
    """
    refused = run.ask_alone(API_VERSIONS, _NOT_THERE)
    if refused.detail == TLS_ALERT:
        raise RunOverError(
            "the broker responds with TLS: --command-config requires security.protocol=SSL or SASL_SSL"
        )
    if refused.outcome in _NO_FRAME:  # also of a broker that closes the connection at an unknown version
        probe = run.ask_alone(API_VERSIONS, 0)
        if probe.outcome in _NO_FRAME:
            raise NoBrokerError(
                f"{run.address}: ApiVersions v0 has {probe.text}; is it a Kafka broker, and the right "
                "security.protocol?"
            )
    if refused.is_answered:
        is_v0 = refused.body_version == 0
        run.observe(
            "CNF005", refused, passed=is_v0 and refused.body.error_code == _UNSUPPORTED_VERSION,
            expected="version 0 with error code 35", seen=f"error code {refused.body.error_code}",
        )  # fmt: skip
        named = {row.api_key for row in refused.body.api_keys}
        run.observe(
            "CNF006", refused, passed=API_VERSIONS in named, expected="the versions of ApiVersions",
            seen=plural(len(named), "API key"),
        )  # fmt: skip
    else:
        is_other = refused.outcome is Outcome.UNDECODABLE
        run.observe(
            "CNF005", refused, passed=False, expected="version 0 with error code 35",
            seen="a response that is not version 0 with error code 35" if is_other else refused.text,
        )  # fmt: skip
    answer = run.ask(API_VERSIONS, 0, {})
    if not answer.is_answered:
        run.observe("CNF001", answer, passed=False, expected="a response", seen=answer.text)
        return
    known = protocol_messages.api_keys()
    for row in answer.body.api_keys:
        api = protocol_messages.api(row.api_key) if row.api_key in known else None
        if api is None:
            run.unknown.append(row.api_key)
            continue
        low, high = max(row.min_version, api.versions.first), min(row.max_version, api.versions.last)
        if low <= high:
            run.advertised[row.api_key] = (low, high)
    _refuse_login(run)
    _compare_versions(run, answer)


def _refuse_login(run: BrokerRun) -> None:
    """Raise RunOverError if the listener wants a login, and the user named no mechanism.

    Such a listener closes the connection at Metadata, and has no mechanism of this name.
    """
    if run.logs_in or not run.has("SaslHandshake", "Metadata"):
        return
    if run.ask_alone(METADATA, run.advertised[METADATA][0]).outcome is not Outcome.CLOSED:
        return
    version = min(run.highest("SaslHandshake"), 1)
    shaken = run.ask_alone(key_of("SaslHandshake"), version, {"mechanism": "kdissect-conform"})
    if shaken.is_answered and shaken.body.error_code == _UNSUPPORTED_MECHANISM:
        offered = ", ".join(map(str, shaken.body.mechanisms)) or "none"
        raise RunOverError(
            f"the broker wants a login with SASL (mechanisms: {offered}): --command-config requires "
            "security.protocol=SASL_PLAINTEXT or SASL_SSL, sasl.mechanism and sasl.jaas.config"
        )


def _compare_versions(run: BrokerRun, answer: Response) -> None:
    wanted = _ranges(answer)
    for version in run.versions("ApiVersions"):
        other = run.ask(API_VERSIONS, version, REQUESTS["ApiVersions"].body(run.subject, version))
        if other.is_answered:
            run.observe(
                "CNF007", other, passed=_ranges(other) == wanted, expected="the same versions as in v0",
                seen=plural(len(_ranges(other) ^ wanted), "other entry", "other entries"),
            )  # fmt: skip


def _ranges(response: Response) -> set[tuple[int, int, int]]:
    return {(row.api_key, row.min_version, row.max_version) for row in response.body.api_keys}


def test_versions(run: BrokerRun) -> None:
    """Send the requests of each version. Raises RunOverError."""
    for key, (low, high) in sorted(run.advertised.items()):
        if run.wanted is not None and key not in run.wanted:
            continue
        for version in range(low, high + 1):
            why = _why_not(run, key, version)
            if why:
                run.why_not[key, version] = why
            else:
                _test_version(run, key, version)
        _take_back(run, key)


def _take_back(run: BrokerRun, key: int) -> None:
    """Undo the effect of the requests of an API."""
    name = REQUESTS[protocol_messages.api_name(key) or ""].taken_back_by
    if name and run.may_change and run.has(name):
        version = run.highest(name)
        _answers(run, "CNF001", run.ask(key_of(name), version, REQUESTS[name].body(run.subject, version)))


def _why_not(run: BrokerRun, key: int, version: int) -> str:
    """Return the reason why no request of a version is sent, or an empty text."""
    name = protocol_messages.api_name(key) or ""
    kind = REQUESTS[name]
    if run.release_versions is not None:
        taken = run.release_versions.get(key)
        if taken is None or not taken[0] <= version <= taken[1]:
            return "the release of --target does not have it"
    if key == PRODUCE and version in run.refused_produce:
        return "Apache Kafka 4 advertises it for old clients, and refuses it (KAFKA-18659)"
    if kind.effect is Effect.CLUSTER and not run.may_change and not kind.is_harmless_if_empty:
        return "it may change the cluster: --destructive sends it"
    if kind.taken_back_by and not run.has(kind.taken_back_by):
        return f"without {kind.taken_back_by} its effect would stay"
    if run.is_given_up(key):
        return "other requests of this API have no response"
    return ""


def _test_version(run: BrokerRun, key: int, version: int) -> None:
    message = protocol_messages.request_message(key)
    kind = REQUESTS[protocol_messages.api_name(key) or ""]
    assert message is not None
    typical = kind.body(run.subject, version)
    may_be_empty = kind.never_empty_from is None or version < kind.never_empty_from
    empty = emptied(message, typical) if may_be_empty else typical
    is_typical = kind.effect is not Effect.CLUSTER or run.may_change
    if not is_typical:
        typical = empty
    if not _answers(run, "CNF001", run.ask(key, version, typical)):
        return
    if is_typical and empty != typical:
        _answers(run, "CNF004", run.ask(key, version, empty))
    if is_flexible(key, version) and not run.is_given_up(key):
        tagged: Fields = empty | {"_tags": UNKNOWN_TAGS}
        _answers(run, "CNF002", run.ask(key, version, tagged, tags=UNKNOWN_TAGS))
    if kind.effect is Effect.NONE:
        for field, body in with_nulls(message, version, typical):
            if run.is_given_up(key):
                return
            _answers(run, "CNF003", run.ask(key, version, body), f" with null in {field}")
        if version == run.advertised[key][0]:
            _answers(run, "CNF003", run.ask(key, version, typical, client_id=None), " with a null client id")


def _answers(run: BrokerRun, code: str, response: Response, more: str = "") -> bool:
    passed = response.is_answered
    return run.observe(code, response, passed=passed, expected=f"a response{more}", seen=response.text)


def wanted_keys(names: list[str]) -> set[int]:
    """Return the keys of APIs by name. Raises KeyError for a name that Kafka never had."""
    return {key_of(name) for name in names}
