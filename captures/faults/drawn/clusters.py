"""The clusters that drawn runs happen in."""

from captures.faults.fault import TRIO
from captures.faults.room import SECURE
from captures.record.spec import SASL, SPARE, TLS12, TLS13, TLS13_PLAIN, USERS, Listener, Spec

_PROPERTIES = {
    "auto.create.topics.enable": "false",
    "quota.window.num": "2",
    "sasl.enabled.mechanisms": "PLAIN",
}
_BEYOND = Listener("BEYOND", "PLAINTEXT", TLS12, told_role=TLS13)
"""Its clients receive the address of a proxy, if there is one."""
SHORT, SESSION_MS = TLS13_PLAIN, 5000
"""The role of a listener whose clients have to log in again after so long (KIP-368)."""
LOST = SPARE
"""The role of a listener whose clients receive an address where nobody listens."""
_NOBODY = 5  # so many nodes further on: no cluster has them
_LISTENERS = (
    _BEYOND,
    Listener("SECURE", "SSL", SECURE),
    Listener("SHORT", "SASL_PLAINTEXT", SHORT),
    Listener("LOST", "PLAINTEXT", LOST, told_role=10 * _NOBODY + SASL),
)
_LOGINS = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
_LATER = _PROPERTIES | {
    "controller.quota.window.num": "2",
    "listener.name.short.connections.max.reauth.ms": str(SESSION_MS),
    "listener.name.short.plain.sasl.jaas.config": (
        f"org.apache.kafka.common.security.plain.PlainLoginModule required {_LOGINS};"
    ),
}
FIRST = "first"
ONE, THREE, OLDER = "one node", "three nodes", "an older broker"
CLUSTERS = {
    FIRST: Spec("4.4.0", properties=_PROPERTIES, listeners=(_BEYOND,)),
    ONE: Spec("4.4.0", properties=_LATER, listeners=_LISTENERS, key_log=True),
    THREE: Spec(
        "4.4.0",
        nodes=3,
        racks=True,
        properties=dict(TRIO.properties) | _LATER,
        listeners=_LISTENERS,
        key_log=True,
    ),
    OLDER: Spec(
        "3.9.2",
        properties=_LATER | {"listener.name.secure.ssl.enabled.protocols": "TLSv1.2"},
        listeners=_LISTENERS,
        key_log=True,
    ),
}
