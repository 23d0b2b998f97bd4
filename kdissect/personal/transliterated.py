"""Phrases in Cyrillic and Greek as names of fields have them in Latin letters."""

from __future__ import annotations

import re

_CYRILLIC = (
    "а=a б=b в=v г=g д=d е=e ж=zh з=z и=i й=y к=k л=l м=m н=n о=o п=p р=r с=s т=t у=u ф=f х=kh ц=ts ч=ch "
    "ш=sh щ=shch ъ= ы=y ь= э=e ю=yu я=ya ё=e"
)
_GREEK = (
    "α=a β=v γ=g δ=d ε=e ζ=z η=i θ=th ι=i κ=k λ=l μ=m ν=n ξ=x ο=o π=p ρ=r σ=s ς=s τ=t υ=y φ=f χ=ch ψ=ps ω=o "
    "ά=a έ=e ή=i ί=i ό=o ύ=y ώ=o ΐ=i ϊ=i ΰ=y ϋ=y"
)


def _table(letters: str, *changes: str) -> dict[str, str]:
    return dict(one.split("=") for listed in (letters, *changes) for one in listed.split())


_SCHEMES = {
    "Russian": (
        _table(_CYRILLIC),
        _table(_CYRILLIC, "й=i ю=iu я=ia ъ=ie"),  # ICAO Doc 9303, part 3, section 6
        _table(_CYRILLIC, "х=h ж=j ы=i"),
    ),
    "Ukrainian": (
        # Resolution 55 of the Cabinet of Ministers, 2010
        _table(_CYRILLIC, "г=h ґ=g е=e є=ie и=y і=i ї=i й=i ю=iu я=ia щ=shch"),
        _table(_CYRILLIC, "г=h ґ=g є=ye и=y і=i ї=yi й=y ю=yu я=ya"),
    ),
    # Transliteration Act, 2009
    "Bulgarian": (_table(_CYRILLIC, "х=h щ=sht ъ=a"),),
    "Greek": (
        _table(_GREEK),
        _table(_GREEK, "η=h ω=w υ=u θ=8 χ=x ή=h ώ=w ύ=u"),
        _table(_GREEK, "υ=u χ=h β=b ύ=u"),
    ),
}
_PAIRS = {"αυ": "av", "ευ": "ef", "ου": "ou", "ού": "ou", "εύ": "ef", "αύ": "av", "γγ": "ng", "μπ": "b"}


def transliterated(language: str, phrases: str) -> str:
    """Return phrases in Latin letters by the schemes of a language, empty if it has none."""
    made = [
        "".join(scheme.get(letter, letter) for letter in _with_pairs(phrases.lower()))
        for scheme in _SCHEMES.get(language, ())
    ]
    return ", ".join(one for text in made for one in text.split(", ") if re.fullmatch(r"[a-z0-9 ]{4,}", one))


def _with_pairs(text: str) -> str:
    return re.sub("|".join(_PAIRS), lambda found: _PAIRS[found[0]], text)
