"""Requests that members of classic groups send again and again, as the compiled part reads them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.listed_partitions import partition_lists
from kdissect.history import api_keys as apis
from kdissect.model.native import native

MEMBER_FIELDS = {
    apis.HEARTBEAT: ("group_id", "member_id", "generation_id"),
    apis.OFFSET_COMMIT: ("group_id", "member_id", "generation_id_or_member_epoch"),
}
"""The fields of a request that say who sent it: group, member, generation."""
_VERSIONS = 32  # of both APIs


class MemberRows(NamedTuple):
    """How the bodies of an API in one version are read: who sent a request, whether there was an error.

    `commits` reads the offsets that a request commits, None where it commits none.
    """

    request: native.Layout
    fields: tuple[str, str, str]
    response: native.Layout
    commits: native.PartitionRows | None


@lru_cache(maxsize=_VERSIONS)
def member_rows(api_key: int, version: int) -> MemberRows | None:
    """Return how a request of `MEMBER_FIELDS` is read; None for a version that is not known.

    Compiled only.
    """
    request, response = known_body(api_key, version, False), known_body(api_key, version, True)
    if request is None or response is None:
        return None
    asked, commits = native_layout(request, version)[0], None
    if api_key == apis.OFFSET_COMMIT:
        lists = partition_lists(request, version)
        if lists is None:
            return None
        commits = native.PartitionRows(asked, lists, ["committed_offset"], [])
    return MemberRows(asked, MEMBER_FIELDS[api_key], native_layout(response, version)[0], commits)
