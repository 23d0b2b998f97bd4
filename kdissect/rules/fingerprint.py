"""Identity of findings in different runs.

A fingerprint consists of the rule, the sender (client or broker, software, label), the API, its version, the
side, the field, and the shape of the expected and seen values. For rules that report once for each software,
it consists of rule and party alone. Not of packet numbers, times, addresses, ports, client ids or the version
of the software: those change while the fault stays.
"""

import re

from kdissect.model.digest import blake2b
from kdissect.model.finding import Finding
from kdissect.rules.registry import rule_by
from kdissect.rules.rule import Once

# Bytes in hex. A fingerprint only distinguishes the findings of one project.
LENGTH = 8

_INDEX = re.compile(r"\[\d+\]")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
# A word with a digit in it is a number, an id, a version or a generated name.
_WITH_DIGIT = re.compile(r"[\w.+-]*\d[\w.+-]*")
# "1 byte is" has the shape of "2 bytes are".
_ONE = re.compile(
    r"(?<![\w.+-])(of )?1 (byte|record|batch|partition|replica|topic|member|entry|offset|element|header)\b"
    r"(?: (is|runs|follows|fills|does)\b)?"
)
_MANY = {
    "batch": "batches", "entry": "entries",
    "is": "are", "runs": "run", "follows": "follow", "fills": "fill", "does": "do",
}  # fmt: skip
_AGAIN = re.compile(r"(#|'')(?:,? (?:#|''))+")


def fingerprint(finding: Finding) -> str:
    """Return 16 hex digits."""
    text = "\0".join(_parts(finding)).encode("utf-8", "backslashreplace")
    return blake2b(text, digest_size=LENGTH).hexdigest()


def _parts(finding: Finding) -> tuple[str, ...]:
    party, place = finding.party, finding.place
    api = str(place.api_key), str(place.api_version), place.side, bare_path(place.path)
    who = str(party.role), party.software or "", party.label or ""
    rule = rule_by(finding.code)
    if rule is not None and rule.once == Once.SOFTWARE:  # the text comes from whichever was first
        return (finding.code, *who)
    return (finding.code, *who, *api, shape(finding.expected), shape(finding.seen))


def bare_path(path: str) -> str:
    """Return a path without its indexes: `topics[].name`."""
    return _INDEX.sub("[]", path)


def shape(text: str) -> str:
    """Return a text without what changes from run to run: numbers and ids are `#`, quoted texts `''`."""
    many = _ONE.sub(_of_many, _QUOTED.sub("''", text))
    return _AGAIN.sub(r"\1", _WITH_DIGIT.sub("#", many))


def _of_many(found: re.Match[str]) -> str:
    of, noun, verb = found.groups()
    text = f"{of or ''}1 {_MANY.get(noun, noun + 's')}"
    if verb:
        text += f" {verb if of else _MANY[verb]}"  # "bool of 1 byte runs": the verb is that of bool
    return text
