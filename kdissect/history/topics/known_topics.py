"""Topic ids whose names the user knows: the file of `--topic-ids`.

Either lines `ID NAME` (spaces or a tab between; `#` starts a comment), or what `kafka-topics --describe`
prints, or JSON: an object `{ID: NAME}`, or a list of objects with `id` or `topic_id` and `name`. An id is
written as Kafka prints it (22 characters), or as 32 hex digits with or without dashes.
"""

import re
from binascii import a2b_base64
from typing import Any

_KAFKA_FORM = re.compile(r"[A-Za-z0-9_-]{22}")
_HEX_FORM = re.compile(r"[0-9a-fA-F]{32}")
_DESCRIBED = re.compile(r"\bTopic:\s*(\S+)\s+TopicId:\s*(\S+)")
_URL_SAFE = str.maketrans("-_", "+/")


def parse_topic_ids(text: str) -> dict[bytes, str]:
    """Return names by id. Raises ValueError, which says where the text is wrong."""
    stripped = text.lstrip("\ufeff \t\r\n")
    return _parse_json(stripped) if stripped[:1] in ("{", "[") else _parse_lines(text)


def _parse_topic_id(text: str) -> bytes:
    """Return an id's 16 bytes. Raises ValueError."""
    bare = text.replace("-", "")
    if _HEX_FORM.fullmatch(bare):
        return bytes.fromhex(bare)
    if _KAFKA_FORM.fullmatch(text):
        return a2b_base64(text.translate(_URL_SAFE) + "==")
    raise ValueError(f"{text!r} is no topic id")


def _parse_lines(text: str) -> dict[bytes, str]:
    found: dict[bytes, str] = {}
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1):
        described = _DESCRIBED.search(line)
        words = list(described.groups())[::-1] if described else line.partition("#")[0].split()
        if not words or (described is None and line.lstrip().startswith("Topic:")):
            continue  # the lines of partitions
        if len(words) != 2:
            raise ValueError(f"line {number}: a line is 'ID NAME'")
        try:
            found[_parse_topic_id(words[0])] = words[1]
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return found


def _parse_json(text: str) -> dict[bytes, str]:
    import json  # at first use: start-up

    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is no JSON: {error}") from None
    entries = document.items() if isinstance(document, dict) else map(_entry, document)
    return {_parse_topic_id(str(topic_id)): str(name) for topic_id, name in entries}


def _entry(item: Any) -> tuple[Any, Any]:
    if isinstance(item, dict) and "name" in item:
        topic_id = item.get("id", item.get("topic_id"))
        if topic_id is not None:
            return topic_id, item["name"]
    raise ValueError('an entry of the list is {"id": ..., "name": ...}')
