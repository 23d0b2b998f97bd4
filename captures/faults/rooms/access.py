"""Faults of access: logins, TLS, permissions, addresses."""

import time

from captures.faults.clients import LIBRDKAFKA, login_with, trusting
from captures.faults.fault import ORDINARY, fault
from captures.faults.room import Room
from captures.record.certificates import NAMED, trust
from captures.record.drivers import Running
from captures.record.java import java
from captures.record.spec import SASL, TLS12, TLS13, USERS, Listener, Spec

_FILES = {"files": "2:1"}
_NOBODY = 6  # a node that no cluster here has: nobody listens on its ports
_LISTENING = Spec(
    "4.4.0",
    properties=ORDINARY.properties,
    listeners=(
        Listener("SECURE", "SSL", TLS12),
        Listener("LOST", "PLAINTEXT", TLS13, told_role=10 * (_NOBODY - 1) + SASL),
    ),
)
_PATIENCE = {"max.block.ms": 15000, "reconnect.backoff.ms": 400, "reconnect.backoff.max.ms": 1500}


def _goes_on(room: Room, bootstrap: str, settings: dict[str, object], client_id: str = "vault") -> Running:
    """Run a producer that tries for as long as the capture lasts."""
    return room.writes(client_id, "files", _PATIENCE | settings, bootstrap=bootstrap, pace=300, keys=20)


@fault("login-refused", topics=_FILES)
def login_refused(room: Room) -> None:
    """A client logs in with a wrong password."""
    room.crowd()
    mechanism, user = room.among(("PLAIN", "alice"), ("SCRAM-SHA-256", "bob"), ("PLAIN", "bob"))
    if mechanism != "PLAIN":
        room.lab.run_driver(java(), "ScramUser", client_id="ops", users=f"{user}:{USERS[user]}")
    room.injects(f"a wrong password of {user}, by {mechanism}", client_id="vault", user=user)
    how = login_with(room.library, mechanism, user, "wrong-pw-0001")
    for _ in range(room.among(3, 1, 3)):
        tries = _goes_on(room, room.lab.cluster.sasl, how | {"max.block.ms": 3000})
        room.lasts(room.among(4, 10, 3))
        tries.kill()


@fault("mechanism-refused", topics=_FILES)
def mechanism_refused(room: Room) -> None:
    """A client wants a SASL mechanism that the broker does not enable."""
    room.crowd()
    room.injects("SCRAM-SHA-512, the broker has PLAIN and SCRAM-SHA-256", client_id="vault")
    how = login_with(room.library, "SCRAM-SHA-512", "alice", USERS["alice"])
    for _ in range(room.among(3, 1, 3)):
        tries = _goes_on(room, room.lab.cluster.sasl, how | {"max.block.ms": 3000})
        room.lasts(room.among(4, 10, 3))
        tries.kill()


@fault("tls-to-plaintext", broker=_LISTENING, topics=_FILES)
def tls_to_plaintext(room: Room) -> None:
    """A client speaks TLS to a listener that does not."""
    room.crowd()
    room.injects(
        "security.protocol=SSL to the plaintext listener", client="vault", listener=room.lab.cluster.bootstrap
    )
    _goes_on(room, room.lab.cluster.bootstrap, trusting(room.library, ""))
    room.lasts(room.among(11, 10, 10))


@fault("plaintext-to-tls", broker=_LISTENING, topics=_FILES)
def plaintext_to_tls(room: Room) -> None:
    """A client without TLS comes to a listener that wants it."""
    room.crowd()
    secure = room.lab.cluster.listener(TLS12)
    room.injects("no TLS to the listener with TLS", client_id="vault", listener=secure)
    _goes_on(room, secure, {})
    room.lasts(room.among(11, 10, 10))


@fault("tls-handshake-failed", broker=_LISTENING, topics=_FILES)
def tls_handshake_failed(room: Room) -> None:
    """The broker's certificate is not one that the client trusts, or names another host."""
    room.crowd()
    secure = room.lab.cluster.listener(TLS12)
    trusts = room.among(str(trust(*NAMED)), "", str(trust(*NAMED)))
    how = "the certificate names another host" if trusts else "the client does not trust the certificate"
    room.injects(how, client="vault", listener=secure)
    for _ in range(room.among(3, 1, 1)):
        tries = _goes_on(room, secure, trusting(room.library, trusts) | {"max.block.ms": 4000})
        room.lasts(room.among(4, 10, 10))
        tries.kill()


def _denied(room: Room, kind: str, name: str) -> dict[str, object]:
    room.errand("makes", library=LIBRDKAFKA, deny=f"{kind}:{room.name(name)}:bob")
    return login_with(room.library, "PLAIN", "bob", USERS["bob"])


@fault("topic-denied", topics=_FILES)
def topic_denied(room: Room) -> None:
    """A user may not use the topic."""
    room.crowd()
    how = _denied(room, "topic", "files")
    room.injects("bob is denied the topic", client_id="vault", user="bob", topic=room.name("files"))
    if room.variant == 2:
        room.reads("vault", "files", "vaults", how, bootstrap=room.lab.cluster.sasl)
    else:
        _goes_on(room, room.lab.cluster.sasl, how)
    room.lasts(room.among(9, 8, 8))


@fault("write-denied", "topic-denied", topics=_FILES)
def write_denied(room: Room) -> None:
    """A user may read a topic, but not write to it."""
    room.crowd()
    room.errand("makes", library=LIBRDKAFKA, allow=f"topic:{room.name('files')}:alice:READ")
    room.injects("alice may read the topic alone", client_id="vault", user="alice", topic=room.name("files"))
    _goes_on(room, room.lab.cluster.sasl, login_with(room.library, "PLAIN", "alice", USERS["alice"]))
    room.lasts(room.among(9, 8, 8))


@fault("group-denied", topics=_FILES)
def group_denied(room: Room) -> None:
    """A user may read the topic, but not as a member of the group."""
    room.crowd()
    how = _denied(room, "group", "vaults")
    room.injects("bob is denied the group", client_id="vault", user="bob", group=room.name("vaults"))
    end = time.monotonic() + room.among(11, 8, 9)
    while time.monotonic() < end:
        reader = room.reads("vault", "files", "vaults", how, bootstrap=room.lab.cluster.sasl)
        room.lasts(room.among(4, 9, 5))
        reader.kill()


@fault("advertised-address", broker=_LISTENING, topics=_FILES)
def advertised_address(room: Room) -> None:
    """The broker tells clients of a listener an address where nobody listens."""
    room.crowd()
    lost = room.lab.cluster.listener(TLS13)
    room.injects("advertised.listeners names a port where nobody listens", client_id="vault", listener=lost)
    _goes_on(room, lost, {})
    room.lasts(room.among(11, 10, 10))


@fault("connection-refused", broker=_LISTENING, topics=_FILES)
def connection_refused(room: Room) -> None:
    """A client is set up with an address where nobody listens."""
    room.crowd()
    role = room.among(SASL, SASL, SASL)
    nowhere = f"127.0.0.1:{room.lab.cluster.base + 10 * room.among(_NOBODY, 7, 8) + role}"
    room.injects("bootstrap.servers names a port where nobody listens", client="vault", address=nowhere)
    _goes_on(room, nowhere, {})
    room.lasts(room.among(10, 9, 9))
