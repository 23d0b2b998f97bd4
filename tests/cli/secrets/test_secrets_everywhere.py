"""The planted secrets of `test_secrets`, searched in what every command writes in every format it has, in
tables, metrics, on screen and in the texts of exceptions."""

from __future__ import annotations

import asyncio
import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli import COMMANDS, main
from kdissect.cli.reference.completion_command import parser_of
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.decoders.messages import decode_request, decode_response
from kdissect.model.errors import DecodeError
from tests.support.commands import commands_without_captures
from tests.support.console import CAPTURES
from tests.support.messages.planted import PLANTED, exchanges, fetched_metadata, needles, planted

# Commands that read captures but print no format of their own, or are tested elsewhere with their files.
ELSEWHERE = {"tui", "live", "record", "extract", "tables", "pipeline", "report", "mcp"}
BINARY = {"parquet", "protobuf"}
MORE: dict[str, tuple[str, ...]] = {
    "info": ("--records",),
    "inspect": ("--bodies", "--records"),
    "diff": (str(CAPTURES / "kafka44_java_admin.pcapng"),),
    "upgrade": ("--target", "4.0"),
    "topics": ("--sizes",),
}
NO_CAPTURES = commands_without_captures()
ALL_NEEDLES = {needle for secret in PLANTED for needle in needles(secret)}


def search(out: bytes, where: object) -> None:
    """Fail where a secret is."""
    for needle in ALL_NEEDLES:
        at = out.find(needle)
        assert at < 0, (where, out[max(at - 300, 0) : at + 40])


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> str:
    return planted(tmp_path_factory.mktemp("everywhere") / "secrets.pcap")


def formats() -> Iterator[tuple[str, str]]:
    """Yield every command that prints what it read, with each of its formats."""
    for name in COMMANDS:
        if name in ELSEWHERE | NO_CAPTURES:
            continue
        action = parser_of(name)._option_string_actions["--format"]
        for form in action.choices or ():
            if form not in BINARY:
                yield name, str(form)


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("command", "form"), list(formats()))
def test_no_format_of_any_command_holds_one(
    command: str, form: str, capture: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    more = MORE.get(command, ())
    if (command, form) == ("inspect", "table"):
        more = ("-e", "request.body,response.body")
    elif command == "inspect" and form in ("tsv", "csv"):
        more = ("--bodies",)
    code = main([command, capture, "--format", form, *more])
    captured = capfdbinary.readouterr()
    assert code in (0, 1), captured.err
    assert captured.out or command in ("groups", "producers", "offsets", "personal-data")  # there are none
    search(captured.out + captured.err, (command, form))


def test_there_are_many_and_none_is_forgotten() -> None:
    made = list(formats())
    assert len(made) > 30
    assert {command for command, _ in made} | ELSEWHERE | NO_CAPTURES == set(COMMANDS)


def test_no_table_holds_one(capture: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    dataset = pytest.importorskip("pyarrow.dataset", reason="needs the extra arrow")
    from kdissect.engine.tables.all_tables import TABLES

    reports = ["html", "json", "stats"]
    words = [word for name in reports for word in ("--report", f"{name}={tmp_path / name}.report")]
    tables = tmp_path / "tables"
    assert not main(["tables", capture, "--output", str(tables), "--tables", ",".join(TABLES), *words])
    seen = 0
    for name in TABLES:
        rows = dataset.dataset(tables / name, format="parquet").to_table().to_pylist()
        seen += len(rows)
        search(repr(rows).encode(), name)
    assert seen > 50
    for path in tmp_path.rglob("*"):
        if path.is_file():  # also what stands uncompressed in the files themselves: statistics of columns
            search(path.read_bytes(), path.name)
    captured = capfdbinary.readouterr()
    search(captured.out + captured.err, "tables")


def test_no_log_segment_shows_one(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    _, answered = fetched_metadata()
    batch = answered["responses"][0]["partitions"][0]["records"]
    segment = tmp_path / "__cluster_metadata-0" / "00000000000000000000.log"
    segment.parent.mkdir()
    segment.write_bytes(batch)
    for form in ("table", "tsv", "csv", "jsonl"):
        for more in ((), ("--records",)):
            assert main(["segments", str(segment), "--format", form, *more]) == 0
            captured = capfdbinary.readouterr()
            assert captured.out
            search(captured.out + captured.err, (form, more))
    assert main(["segments", str(segment), "--format", "jsonl", "--records", "--show-secrets"]) == 0
    out = capfdbinary.readouterr().out
    assert any(needle in out for needle in ALL_NEEDLES)


def test_no_metric_holds_one(capture: str) -> None:
    client = pytest.importorskip("prometheus_client", reason="needs the extra metrics")
    from kdissect.metrics.catalogue import of_snapshot
    from kdissect.metrics.collector import MetricCollector
    from kdissect.metrics.meter import Meter

    dissection = Dissection(capture)
    meter = Meter(dissection.topics, 1000)
    dissection.observer = meter.take
    assert len(list(dissection)) > 20
    registry = client.CollectorRegistry()
    registry.register(MetricCollector(of_snapshot(meter.snapshot)))
    text = client.generate_latest(registry)
    assert b"SaslAuthenticate" in text
    search(text, "metrics")


@pytest.mark.exhaustive
def test_no_view_on_the_screen_shows_one(capture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`test_secrets` looks at all fields and bytes; here are the whole screens, the stream and the copies."""
    pytest.importorskip("textual", reason="needs textual")
    from tests.tui.screens import screen, text_of, until

    async def look() -> None:
        seen = []
        async with screen(monkeypatch, capture, size=(240, 60)) as (app, pilot):
            for key in "12345678":
                await pilot.press(key)
                await until(pilot, lambda: not any(worker.is_running for worker in app.workers))
                await pilot.pause()
                seen.append(text_of(app))
            await pilot.press("1", "s")
            await until(pilot, lambda: not any(worker.is_running for worker in app.workers))
            for _ in range(3):
                await pilot.pause(0.05)
                seen.append(text_of(app))
                await pilot.press("f")
            await pilot.press("escape", "y")
            await pilot.pause(0.05)
            seen.append(text_of(app))
        text = "\n".join(seen)
        assert "SaslAuthenticate" in text
        search(text.encode(), "screen")

    asyncio.run(look())


def bodies() -> Iterator[tuple[bytes, Callable[[bytes], object]]]:
    for key, version, asked, answered in exchanges():
        yield encode_request(key, version, 1, "me", asked), decode_request
        yield (
            encode_response(key, version, 1, answered),
            lambda data, key=key, version=version: decode_response(data, key, version),
        )


def test_no_exception_says_one(caplog: pytest.LogCaptureFixture) -> None:
    """What does not fit is told with its path and place, never with its bytes; locals are not in the text."""
    caplog.set_level(logging.DEBUG)
    told = []
    for whole, decode in bodies():
        for cut in range(4, len(whole), 5):
            content = whole[4:cut]
            try:
                decode(len(content).to_bytes(4) + content)
            except DecodeError as error:
                told += [str(error), repr(error), *traceback.format_exception(error)]
                told += [repr(value) for value in vars(error).values()]
    assert len(told) > 500
    search("\n".join(told).encode(), "exceptions")
    assert not caplog.records


def test_a_crash_shows_no_bytes(capture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of kdissect ends with a traceback, which shows code and no values."""
    from kdissect.session.conversation import Conversation

    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Conversation, "_unusual_request", broken)
    with pytest.raises(RuntimeError) as caught:
        main(["inspect", capture])
    search("".join(traceback.format_exception(caught.value)).encode(), "traceback")
    assert sys.excepthook is sys.__excepthook__
