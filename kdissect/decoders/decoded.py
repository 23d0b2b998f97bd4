"""A body with the results of decoding it."""

from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.model.errors import DecodeError

if TYPE_CHECKING:
    from kdissect.decoders.records.records_fields import RecordsField


class Decoded(NamedTuple):
    """A body whose bytes fit or not.

    `value` is an object of `values`, None with an `error`; `end` is the offset after it, `version` the body's
    version. `fits` says that the bytes are exactly the body, except for a tail that brokers ignore
    (`quirks.is_ignorable_tail`): only then its values are meaningful. `is_canonical`: see
    `generated.canonical`. `records_fields` are the records fields of a canonical body whose message has some.
    """

    value: Any
    end: int
    version: int
    fits: bool
    is_canonical: bool
    error: DecodeError | None = None
    records_fields: "list[RecordsField] | None" = None
