"""Command line: `python -m captures.phases [NAME...]`."""

import gzip
import json
import sys
from pathlib import Path

from captures.phases.injected import INJECTED, run
from captures.record import workshop
from captures.record.command import record_each, recordings_parser


def main() -> int:
    """Record the injections named, all of them without a name. The exit code is 1 if one failed."""
    options = recordings_parser(Path(__file__).resolve().parent, INJECTED, 21500).parse_args()
    try:
        for program in ("java", "gcc"):
            workshop.program(program, "record slow brokers")
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        return 2
    options.output.mkdir(parents=True, exist_ok=True)
    return record_each(
        options.names or INJECTED, lambda name: _record(name, options.port_base, options.output)
    )


def _record(name: str, base: int, output: Path) -> str:
    """Record an injection and its truth, and return how much it was."""
    text = run(INJECTED[name], base)
    target = output / f"{name}.requests.log.gz"
    target.write_bytes(gzip.compress(text, mtime=0))
    truth = {"cause": INJECTED[name].cause, "words": INJECTED[name].words}
    (output / f"{name}.truth.json").write_text(json.dumps(truth, indent=2) + "\n")
    return f"{target.stat().st_size} bytes"


if __name__ == "__main__":
    sys.exit(main())
