"""The instance id that a broker gives to a client for its metrics (KIP-714)."""

from __future__ import annotations

from kdissect.conform.broker_run import BrokerRun

_SUBSCRIPTIONS = "GetTelemetrySubscriptions"
_NO_ID = bytes(16)


def client_metrics(run: BrokerRun) -> None:
    """Ask for subscriptions without an instance id, and then with the one that the broker gave."""
    for version in run.versions(_SUBSCRIPTIONS):
        given = run.call(_SUBSCRIPTIONS, {"client_instance_id": _NO_ID}, version).body
        if given.error_code:
            run.skipped["client metrics"] = f"{_SUBSCRIPTIONS} has error code {given.error_code}"
            return
        again = run.call(_SUBSCRIPTIONS, {"client_instance_id": given.client_instance_id}, version)
        if not again.body.error_code:  # Apache Kafka refuses a request before the time of the next push
            is_same = again.body.client_instance_id == given.client_instance_id
            run.observe(
                "CNF068", again, passed=is_same, expected="the instance id of the request",
                seen="that id" if is_same else "another instance id",
            )  # fmt: skip
