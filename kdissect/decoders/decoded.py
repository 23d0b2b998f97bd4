"""A body with what decoding it told."""

from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.model.errors import DecodeError

if TYPE_CHECKING:
    from kdissect.decoders.records.records_fields import RecordsField


class Decoded(NamedTuple):
    """A body whose bytes fit or not.

    `value` is an object of `values`, None with an `error`; `end` is the offset behind it, `version` that of
    the body. `fits` says that the bytes are the body and nothing else, but for a tail that brokers ignore
    (`quirks.is_ignorable_tail`): only then its values mean anything. `is_canonical`: see
    `generated.canonical`. `records_fields` are those of a canonical body that may have any.
    """

    value: Any
    end: int
    version: int
    fits: bool
    is_canonical: bool
    error: DecodeError | None = None
    records_fields: "list[RecordsField] | None" = None
