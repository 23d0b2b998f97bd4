"""The artifacts of a SARIF log: captures, and the frames nested in them (section 3.24).

A frame is an artifact of its own so that `byteOffset` counts within something that is defined: a capture cuts
what one frame carries into packets, and mixes it with others.
"""

import os
from base64 import b64encode
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from kdissect.model.finding import Location
from kdissect.model.packets.packet import ref_file
from kdissect.model.wording import path_of

Row = dict[str, Any]


class Frames:
    """Collects the frames that results show bytes of. `captures` artifacts stand before them in the log."""

    def __init__(self, captures: int) -> None:
        self.artifacts: list[Row] = []
        self._captures = captures
        self._known: dict[str, int] = {}

    def location(self, place: Location) -> Row:
        """Where the bytes of a place stand, and the bytes if they are all kept."""
        name = f"/{place.connection}/{place.exchange}/{place.side}"
        region: Row = {"byteOffset": place.start, "byteLength": place.end - place.start}
        if len(place.bytes_seen) == place.end - place.start:
            region["snippet"] = {"binary": b64encode(place.bytes_seen).decode()}
        return {
            "message": {"text": f"bytes {place.start} to {place.end} of the frame's content"},
            "physicalLocation": {
                "artifactLocation": {"uri": name, "index": self._index(name, place)},
                "region": region,
            },
        }

    def _index(self, name: str, place: Location) -> int:
        if name not in self._known:
            self._known[name] = self._captures + len(self.artifacts)
            parent = ref_file(place.first_ref)
            artifact: Row = {
                "location": {"uri": name},
                "mimeType": "application/octet-stream",
                "description": {"text": f"a {place.side or 'frame'} without the 4 bytes of its size"},
            }
            if place.first_ref and parent < self._captures:
                artifact["parentIndex"] = parent
            self.artifacts.append(artifact)
        return self._known[name]


def uri_of(path: str) -> str:
    """A path as a URI reference; a relative one stays relative."""
    if path == "-":
        return "stdin"
    name = PurePath(os.fsdecode(path_of(path)))
    if name.is_absolute():
        return name.as_uri()
    # a colon in the first segment would be taken for the end of a scheme (RFC 3986 section 4.2)
    return quote(name.as_posix(), safe="/~@!$&'()*+,=", errors="surrogateescape")
