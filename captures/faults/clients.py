"""One way to ask for a client that writes or reads, in whatever library: what each calls the same setting."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from captures.record import golang, pythons
from captures.record import java as javas
from captures.record.administer import login
from captures.record.drivers import Driver

JAVA, LIBRDKAFKA, KAFKA_PYTHON, FRANZ = "java", "librdkafka", "kafka-python", "franz-go"
_OF_VARIANT = {1: JAVA, 2: LIBRDKAFKA, 3: KAFKA_PYTHON}
_DRIVERS: dict[str, Callable[..., Driver]] = {
    JAVA: javas.java,
    LIBRDKAFKA: pythons.librdkafka,
    KAFKA_PYTHON: pythons.kafka_python,
    FRANZ: golang.franz,
}
_LIBRDKAFKA = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "max.poll.records": None,
    "max.block.ms": None,
}
_SOCKET_TIMEOUT = "socket.timeout.ms"  # what librdkafka has for request.timeout.ms of all but Produce


class Client(NamedTuple):
    """A driver with the words of its library."""

    library: str
    driver: Driver

    @property
    def is_java(self) -> bool:
        """Whether its actions are those of the Java driver."""
        return self.library == JAVA

    def action(self, name: str) -> str:
        """Return this driver's name of the action `writes` or `reads`."""
        return {"writes": "Produce", "reads": "Consume"}[name] if self.is_java else name

    def settings(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        """Translate settings from Kafka's names to those of the library. Leave out what it has no name for.

        The driver of franz-go has settings of its own.
        """
        if self.library == FRANZ:
            return {}
        found = {}
        for name, value in wanted.items():
            word = self._word(name)
            if word:
                none = self.library == KAFKA_PYTHON and value == "none"
                found[word] = "null" if none else _text(value)
        if self.library == LIBRDKAFKA and "request.timeout.ms" in found:
            found.setdefault(_SOCKET_TIMEOUT, found["request.timeout.ms"])
            if not any(name in found for name in ("acks", "delivery.timeout.ms", "transactional.id")):
                del found["request.timeout.ms"]
        return found

    def _word(self, name: str) -> str | None:
        if self.library == LIBRDKAFKA:
            return _LIBRDKAFKA.get(name, name)
        if self.library == KAFKA_PYTHON:
            return name.replace(".", "_")
        return name


def family(library: str) -> str:
    """Return the library without its release: `java` of `java 2.8.2`."""
    return library.partition(" ")[0]


def client(library: str) -> Client:
    """Return the newest client of a library, or a release of it: `java 2.8.2`."""
    name, *release = library.split(" ")
    return Client(name, _DRIVERS[name](*release))


def library_of(variant: int) -> str:
    """Return the library of a variant, unless the fault names another one."""
    return _OF_VARIANT[variant]


def login_with(library: str, mechanism: str, user: str, password: str) -> dict[str, Any]:
    """Return settings to authenticate with a password, right or wrong."""
    if library == JAVA:
        how = login(mechanism, user)
        before, _, rest = how["sasl.jaas.config"].partition('password="')
        how["sasl.jaas.config"] = f'{before}password="{password}"{rest.partition(chr(34))[2]}'
        return how
    if library == LIBRDKAFKA:
        names = ("sasl.username", "sasl.password")
    else:
        names = ("sasl.plain.username", "sasl.plain.password")
    how = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism}
    return how | dict(zip(names, (user, password), strict=True))


def trusting(library: str, certificate: str, *, any_host: bool = False) -> dict[str, Any]:
    """Return settings to use TLS and trust a certificate, or the system's certificates for an empty path.

    With `any_host` the certificate may name another host.
    """
    how = _TRUSTING[library]
    found: dict[str, Any] = {"security.protocol": "SSL"}
    if certificate:
        found |= how.given | {how.file: certificate}
    return found | (how.any_host if any_host else {})


class _Trusting(NamedTuple):
    """What a library calls the file with the certificate, and what else to set."""

    file: str
    given: dict[str, Any]
    any_host: dict[str, Any]


_TRUSTING = {
    JAVA: _Trusting(
        "ssl.truststore.location",
        {"ssl.truststore.type": "PEM"},
        {"ssl.endpoint.identification.algorithm": ""},
    ),
    LIBRDKAFKA: _Trusting("ssl.ca.location", {}, {"ssl.endpoint.identification.algorithm": "none"}),
    KAFKA_PYTHON: _Trusting("ssl.cafile", {}, {"ssl.check.hostname": False}),
}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
