"""Writes the tables of the corpus: `captures/README.md` (between its marks) and `captures/coverage.md`.

python -m captures.record.report
"""

from pathlib import Path

from captures.record.corpus import CAPTURES, Capture, Use, captures, every_api_version, uses
from kdissect.schema.protocol_messages import api_name

README = CAPTURES / "README.md"
COVERAGE = CAPTURES / "coverage.md"
BEGIN, END = "<!-- captures: begin -->", "<!-- captures: end -->"


def main() -> None:
    """Write both."""
    found = captures()
    for path, text in (README, readme(README, found)), (COVERAGE, coverage(found)):
        path.write_text(text)
        print(f"{path.name}: {len(text.splitlines())} lines")


def readme(path: Path, found: list[Capture]) -> str:
    """Return the text of `captures/README.md` with a new table."""
    before, rest = path.read_text().split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{capture_table(found)}\n{END}{after}"


def capture_table(found: list[Capture]) -> str:
    """Return one row a capture."""
    lines = [
        "| file | broker | clients | exchanges | API versions | story |",
        "|---|---|---|---:|---:|---|",
    ]
    for capture in found:
        exchanges = capture.exchanges()
        versions = {(each.api_key, each.api_version) for each in exchanges if each.api_key is not None}
        cells = (
            f"`{capture.path.name}`",
            capture.broker,
            _clients(capture),
            str(len(exchanges)),
            str(len(versions)),
            capture.truth["story"].replace("|", "\\|"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _clients(capture: Capture) -> str:
    """Return each client once, followed by its versions."""
    versions: dict[str, list[str]] = {}
    for each in capture.truth["clients"]:
        known = versions.setdefault(each["name"], [])
        if each["version"] not in known:
            known.append(each["version"])
    return "; ".join(f"{name} {', '.join(known)}" for name, known in versions.items()) or "brokers only"


def coverage(found: list[Capture]) -> str:
    """Return the text of `captures/coverage.md`."""
    table = uses(found)
    every = list(every_api_version())
    seen = [at for at in every if at in table]
    only_raw = [at for at in seen if not table[at].senders]
    apis, all_apis = {key for key, _ in seen}, {key for key, _ in every}
    own_accord = {key for key, version in seen if table[key, version].senders}
    lines = [
        "# Coverage of the corpus",
        "",
        "Which of the API versions that ever shipped occur in whole exchanges of the captures in this",
        "folder, and who sent them. *raw*: put together for the purpose with franz-go's kmsg; nobody sent",
        "that version of its own accord. Written by `python -m captures.record.report`; a test compares.",
        "",
        f"- API versions: **{len(seen)} of {len(every)}**, {len(only_raw)} of them only raw.",
        f"- APIs: **{len(apis)} of {len(all_apis)}**, {len(apis) - len(own_accord)} of them only raw.",
        f"- Never seen: {_never(sorted(all_apis - apis))}.",
        "",
        "| API | version | exchanges | sent by |",
        "|---|---:|---:|---|",
        *(_row(at, table.get(at)) for at in every),
    ]
    return "\n".join(lines) + "\n"


def _never(keys: list[int]) -> str:
    return ", ".join(f"{api_name(key)} ({key})" for key in keys) or "none"


def _row(at: tuple[int, int], use: Use | None) -> str:
    key, version = at
    if use is None:
        return f"| {key} {api_name(key)} | {version} | 0 | |"
    senders = _merged(use.senders) or f"*raw* {_merged(use.raw)}"
    return f"| {key} {api_name(key)} | {version} | {use.exchanges} | {senders} |"


def _merged(senders: tuple[str, ...]) -> str:
    """Versions of one software behind its name."""
    versions: dict[str, list[str]] = {}
    for sender in senders:
        name, _, version = sender.removesuffix(" (broker)").rpartition(" ")
        versions.setdefault(name + (" broker" if sender.endswith("(broker)") else ""), []).append(version)
    return "; ".join(f"{name} {', '.join(sorted(known, key=_order))}" for name, known in versions.items())


def _order(version: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in version.split(".")]


if __name__ == "__main__":
    main()
