"""Which values must never be shown unmasked: the one place that decides, from what the schema says.

`@secret` marks values that always are. `@configValue` marks the value of a config, which is secret where the
config is a password: where the struct says so (`is_sensitive`, `config_type`), or by the config's name, which
is all that a request or a metadata record tells.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from kdissect.schema.types import Array, Field, Message, Struct
from kdissect.schema.walk import all_fields

MASK = "***"  # stands for a secret everywhere

_PASSWORD_TYPE = 9  # enum configType (org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigType)
# Ends of the names of configs that Apache Kafka declares as passwords (ConfigDef.Type.PASSWORD in
# SslConfigs, SaslConfigs, DelegationTokenManagerConfigs, PasswordEncoderConfigs ...), and of others' that are
# named in the same way. Names of brokers' configs have a listener before them
# (`listener.name.internal.ssl.key.password`).
_PASSWORD_NAME = (
    r"(?:^|[._-])(?:"
    r"pass(?:word|phrase|wd)|secret|(?:secret|master|private|api|access)[._-]?key|credentials?"
    r"|jaas\.config|user\.info|api[._-]?secret|(?:access|auth|bearer)[._-]?token"
    r"|ssl\.keystore\.key|ssl\.keystore\.certificate\.chain|ssl\.truststore\.certificates"
    r")$"
)


def is_password(config: object) -> bool:
    """Whether a config of this name is a password."""
    return isinstance(config, str) and _password_name().search(config) is not None


@cache
def _password_name() -> re.Pattern[str]:  # compiled when a config is seen: it costs a millisecond
    return re.compile(_PASSWORD_NAME, re.IGNORECASE)


def is_sensitive(values: Mapping[str, Any]) -> bool:
    """Whether the values of one config's struct belong to a password."""
    if values.get("is_sensitive") or values.get("config_type") == _PASSWORD_TYPE:
        return True
    return is_password(values.get("name"))


def has_config_values(fields: Iterable[Field]) -> bool:
    """Whether a struct of these fields is a config: has a value that may be secret."""
    return any(field.is_config_value for field in fields)


def conceal(values: dict[str, Any], fields: Iterable[Field], outer: bool = False) -> None:
    """Mask in the dict of a config's struct what is secret, also in the structs below it.

    `outer` says that the config around this struct is a password: its synonyms are then too.
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
    """Whether the value of a field is secret; `sensitive` is what `is_sensitive` says of its struct."""
    return field.is_secret or (field.is_config_value and sensitive)


@cache
def may_hold_secrets(message: Message) -> bool:
    """Whether any field of a message, in any version, may be secret: then its bytes must not be shown as
    they are.
    """
    return any(field.is_secret or field.is_config_value for field in all_fields(message))
