"""Command line: `python -m captures.phases [NAME...]`."""

import argparse
import gzip
import json
import sys
from pathlib import Path

from captures.phases.injected import INJECTED, run
from captures.record import workshop


def main() -> int:
    """Record the injections named, all of them without a name. The exit code is 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m captures.phases", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(INJECTED)}")
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parent / "recorded")
    parser.add_argument("--port-base", type=int, default=21500, help="first of 100 ports to use")
    options = parser.parse_args()
    try:
        for program in ("java", "gcc"):
            workshop.program(program, "record slow brokers")
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        return 2
    options.output.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in options.names or INJECTED:
        try:
            text = run(INJECTED[name], options.port_base)
        except RuntimeError as problem:
            print(f"{name}: {problem}", file=sys.stderr, flush=True)
            failed += 1
            continue
        target = options.output / f"{name}.requests.log.gz"
        target.write_bytes(gzip.compress(text, mtime=0))
        truth = {"cause": INJECTED[name].cause, "words": INJECTED[name].words}
        (options.output / f"{name}.truth.json").write_text(json.dumps(truth, indent=2) + "\n")
        print(f"{name}: {target.stat().st_size} bytes", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
