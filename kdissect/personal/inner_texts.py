"""The fields inside of a text that is a field itself: a line of a log, a form or XML in JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kdissect.personal.bounds import MAX_HITS
from kdissect.personal.finder import Found, find
from kdissect.personal.hits import Hit
from kdissect.personal.leaf import Leaf
from kdissect.personal.text_fields import percent_span, text_leaves

_SHORTEST = 8
_MAY_HAVE_FIELDS = re.compile(
    r"[^\W\d_]=[^=\s]|[^\W\d_][\"']?: |</|<[^<>@\s]{1,64}@|\|[^|]|(?i:\bvalues\b|\bset\b)|[,;\t][^\n]*\n"
    r"|BEGIN:V|\}\s*\Z"
)


def find_with_inner(leaves: Sequence[Leaf]) -> list[Found]:
    """Return the personal data in leaves, and in the fields inside of their texts, at most `MAX_HITS`."""
    found = find(leaves)
    whole = {id(one.leaf) for one in found if one.hit.start == 0 and one.hit.end == len(one.leaf.text)}
    for leaf in leaves:
        if len(found) >= MAX_HITS:
            break
        if leaf.is_number or leaf.is_key or leaf.is_part or id(leaf) in whole or len(leaf.text) < _SHORTEST:
            continue
        if _MAY_HAVE_FIELDS.search(leaf.text) is None:
            continue
        inner = text_leaves(leaf.text, leaf.name)
        if len(inner) > 1:
            found = [one for one in found if one.leaf is not leaf]
            found += [Found(leaf, _in_text(one, leaf.text)) for one in find(inner)]
    return found[:MAX_HITS]


def _in_text(one: Found, text: str) -> Hit:
    """Return a hit in a field of a text as a hit of the text."""
    leaf, hit = one
    if not leaf.is_part:
        return hit
    raw = text[leaf.start : leaf.end]
    start, end = hit.start, hit.end
    if raw != leaf.text:
        start, end = (0, len(raw)) if leaf.escapes else percent_span(raw, start, end)
    return hit._replace(start=leaf.start + start, end=leaf.start + end)
