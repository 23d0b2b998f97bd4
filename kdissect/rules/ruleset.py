"""The version of a set of rules, so that two reports can be told to have asked the same."""

from collections.abc import Iterable

from kdissect.rules.rule import Rule


def ruleset_version(rules: Iterable[Rule]) -> str:
    """`0.1.0+3f2a9c01`: the version of kdissect, and a hash of what each of the rules says of itself."""
    try:
        # What hashlib falls back to, without its 3 ms of loading OpenSSL.
        from _sha256 import sha256  # type: ignore[import-not-found]
    except ImportError:  # a later Python
        from hashlib import sha256

    from kdissect import __version__

    facts = "\n".join("\t".join(_facts(rule)) for rule in rules)
    return f"{__version__}+{sha256(facts.encode()).hexdigest()[:8]}"


def _facts(rule: Rule) -> tuple[str, ...]:
    return (
        rule.code,
        rule.name,
        rule.level,
        rule.claim,
        rule.effective_severity(),
        rule.who or "",
        *rule.cites,
    )
