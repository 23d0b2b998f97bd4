"""The names that Kafka allows for topics."""

from __future__ import annotations

import re

_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # org.apache.kafka.common.internals.Topic


def is_legal_topic_name(name: str) -> bool:
    """Return whether a topic can have a name (org.apache.kafka.common.internals.Topic#validate)."""
    return _LEGAL.fullmatch(name) is not None and name not in (".", "..")
