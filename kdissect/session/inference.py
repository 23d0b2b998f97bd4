"""Which request a response answers when the request was not captured."""

from collections.abc import Iterable
from itertools import islice

from kdissect.decoders.bodies import body_fits
from kdissect.decoders.headers import response_body_offset
from kdissect.model.errors import DecodeError
from kdissect.model.frame import Frame

# Kinds of request tried for an orphan response, and the least body that can tell them apart.
MAX_INFERENCES = 32
MIN_INFERRED_BODY = 8


def only_kind_that_fits(frame: Frame, seen: Iterable[tuple[int, int]]) -> tuple[int, int, int] | None:
    """API key, version and offset of the body, if exactly one kind of request `seen` explains all bytes."""
    if frame.is_cut or frame.size < 4 + MIN_INFERRED_BODY:
        return None
    fitting = []
    for key, version in islice(seen, MAX_INFERENCES):
        try:
            offset = response_body_offset(frame.data, key, version)
        except DecodeError:
            continue
        if body_fits(frame.data, offset, key, version):
            fitting.append((key, version, offset))
    return fitting[0] if len(fitting) == 1 else None
