"""Requests that name a group, as the compiled part reads them: members send most of them again and again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.decoders.listed_partitions import partition_lists
from kdissect.history import api_keys as apis
from kdissect.model.native import native
from kdissect.schema.types import Message

MEMBER_FIELDS = {
    apis.HEARTBEAT: ("group_id", "member_id", "generation_id"),
    apis.OFFSET_COMMIT: ("group_id", "member_id", "generation_id_or_member_epoch"),
}
"""The fields of a classic member's request that say who sent it: group, member, generation."""
_SENDER = ("group_id", "member_id", "")
"""The same of any other request that names a group. A version may lack the second one."""
_VERSIONS = 128


class MemberRows(NamedTuple):
    """How the bodies of an API in one version are read: who sent a request, whether there was an error.

    `commits` reads the offsets that a request commits, None where it commits none. `fetched` reads the
    partitions of a ShareFetch, with the epoch of its session, and of its response, None of other APIs.
    """

    request: native.Layout
    fields: tuple[str, str, str]
    response: native.Layout
    commits: native.PartitionRows | None
    fetched: tuple[native.PartitionRows, native.PartitionRows] | None


@lru_cache(maxsize=_VERSIONS)
def member_rows(api_key: int, version: int) -> MemberRows | None:
    """Return how a request is read; None for one that names no group in a field of its own, and for a version
    that is not known.

    Compiled only.
    """
    request, response = known_body(api_key, version, False), known_body(api_key, version, True)
    if request is None or response is None or not _names_group(request, version):
        return None
    commits = fetched = None
    if api_key == apis.OFFSET_COMMIT:
        commits = _partitions(request, version, ["committed_offset"])
        if commits is None:
            return None
    if api_key == apis.SHARE_FETCH:
        epoch = ["share_session_epoch"]
        of_both = _partitions(request, version, [], epoch), _partitions(response, version, ["error_code"])
        fetched = None if of_both[0] is None or of_both[1] is None else (of_both[0], of_both[1])
    layouts = native_layout(request, version)[0], native_layout(response, version)[0]
    return MemberRows(layouts[0], MEMBER_FIELDS.get(api_key, _SENDER), layouts[1], commits, fetched)


def _names_group(request: Message, version: int) -> bool:
    return any(field.name == "group_id" and version in field.versions for field in request.root.fields)


def _partitions(
    body: Message, version: int, values: list[str], facts: Sequence[str] = ()
) -> native.PartitionRows | None:
    lists = partition_lists(body, version)
    if lists is None:
        return None
    return native.PartitionRows(native_layout(body, version)[0], lists, values, [*facts])
