"""Apache Kafka 4.4.0, one KRaft node with a plaintext and a TLS 1.3 listener that take no PROXY header.
Clients come through HAProxy: with send-proxy and send-proxy-v2, to a second HAProxy that takes the header
off (captured between the two), and straight to the broker, which refuses it. Health checks with headers of
both versions come besides. Java client 4.4.0, librdkafka and aiokafka, whose key log stands beside the
capture.
"""

import time

from captures.record.certificates import NAMED, trust
from captures.record.haproxy import HaProxy, Leg
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.pythons import aiokafka, librdkafka
from captures.record.scenarios._attempts import java_tries
from captures.record.spec import HOST, PLAIN, Listener, Spec

NAME = "kafka44_haproxy"
_TLS = 6  # role of the port of a listener that is captured
# Roles of ports that are not captured: of listeners, and of what clients connect to.
_LISTENERS = {"PLAIN1": (10, 20), "PLAIN2": (11, 21), "TLS1": (14, 24), "TLS2": (15, 25)}
_BETWEEN = {"PLAIN1": 26, "PLAIN2": 27, "TLS1": 28, "TLS2": 29}
_REFUSED = {"plain1": (30, PLAIN), "plain2": (31, PLAIN), "tls1": (34, _TLS), "tls2": (35, _TLS)}
BROKER = Spec(
    "4.4.0",
    listeners=(
        *(
            Listener(name, "SSL" if name.startswith("TLS") else "PLAINTEXT", own, told_role=front)
            for name, (own, front) in _LISTENERS.items()
        ),
        Listener("TLSBARE", "SSL", _TLS),
    ),
    properties={"ssl.enabled.protocols": "TLSv1.3", "ssl.client.auth": "none"},
)


def run(lab: Lab) -> None:
    """Make the connections that are accepted, then those that are refused."""
    port = lab.cluster.nodes[0].port
    legs = []
    for name, (own, front) in _LISTENERS.items():
        sends = f"send-proxy{'-v2' if name.endswith('2') else ''}"
        if name.startswith("PLAIN"):
            sends += " check check-send-proxy inter 3s"
        legs.append(Leg(name.lower(), port(front), port(_BETWEEN[name]), sends))
        legs.append(Leg(f"{name.lower()}-off", port(_BETWEEN[name]), port(own), accepts=True))
    for name, (front, role) in _REFUSED.items():
        sends = f"send-proxy{'-v2' if name.endswith('2') else ''}"
        legs.append(Leg(f"refused-{name}", port(front), port(role), sends))
    keys = lab.output / f"{NAME}.keys"
    keys.unlink(missing_ok=True)
    proxy = HaProxy(lab, *legs)
    try:
        _taken(lab, {name: f"{HOST}:{port(front)}" for name, (_, front) in _LISTENERS.items()}, str(keys))
        for name, (front, _) in _REFUSED.items():
            java_tries(lab, f"refused-{name}", f"{HOST}:{port(front)}", _tls(name))
        time.sleep(1)
    finally:
        proxy.stop()


def _tls(name: str) -> dict[str, str]:
    if not name.lower().startswith("tls"):
        return {}
    return {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trust(*NAMED)),
        "ssl.endpoint.identification.algorithm": "",
    }


def _taken(lab: Lab, fronts: dict[str, str], keys: str) -> None:
    client = java("4.4.0")
    for name, front in fronts.items():
        lab.run_driver(
            client, "Produce", client_id=f"j-{name.lower()}", bootstrap=front, topic="orders", count=3,
            properties=_tls(name),
        )  # fmt: skip
    for name in ("PLAIN1", "PLAIN2"):
        lab.run_driver(
            librdkafka(), "attempt", client_id=f"r-{name.lower()}", bootstrap=fronts[name], topic="orders"
        )
    logs_keys = aiokafka()
    logs_keys = logs_keys._replace(command=["env", f"SSLKEYLOGFILE={keys}", *logs_keys.command])
    for name in ("TLS1", "TLS2"):
        lab.run_driver(
            logs_keys, "attempt", client_id=f"a-{name.lower()}", bootstrap=fronts[name], topic="orders",
            trust=str(trust(*NAMED)), names="no",
        )  # fmt: skip
