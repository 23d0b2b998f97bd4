"""Driving `kdissect why` from Python."""

from pathlib import Path

from kdissect.api import Dissection
from kdissect.causes.diagnose import diagnose, roots_first
from kdissect.causes.evidence.gathering import Gathering
from kdissect.model.cause import Diagnosis, in_order
from kdissect.model.packets.packet import ref_file
from kdissect.stats.times.series import LatencySeries
from tests.support.console import CAPTURES


def capture(name: str) -> str:
    """Return the path of a capture of the corpus."""
    (path,) = [path for path in CAPTURES.glob(f"{name}.pcap*") if path.suffix != ".keys"]
    return str(path)


def gathered_from(*paths: str | Path, latencies: LatencySeries | None = None) -> Gathering:
    """Return all evidence of captures; TLS with the key files next to them. `latencies` are counted, too."""
    keys = [Path(str(path).partition(".pcap")[0] + ".keys") for path in paths]
    dissection = Dissection(
        [str(path) for path in paths], key_logs=[str(key) for key in keys if key.exists()]
    )
    gathering = Gathering(dissection.topics, latencies=latencies)

    def note(error: Exception, _: object) -> None:
        raise error

    for events in dissection.batches():
        gathering.take(events, note)
    gathering.note_clock(dissection.captures.files)
    gathering.finish()
    return gathering


def diagnosed(*paths: str | Path) -> Diagnosis:
    """Return all that is wrong in captures. What holds of every page is looked at."""
    found = diagnose(gathered_from(*paths), [str(path) for path in paths], most=1_000)
    assert broken(found) == []
    return found


def ids(found: Diagnosis) -> list[str]:
    """Return the causes, the worst first."""
    return [cause.id for cause in found.causes]


def broken(found: Diagnosis) -> list[str]:
    """Return what does not hold of a page and should of every one."""
    causes = found.causes
    own = [(cause.id, cause.sentence) for cause in causes]
    below = [(effect.id, effect.sentence) for cause in causes for effect in cause.effects]
    told = [*own, *below]
    wrong = [f"told twice: {one}" for one in dict.fromkeys(told) if told.count(one) > 1]
    for cause in causes:
        holds = {
            "a sentence": cause.sentence and cause.who and cause.help,
            "a reason where it is not sure": bool(cause.why_not_surer) == (cause.certainty != "sure"),
            "times": cause.times > 0,
            "packets": cause.evidence and all(one.connection or one.what for one in cause.evidence),
            "packets of its files": all(
                one.first_ref <= one.last_ref and ref_file(one.last_ref) < len(found.files)
                for one in cause.evidence
            ),
            "a place in the capture": found.first_ns <= cause.since_ns <= cause.until_ns <= found.last_ns,
            "costs that are not negative": min(cause.cost) >= 0,
        }
        wrong += [f"{cause.id} lacks {what}: {cause}" for what, is_there in holds.items() if not is_there]
    if list(causes) != roots_first(in_order(causes)):
        wrong.append(f"not in order: {own}")
    return wrong
