"""A quota of a client id of the suite, and a producer that exceeds it."""

from __future__ import annotations

from kdissect.conform.broker_connection import Response
from kdissect.conform.broker_run import PRODUCE, BrokerRun, first
from kdissect.conform.record_batches import batch
from kdissect.conform.request_bodies import Fields
from kdissect.conform.sequences.suite_topic import produced

_BYTES_PER_S = 1_000.0
_VALUE = bytes(20_000)  # twice the quota in the 10 s of which Apache Kafka takes the mean


def client_quotas(run: BrokerRun) -> None:
    """Set a quota, produce more than it allows, and remove it."""
    if not run.may_change:
        run.skipped["client quotas"] = "it sets a quota of a client id of the suite: --destructive plays it"
        return
    client = run.subject.name("throttled")
    made = run.call("AlterClientQuotas", _quota(client, removed=False))
    code = first(made, "entries").error_code
    if code:
        run.skipped["client quotas"] = f"AlterClientQuotas has error code {code}"
        return
    try:
        found = run.until(lambda: _produce(run, client), lambda body: bool(body and body.throttle_time_ms))
    finally:
        run.call("AlterClientQuotas", _quota(client, removed=True))
    if found.is_answered:
        throttle_ms = found.body.throttle_time_ms
        run.observe(
            "CNF065", found, passed=throttle_ms > 0, expected="a throttle_time_ms above 0",
            seen=f"throttle_time_ms {throttle_ms}",
        )  # fmt: skip


def _quota(client: str, *, removed: bool) -> Fields:
    entity = [{"entity_type": "client-id", "entity_name": client}]
    change = {"key": "producer_byte_rate", "value": 0.0 if removed else _BYTES_PER_S, "remove": removed}
    return {"entries": [{"entity": entity, "ops": [change]}], "validate_only": False}


def _produce(run: BrokerRun, client: str) -> Response:
    """Produce on a connection of its own: the broker does not read from one that it throttles (KIP-219)."""
    body = produced(run.subject, batch([(b"k", _VALUE)], run.subject.time_ms))
    connection = run.fresh(run.leader)
    response = connection.ask(PRODUCE, run.highest("Produce"), body, client_id=client)
    connection.close()
    run.note(response)
    return response
