"""Values that must never appear unmasked: the only module that decides, by the schema.

`@secret` marks values that always are secret. `@configValue` marks the value of a config: it is secret unless
the config has a name that Apache Kafka's own definitions call no password (`configs.table`), as brokers do
not return the values of names they do not know. A struct may make more values secret (`is_sensitive`,
`config_type`), never fewer.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from kdissect.schema import protocol_messages
from kdissect.schema.all_fields import all_fields
from kdissect.schema.fact_tables import read_rows
from kdissect.schema.types import Array, Field, Message, Struct

MASK = "***"  # replaces a secret everywhere
TABLE = "configs.table"

_PASSWORD_TYPE = 9  # enum configType (org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigType)
# A listener's own value of a broker's config, as org.apache.kafka.server.config.DynamicBrokerConfig reads its
# name. Some have the SASL mechanism before them too.
_OF_LISTENER = re.compile(r"listener\.name\.[^.]+\.(.+)", re.DOTALL)
PUBLIC_OF_MECHANISM = (
    "connections.max.reauth.ms",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
)
_OF_MECHANISM = re.compile(rf"[^.]+\.({'|'.join(map(re.escape, PUBLIC_OF_MECHANISM))})")
# What loggers of a broker are set to, which are configs too (resource type BROKER_LOGGER) and have any name:
# org.apache.kafka.common.config.LogLevelConfig, and OFF, which brokers answer.
LOG_LEVELS = ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
_SMALL = -(1 << 15), (1 << 16) - 1  # what two bytes can say
_MOST = 1 << 56  # as milliseconds two million years
_LIMITS = -(1 << 63), (1 << 63) - 1  # what Java calls no limit
_SASL_HANDSHAKE = 17  # has no secrets, and tokens follow it


def is_public_config(name: object) -> bool:
    """Return whether a config of this name is one that Apache Kafka knows and does not call a password."""
    if not isinstance(name, str):
        return False  # damaged: the owner of the value is unknown
    own = _OF_LISTENER.fullmatch(name)
    if own is not None:
        name = own[1]
        of_mechanism = _OF_MECHANISM.fullmatch(name)
        name = name if of_mechanism is None else of_mechanism[1]
    return name in public_configs()


@cache
def public_configs() -> frozenset[str]:
    """Return the names of `configs.table`."""
    return frozenset(words[0] for _, words in read_rows(TABLE))


def is_sensitive(values: Mapping[str, Any]) -> bool:
    """Return whether the values of one config's struct must be masked."""
    if values.get("is_sensitive") or values.get("config_type") == _PASSWORD_TYPE:
        return True
    return not is_public_config(values.get("name")) and values.get("value") not in LOG_LEVELS


def has_config_values(fields: Iterable[Field]) -> bool:
    """Return whether a struct of these fields is a config: has a value that may be secret."""
    return any(field.is_config_value for field in fields)


def conceal(values: dict[str, Any], fields: Iterable[Field], outer: bool = False) -> None:
    """Mask in the dict of a config's struct what is secret, also in the structs below it.

    `outer` says that the config around this struct is secret: its synonyms are then too.
    """
    if not outer and not is_sensitive(values):
        return
    for field in fields:
        item = values.get(field.name)
        if item is None:
            continue
        if field.is_config_value:
            values[field.name] = MASK
        elif isinstance(field.type, Array) and isinstance(field.type.element, Struct):
            for element in item:
                conceal(element, field.type.element.fields, outer=True)


def is_secret(field: Field, sensitive: bool) -> bool:
    """Return whether the value of a field is secret. `sensitive` is the result of `is_sensitive` for its
    struct.
    """
    return field.is_secret or (field.is_config_value and sensitive)


def is_beyond_reason(value: object) -> bool:
    """Return whether a number has more digits than the time, offset or duration of any field."""
    return isinstance(value, int) and value not in _LIMITS and not -_MOST < value < _MOST


def is_piece(value: object) -> bool:
    """Return whether a value in a wrong place may be a piece of a secret: two bytes reveal no secret."""
    if isinstance(value, int):
        return not _SMALL[0] <= value <= _SMALL[1]
    return value is not None


@cache
def may_hold_secrets(message: Message) -> bool:
    """Return whether any field of a message, in any version, may be secret: then its bytes must
    stay hidden.
    """
    return any(field.is_secret or field.is_config_value for field in all_fields(message))


@cache
def is_secretive(api_key: int | None) -> bool:
    """Return whether frames of an API may hold secrets: its messages have fields for them, or it is
    unknown.
    """
    api = None if api_key is None else protocol_messages.api(api_key)
    if api is None or api_key == _SASL_HANDSHAKE:
        return True
    return may_hold_secrets(api.request) or may_hold_secrets(api.response)
