"""Whether a Fetch is of the metadata log, whose records may be SCRAM credentials, tokens or configs.

Rules:
- The decoded topics decide. Bytes are not searched for the id: its zeros also appear in the numbers of empty
  partitions.
- A Fetch of the metadata log has no other topic (org.apache.kafka.raft.RaftUtil#singletonFetchRequest), so a
  topic before the damage shows the log of the bytes after it.
- If a body does not decode and no topic was decoded, the Fetch counts as one of the metadata log: hidden
  bytes of a user's topic cost one more look, but a shown credential cannot be undone.
"""

from collections.abc import Iterable

from kdissect.decoders.generated.summary import Summary
from kdissect.schema.logs import METADATA_TOPIC, METADATA_TOPIC_ID, may_be_metadata_topic

FETCHES = frozenset({1, 59})  # Fetch and FetchSnapshot (org.apache.kafka.common.protocol.ApiKeys)
_NAME = METADATA_TOPIC.encode()
# Bytes of a frame before the records of the log: it is fetched by itself, and little precedes its name or id.
_TOPIC_WITHIN = 256


def may_fetch_metadata_log(bodies: Iterable[tuple[bytes, Summary]]) -> bool:
    """Return whether the bodies of a Fetch or FetchSnapshot, each with the bytes of its frame, may be of the
    metadata log. Raises nothing.
    """
    is_of_others = is_unread = False
    for data, summary in bodies:
        if names_metadata_log(data, summary):
            return True
        if summary.topics or summary.topic_ids:
            is_of_others = True
        elif not summary.fits:
            is_unread = True
    return is_unread and not is_of_others


def names_metadata_log(data: bytes, summary: Summary) -> bool:
    """Return whether a body of any API names the metadata log, which in a damaged one may be nearly so."""
    if METADATA_TOPIC in summary.topics or METADATA_TOPIC_ID in summary.topic_ids:
        return True
    if summary.fits:
        return False
    # Damage before the name may change it arbitrarily. After a topic, a record of users may contain the name.
    named = data[:_TOPIC_WITHIN] if summary.topics or summary.topic_ids else data
    return _NAME in named or any(map(may_be_metadata_topic, summary.topic_ids))
