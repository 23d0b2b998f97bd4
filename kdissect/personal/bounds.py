"""Bounds of what is examined for personal data (docs/personal-data.md)."""

MAX_CONTENT = 1 << 20
"""Bytes of one key, value or header. A broker accepts 1 MiB by default (message.max.bytes)."""
MAX_LEAVES = 20_000
"""Texts and numbers of one value."""
MAX_DEPTH = 100
MAX_HITS = 1_000
"""Hits in one key, value or header."""
LONGEST_STEP = 64
"""Characters of a field's name that a path shows."""
