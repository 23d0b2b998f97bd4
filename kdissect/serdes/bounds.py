"""Bounds of keys and values that are decoded (docs/schemas.md)."""

# Of one key or value. A broker accepts 1 MiB by default (message.max.bytes).
MAX_VALUE_BYTES = 4 << 20
MAX_DEPTH = 100
"""Levels of a value inside each other. Protobuf's own parsers stop there."""
