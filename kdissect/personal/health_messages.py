"""The fields of people in messages of health systems (HL7 version 2)."""

from __future__ import annotations

import re

from kdissect.personal.leaf import Leaf

_NAMES = ("family name", "given name", "middle name")
# By segment and number of the field, the names of its components (HL7 2.5.1, sections 3.4.2, 3.4.5, 6.5.5).
_FIELDS = {
    "PID": {
        5: _NAMES,
        7: ("birth date",),
        9: _NAMES,
        11: ("street",),
        13: ("phone",),
        14: ("phone",),
        19: ("ssn",),
    },
    "NK1": {2: _NAMES, 4: ("street",), 5: ("phone",), 6: ("phone",)},
    "GT1": {3: _NAMES, 5: ("street",), 6: ("phone",), 7: ("phone",), 8: ("birth date",)},
}
_HEADER = "MSH|^~\\&"
_SEGMENT = re.compile(rf"^(?P<segment>{'|'.join(_FIELDS)})\|(?P<fields>[^\r\n]{{1,20000}})", re.MULTILINE)


def health_leaves(text: str) -> list[Leaf]:
    """Return the fields of people in a message with the usual separators; none if it is something else."""
    if not text.startswith(_HEADER):
        return []
    leaves = []
    for number, found in enumerate(_SEGMENT.finditer(text.replace("\r", "\n")), 1):
        start = found.start("fields")
        for place, field in enumerate(found["fields"].split("|"), 1):
            names = _FIELDS[found["segment"]].get(place, ())
            at = start
            for name, part in zip(names, field.split("~")[0].split("^"), strict=False):
                if part:
                    path = f"$.{found['segment']}-{place}"
                    leaves.append(
                        Leaf(
                            path,
                            name,
                            part,
                            False,
                            number,
                            "patient",
                            at,
                            at + len(part),
                            is_part=True,
                            is_alone=True,
                        )
                    )
                at += len(part) + 1
            start += len(field) + 1
    return leaves
