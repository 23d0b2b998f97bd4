"""The client that deleted a topic, or records of it, before requests for them failed."""

from __future__ import annotations

from kdissect.causes.cause import client_text, quoted
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.history.api_keys import DELETE_TOPICS


def who_deleted(errors: Errors, seen: Evidence, api_key: int) -> str:
    """Return a sentence about who deleted the topics of errors, or records of them, before the last error.

    An empty text if the capture has no such request.
    """
    found: dict[str, list[str]] = {}
    for key in errors.keys:
        deletion = seen.gathering.deletions.of(api_key, key.scope, key.topic)
        if deletion is not None and deletion.sent_ns <= errors.seen.last_ns and key.topic:
            topics = found.setdefault(client_text(deletion.client), [])
            topics += [key.topic] if key.topic not in topics else []
    what, api = ("topic", "DeleteTopics") if api_key == DELETE_TOPICS else ("records of", "DeleteRecords")
    return " ".join(
        f"{client[0].upper()}{client[1:]} deleted {what} {quoted(topics)} ({api})."
        for client, topics in found.items()
    )
