"""How to connect to a cluster: the properties file of a Kafka client, as settings of kafka-python.

Reads the names of the Java client (producerconfigs, adminclientconfigs) and those of librdkafka
(CONFIGURATION.md). Properties that do not matter for a connection are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

Settings = dict[str, str | int | bool]
"""Settings of `kafka.admin.KafkaAdminClient` by name. They contain credentials."""

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# An option of a login module. Names inside of quotes are no options.
_OPTION = re.compile(r'([\w.-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))')
_ESCAPED = re.compile(r"\\(.)")
# Certificates and keys as values of the file itself: kafka-python takes them from files alone.
_INLINE = ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key")
_STORES = {
    "ssl.truststore.location": ("ssl.truststore.type", ("ssl_cafile",)),
    "ssl.keystore.location": ("ssl.keystore.type", ("ssl_certfile", "ssl_keyfile")),
}
_FILES = {
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
}


class PropertiesError(ValueError):
    """A properties file with which no connection can be made. The message contains no value."""


def settings_of(path: str) -> Settings:
    """Return the settings in a properties file. Raises PropertiesError, and OSError if it cannot be read."""
    import javaproperties  # an extra

    content = Path(path).read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # as java.util.Properties#load reads bytes
    try:
        properties = javaproperties.loads(text)
    except ValueError as error:
        raise PropertiesError(f"{path}: no properties file: {error}") from None
    try:
        return settings_from(properties)
    except PropertiesError as error:
        raise PropertiesError(f"{path}: {error}") from None


def settings_from(properties: Mapping[str, str]) -> Settings:
    """Return the settings in properties. Raises PropertiesError."""
    properties = {name: value.strip() for name, value in properties.items()}
    protocol = properties.get("security.protocol", _PROTOCOLS[0]).upper()
    if protocol not in _PROTOCOLS:
        raise PropertiesError(f"security.protocol is none of {', '.join(_PROTOCOLS)}")
    settings: Settings = {"security_protocol": protocol}
    if protocol.startswith("SASL"):
        settings |= _login(properties)
    if protocol.endswith("SSL"):
        settings |= _tls(properties)
    return settings


def _login(properties: Mapping[str, str]) -> Settings:
    mechanism = properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "GSSAPI"
    if mechanism not in MECHANISMS:
        raise PropertiesError(f"sasl.mechanism {mechanism} is not supported, only {', '.join(MECHANISMS)}")
    found = {
        name: _ESCAPED.sub(r"\1", quoted) or bare
        for name, quoted, bare in _OPTION.findall(properties.get("sasl.jaas.config", ""))
    }
    username = properties.get("sasl.username") or found.get("username")
    password = properties.get("sasl.password") or found.get("password")
    if not username or not password:
        raise PropertiesError("no username and password in sasl.jaas.config, sasl.username, sasl.password")
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": username,
        "sasl_plain_password": password,
    }


def _tls(properties: Mapping[str, str]) -> Settings:
    inline = next((name for name in _INLINE if properties.get(name)), None)
    if inline:
        raise PropertiesError(f"{inline} is not supported; name a PEM file as *.location")
    settings: Settings = {}
    for name, (kind, into) in _STORES.items():
        location = properties.get(name)
        if location:
            if properties.get(kind, "JKS").upper() != "PEM":
                raise PropertiesError(f"{name} is no PEM file ({kind}=PEM); convert it with keytool, openssl")
            settings |= dict.fromkeys(into, location)
    settings |= {into: properties[name] for name, into in _FILES.items() if properties.get(name)}
    # An empty value, or none in librdkafka, switches the check of the host name off.
    check = properties.get("ssl.endpoint.identification.algorithm", "https").lower()
    settings["ssl_check_hostname"] = check not in ("", "none")
    return settings
