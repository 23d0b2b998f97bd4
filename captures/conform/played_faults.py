"""Faults of replays, played by a broker to `kdissect conform broker`: is each of them found?

A proxy before Apache Kafka changes each response that the fault is about. The suite runs with the APIs of
the fault only, once with each change and once without. A fault is found if the run with it has a finding
that the run without it does not have.
"""

import json
import subprocess
import sys
from collections.abc import Collection
from typing import Any

from captures.record import java
from captures.record.broker import Cluster
from captures.record.spec import Listener, Spec
from captures.replay.faults_of_brokers import FAULTS, BrokerFault
from captures.replay.proxy import Change, Proxy
from kdissect.model.errors import DecodeError

_BEHIND, _PROXY = 6, 7  # roles of ports: a listener behind the proxy, and where the proxy listens
_ALWAYS = 1 << 30
_SPEC = Spec("4.4.0", listeners=(Listener("BEHIND", "PLAINTEXT", _BEHIND, told_role=_PROXY),))
Row = dict[str, Any]


class _FaultyBroker(Proxy):
    """A proxy that leaves a response as it is if the fault cannot be played in its version."""

    def changed(self, api_key: int, version: int, asked: bytes, frame: bytes) -> bytes | None:
        try:
            return super().changed(api_key, version, asked, frame)
        except (DecodeError, AttributeError, IndexError, KeyError, TypeError, ValueError):
            return None


def play_all(base: int, rules: Collection[str]) -> list[Row]:
    """Play the faults of some rules, of all without a name.

    Returns a row for each: its rule, what it says, how often it was played, and the codes that found it.
    """
    cluster = Cluster(_SPEC, base, java.extensions())
    try:
        cluster.start()
        node = cluster.nodes[0]
        proxy = _FaultyBroker(node.port(_PROXY), node.port(_BEHIND))
        address = f"127.0.0.1:{node.port(_PROXY)}"
        healthy: dict[tuple[str, ...], set[str]] = {}
        rows = []
        for fault in FAULTS:
            if rules and fault.code not in rules:
                continue
            if fault.apis not in healthy:
                healthy[fault.apis] = _found(proxy, address, fault, None)
            codes = _found(proxy, address, fault, fault.change) - healthy[fault.apis]
            rows.append(
                {"rule": fault.code, "says": fault.says, "played": proxy.played, "found": sorted(codes)}
            )
            print(json.dumps(rows[-1]), flush=True)
        proxy.close()
    finally:
        cluster.close()
    return rows


def _found(proxy: Proxy, address: str, fault: BrokerFault, change: Change | None) -> set[str]:
    """Return the codes of errors and warnings of a run."""
    proxy.play(fault.apis, change, _ALWAYS)
    only = [word for api in fault.apis for word in ("--api", api)]
    command = ["conform", "broker", address, "--destructive", "--timeout", "3s", "--format", "json", *only]
    done = subprocess.run([sys.executable, "-m", "kdissect", *command], capture_output=True, check=False)
    report = json.loads(done.stdout)
    return {row["code"] for row in report["check"]["findings"] if row["severity"] in ("error", "warning")}
