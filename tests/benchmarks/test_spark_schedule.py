"""The simulated schedule of docs/spark.md, and the bars that spark_growth.py prints."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_table_in_the_docs_is_what_it_prints(
    benchmarks_on_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import spark_schedule

    page = DOCS.read_text()
    block = r"python benchmarks/spark_schedule\.py ([^\n]+)\n\n((?:    [^\n]*\n)+)"
    for options, told in re.findall(block, page):
        assert spark_schedule.main(options.split()) == 0
        lines = [line.removeprefix("    ").rstrip() for line in told.splitlines()]
        assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == lines
    assert page.count("python benchmarks/spark_schedule.py ") == 1


@pytest.mark.parametrize("hosts", [1, 3, 24])
@pytest.mark.parametrize("cores", [1, 2, 8, 24])
def test_a_schedule_is_within_its_bounds(hosts: int, cores: int, benchmarks_on_path: Path) -> None:
    from spark_schedule import FIGURES, Plan, inputs_of, simulated

    plan = Plan(100_000_000_000, hosts, cores, network=1e15)
    found = simulated(plan, FIGURES["small"])
    size = inputs_of(plan).total_bytes
    everything = sum(FIGURES["small"]) * size / 100e6
    assert found.cpu_s >= everything * (1 - 1e-9)  # nothing is left out
    assert found.wall_s * cores >= found.cpu_s * (1 - 1e-9)
    assert found.used <= 1 + 1e-9
    assert found.fetched >= size * (1 + (hosts > 1))
    if hosts >= cores:
        assert found.fetched == size * (1 + (hosts > 1))  # nothing is read again
        compared = (hosts > 1) * FIGURES["small"].reading * size / 100e6
        assert found.cpu_s == pytest.approx(everything + compared)


def test_a_slow_network_holds_it_up(benchmarks_on_path: Path) -> None:
    from spark_schedule import FIGURES, Plan, simulated

    fast, slow = (
        simulated(Plan(100_000_000_000, 24, 24, network=rate), FIGURES["small"]) for rate in (1e15, 1e6)
    )
    assert slow.wall_s > fast.wall_s
    assert slow.cpu_s == fast.cpu_s
    assert slow.wall_s >= slow.fetched / 24 / (1e6 / 8)


def test_bars_say_what_holds(benchmarks_on_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from spark_growth import Cost, Run, Shape, Told, bars, show_bar

    cost = Cost(10.0, 12.0, 10**9, 300 * 10**6, 1.0)
    runs = [
        Run(Shape("200MB", 20), "2", cost, Told(8.0, 5.0, 0), 0.6, 1.2, 1.0, 0.05),
        Run(Shape("2GB", 20), "2", cost, Told(8.0, 5.0, 0), 0.7, 1.2, 1.1, 0.05),
    ]
    for bar in bars(runs, {"2": 8.0}):
        show_bar(bar)
    told = {line.partition(":")[0].strip(): line for line in capsys.readouterr().out.splitlines()}
    assert told["wall on two cores, of one process"].endswith("0.7  MISSED")
    assert told["CPU on two cores, of one process"].endswith("1.2  holds")
    assert told["growth from the smallest to the largest"].endswith("1.1  holds")
    assert told["wall on one core, of one process"].endswith("not measured in this run")
    for bar in bars([run._replace(wall=0.0) for run in runs], {"2": 8.0}):
        show_bar(bar)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "wall on two cores" in line]
    assert line.endswith("not measured in this run")  # shorter than the start


def test_growth_is_of_the_size_alone(benchmarks_on_path: Path) -> None:
    from spark_growth import Cost, Run, Shape, Told, by_connections, growth

    def run(size: str, connections: int, byte_s: float) -> Run:
        shape = Shape(size, 20, 1, connections)
        cost = Cost(10.0, 12.0, 10**9, 300 * 10**6, 1.0)
        return Run(shape, "2", cost, Told(8.0, 5.0, 0), 0.6, 1.2, byte_s, 0.05)

    apart = [run("200MB", 100, 1.0), run("2GB", 1000, 3.0)]
    assert growth(apart) is None
    assert not list(by_connections(apart))
    runs = [*apart, run("2GB", 100, 1.25)]
    assert growth(runs) == 1.25
    (line,) = by_connections(runs)
    assert line == "2GB 20x1 on local[2]: 1000 connections take 2.40 times as long as 100"
