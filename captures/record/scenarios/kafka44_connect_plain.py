"""Apache Kafka 4.4.0, one KRaft node: connections that come to nothing where no TLS is. Clients that speak
TLS to the plaintext listener, an HTTP request and a probe on it, a host with no connection left to it, ports
where nobody listens or nobody answers, SASL mechanisms that are not offered, wrong passwords, a client
without SASL on the SASL listener, and three listeners that advertise addresses where the broker is not. Java,
kafka-python, librdkafka and aiokafka, openssl s_client, and Python's own sockets.
"""

import http.client
import socket
import time

from captures.record.administer import login
from captures.record.certificates import NAMED, trust
from captures.record.lab import Lab
from captures.record.scenarios._attempts import java_tries, openssl_tries, pythons_try
from captures.record.spec import HOST, PLAIN, USERS, Listener, Spec

_DEAD, _FULL, _LOST, _NOWHERE, _SILENT, _UNKNOWN = 6, 7, 8, 9, 12, 13  # roles of ports
_BANNED = "127.0.0.9"
NAME = "kafka44_connect_plain"
BROKER = Spec(
    "4.4.0",
    listeners=(
        Listener("LOST", "PLAINTEXT", _LOST, told_role=_DEAD),
        Listener("NOWHERE", "PLAINTEXT", _NOWHERE, "kafka-1.nowhere.invalid", _UNKNOWN),
        Listener("SILENT", "PLAINTEXT", _SILENT, told_role=_FULL),
    ),
    properties={
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "max.connections.per.ip.overrides": f"{_BANNED}:0",
    },
)
_WRONG = "wrong-pw-0000"


def run(lab: Lab) -> None:
    """One misfortune after the other; a healthy client before them."""
    pythons_try(lab, "fine", lab.cluster.bootstrap)
    _foreign(lab)
    _closed(lab)
    _sasl(lab)
    _advertised(lab)


def _address(lab: Lab, role: int) -> str:
    return f"{HOST}:{lab.cluster.nodes[0].port(role)}"


def _foreign(lab: Lab) -> None:
    """Send bytes that are no Kafka to the plaintext listener."""
    authority = str(trust(*NAMED))
    java_tries(
        lab, "tls", lab.cluster.bootstrap,
        {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": authority},
    )  # fmt: skip
    pythons_try(lab, "tls", lab.cluster.bootstrap, trust=authority)
    openssl_tries(lab, "tls-o", lab.cluster.bootstrap, "-servername", "kafka-1.example")
    asked = http.client.HTTPConnection(lab.cluster.bootstrap, timeout=3)
    try:
        asked.request("GET", "/metrics")
        said = str(asked.getresponse().status)
    except (OSError, http.client.HTTPException) as error:
        said = type(error).__name__
    lab.truth.event({"event": "call", "call": "GET /metrics", "outcome": said}, "http")


def _closed(lab: Lab) -> None:
    """Make connections that end before a byte, or that fail."""
    port = lab.cluster.nodes[0].port(PLAIN)
    socket.create_connection((HOST, port), 3).close()
    lab.truth.event({"event": "call", "call": "probe", "outcome": "connected and closed"}, "probe")
    with socket.create_connection((HOST, port), 3, (_BANNED, 0)) as banned:
        said = "closed by the broker" if not banned.recv(1) else "bytes"
    lab.truth.event({"event": "call", "call": f"connect from {_BANNED}", "outcome": said}, "banned")
    pythons_try(lab, "dead", _address(lab, _DEAD), "k")


def _sasl(lab: Lab) -> None:
    lab.truth.secret(_WRONG)
    bob = {"user": "bob"}
    lab.truth.secret(USERS["bob"])
    java_tries(lab, "mechanism", lab.cluster.sasl, login("SCRAM-SHA-256", "bob"))
    pythons_try(lab, "mechanism", lab.cluster.sasl, sasl="SCRAM-SHA-256", password=USERS["bob"], **bob)
    wrong = {key: value.replace(USERS["bob"], _WRONG) for key, value in login("SCRAM-SHA-512", "bob").items()}
    java_tries(lab, "password", lab.cluster.sasl, wrong)
    pythons_try(lab, "password", lab.cluster.sasl, sasl="PLAIN", password=_WRONG, **bob)
    java_tries(lab, "without", lab.cluster.sasl)
    pythons_try(lab, "without", lab.cluster.sasl, "kr")


def _advertised(lab: Lab) -> None:
    java_tries(lab, "lost", _address(lab, _LOST))
    pythons_try(lab, "lost", _address(lab, _LOST), "kr")
    java_tries(lab, "nowhere", _address(lab, _NOWHERE))
    pythons_try(lab, "nowhere", _address(lab, _NOWHERE), "k")
    port = lab.cluster.nodes[0].port(_FULL)
    full = socket.create_server(
        (HOST, port), backlog=0
    )  # of which the kernel takes one connection, and no SYN more
    waiting = [socket.create_connection((HOST, port), 3)]
    java_tries(lab, "silent", _address(lab, _SILENT), {"max.block.ms": "5000"})
    pythons_try(lab, "silent", _address(lab, _SILENT), "k")
    time.sleep(1)
    lab.truth.note(f"behind port {port} stands a full queue: its SYNs get no answer")
    for each in (*waiting, full):
        each.close()
