"""What filters cost: microseconds of CPU for each exchange of a capture, over the exchanges alone.

python benchmarks/filters.py small_100.pcap
"""

import sys
import time
from itertools import islice

import kdissect
from kdissect.query import compile_filter

EXCHANGES = 20_000  # enough to be measured, few enough to be held in memory
ROUNDS = 5
FILTERS = (
    "latency > 50ms",
    "api == Produce and latency > 50ms",
    "client in 10.0.0.0/8",
    'client_id ~ "^c"',
    "error",
    'topic ~ "^orders"',
    "response.**.error_code != NONE",
    "request.topics.topic ~ x",
    "api == Fetch and response.responses.partitions.high_watermark > 5",
    "request.body",
)


def main(path: str) -> None:
    """Measure each filter on one capture."""
    exchanges = list(islice(kdissect.open(path), EXCHANGES))
    print(f"{len(exchanges)} exchanges of {path}\n\n| filter | us an exchange | taken |\n|---|---:|---:|")
    for text in FILTERS:
        test = compile_filter(text).bind()
        taken = sum(map(test, exchanges))  # compiles what is compiled at first use
        times = []
        for _ in range(ROUNDS):
            began = time.process_time()
            for exchange in exchanges:
                test(exchange)
            times.append(time.process_time() - began)
        print(f"| `{text}` | {sorted(times)[ROUNDS // 2] / len(exchanges) * 1e6:.1f} | {taken} |")


if __name__ == "__main__":
    main(sys.argv[1])
