"""What makes two findings of different runs the same."""

import re

from kdissect.model.finding import Finding

_INDEX = re.compile(r"\[\d+\]")
_LENGTH = 16  # hex digits; 64 bits tell the findings of one project apart


def fingerprint(finding: Finding) -> str:
    """A hash that stays the same from run to run.

    It leaves out what changes between runs that find the same: times, packets, connections, addresses,
    client ids, versions of software, indexes in arrays, and the value that was seen.
    """
    from hashlib import sha256

    party, place = finding.party, finding.place
    parts = (
        finding.code,
        party.role,
        party.label or party.software or "",
        "" if place.api_key is None else str(place.api_key),
        "" if place.api_version is None else str(place.api_version),
        place.side,
        _INDEX.sub("[]", place.path),
    )
    text = "\0".join(parts).encode("utf-8", "backslashreplace")
    return sha256(text).hexdigest()[:_LENGTH]
