"""Logs of all forms with random damage: nothing raises, and what is not damaged is read."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random

import pytest

from kdissect.api import Dissection
from kdissect.capture.formats.file_format import parser_for
from kdissect.cli import main
from kdissect.engine.listed_rows import ListedRows
from kdissect.model.anomaly import AnomalyKind
from tests.capture.test_proxy_log import log as proxy_log
from tests.decoders.test_logged_text import LINE
from tests.support.console import CAPTURES

RECORDED = CAPTURES / "logged" / "recorded"
FORMS = ("kafka24", "kafka27", "kafka28", "kafka44", "proxy")
PIECES = (
    b"", b"{", b"}", b"[", b"]", b'"', b",", b"=", b"\\", b"\x00", b"\xff\xfe", b"\n", b"null", b"-1",
    b"9" * 30, b"9" * 5000, b"Completed request:", b"RequestHeader(apiKey=", b"{api_key=", b'{"header" : {',
    b"\r\n", b" from connection ", "é日".encode(), b"}" * 2000, b"[" * 3000,
)  # fmt: skip


def content(form: str) -> bytes:
    if form == "proxy":
        return proxy_log().encode()[:250_000]
    lines = gzip.decompress((RECORDED / f"{form}.requests.log.gz").read_bytes()).splitlines(keepends=True)
    return b"".join(lines[40:240])


def damaged(data: bytes, random: Random) -> bytes:
    out = bytearray(data)
    for _ in range(random.randrange(1, 12)):
        at = random.randrange(len(out))
        turn = random.random()
        if turn < 0.4:
            out[at : at + random.randrange(1, 9)] = random.choice(PIECES)
        elif turn < 0.6:
            out[at] = random.randrange(256)
        elif turn < 0.8:
            del out[at : at + random.choice((1, 40, 3000))]
        else:
            start = random.randrange(len(out))
            out[at:at] = out[start : start + random.choice((10, 700, 9000))]
    return bytes(out)


@pytest.mark.parametrize("form", FORMS)
def test_damage_raises_nothing(form: str, tmp_path: Path) -> None:
    data, random = content(form), Random(form)
    path = tmp_path / "a.log"
    path.write_bytes(data)
    whole = len(list(Dissection(str(path))))
    for _ in range(12):
        path.write_bytes(damaged(data, random))
        dissection = Dissection(str(path))
        rows = ListedRows(dissection.file_names, bodies=True)
        found = [rows.row(exchange) for exchange in dissection]
        assert len(found) > whole // 2
        assert dissection.guard.errors == []
        assert dissection.captures.errors == []


@pytest.mark.parametrize("form", FORMS)
def test_a_mixed_file_is_read_as_what_it_begins_with(form: str, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"".join(content(one) for one in (form, *FORMS)))
    head = content(form)
    kind = parser_for(head)
    assert kind is not None
    assert len(list(Dissection(str(path)))) >= len(kind().feed(head)) // 2 - 5


@pytest.mark.parametrize("command", ["stats", "check", "why", "inspect", "groups", "upgrade"])
def test_commands_end_with_an_exit_code(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    random = Random(command)
    for form in ("kafka27", "kafka44", "proxy"):
        path = tmp_path / f"{form}.log"
        path.write_bytes(damaged(content(form), random))
        more = ["--target", "4.4"] if command == "upgrade" else []
        assert main([command, str(path), *more]) in (0, 1, 3)
    assert "fault of kdissect" not in capfd.readouterr().err


def text_lines(*texts: str) -> str:
    return "".join(
        f"[2026-11-30 07:31:{at:02d},000] DEBUG Completed request:{text}\n" for at, text in enumerate(texts)
    )


def anomalies(dissection: Dissection) -> list[str]:
    return dissection.captures.files[0].anomaly_texts(AnomalyKind.UNREAD_LINE)


@pytest.mark.parametrize("digits", ["9" * 5000, "-" + "9" * 5000, "2147483648", "-2147483649"])
@pytest.mark.parametrize(
    "place",
    ["correlationId=7)", "apiVersion=0", "throttleTime:0", "generation_id=1", "error_code=0"],
)
def test_a_number_that_is_too_large_costs_only_its_line(place: str, digits: str, tmp_path: Path) -> None:
    number = place.rstrip(")").rpartition("=")[2].rpartition(":")[2]
    large = LINE.replace(place, place.replace(number, digits))
    path = tmp_path / "a.log"
    path.write_text(text_lines(LINE, large, LINE, LINE))
    dissection = Dissection(str(path))
    is_body = "_" in place
    assert len(list(dissection)) == (4 if is_body else 3)
    assert dissection.captures.errors == []
    (text,) = anomalies(dissection)
    assert ("1 exchange with a body" if is_body else "1 request in the text form") in text
    assert text.endswith("in line 2")


OTHER = LINE.replace("clientId=a,", "clientId=b,").replace("correlationId=7)", "correlationId=8)")
LOSSY = LINE.replace("HEARTBEAT", "PRODUCE").replace("{group_id=g,generation_id=1,member_id=m}", "{acks=1}")


def found(path: Path, content: str) -> tuple[list[tuple[str | None, int | None]], list[str]]:
    path.write_text(content)
    dissection = Dissection(str(path))
    return [(one.client_id, one.correlation_id) for one in dissection], anomalies(dissection)


@pytest.mark.parametrize("first", [LINE, LOSSY])
@pytest.mark.parametrize("second", [OTHER, OTHER.replace("{error_code=0}", "{error")])
@pytest.mark.parametrize("suffix", [" (kafka.request.logger)", ""])
def test_two_texts_in_one_line_are_both_read(first: str, second: str, suffix: str, tmp_path: Path) -> None:
    first = first.replace(" (kafka.request.logger)", suffix)
    first = first if suffix else first.partition(",clientInformation")[0]
    content = text_lines(first, second, second).replace("\n", "", 1)
    rows, _ = found(tmp_path / "a.log", content)
    assert [number for _, number in rows] == [7, 8, 8]


@pytest.mark.parametrize("first", [LINE, LOSSY])
@pytest.mark.parametrize("second", [OTHER, LOSSY.replace("correlationId=7)", "correlationId=8)")])
def test_a_cut_text_and_the_next_cost_only_the_first(first: str, second: str, tmp_path: Path) -> None:
    # In a client id, the next one may be a part of it.
    least = first.index("{") if first is LINE or second is not OTHER else 30
    for kept in range(least, first.index("listener:"), 7):
        content = text_lines(first[:kept], second).replace("\n", "", 1)
        rows, texts = found(tmp_path / "a.log", content)
        assert [number for _, number in rows] == [8]
        assert any(
            "1 request in the text form of Kafka 2.7 and earlier that is cut" in text for text in texts
        )


def test_a_cut_text_and_the_next_without_its_beginning_are_not_read(tmp_path: Path) -> None:
    rows, texts = found(tmp_path / "a.log", text_lines(LINE[:100] + OTHER, OTHER))
    assert rows == [("b, correlationId=9", 8)]
    assert len(texts) == 1


@pytest.mark.parametrize(
    "client_id",
    [
        "Completed request:",
        "Completed request:RequestHeader(apiKey=",
        'Completed request:{"requestHeader":{}}',
        "[2026-11-30 07:31:00,000] DEBUG Completed request:RequestHeader(apiKey=FETCH, apiVersion=1, c=",
        "[2026-11-30 07:31:00,000] DEBUG Completed request:RequestHeader(apiKey=HEARTBEAT, apiVersion=0, "
        "clientId=",
        '[2026-11-30 07:31:00,000] DEBUG Completed request:{"requestHeader":{}}',
    ],
)
def test_a_client_id_may_contain_the_beginning_of_a_request(client_id: str, tmp_path: Path) -> None:
    for id_ in (client_id, client_id * 3):
        line = LINE.replace("clientId=a, correlationId=9", f"clientId={id_}")
        rows, texts = found(tmp_path / "a.log", text_lines(line, OTHER))
        assert rows == [(id_, 7), ("b, correlationId=9", 8)]
        assert texts == []


def test_binary_files_are_no_logs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(Random(1).randbytes(200_000))
    assert main(["stats", str(path)]) == 3
    assert "not a capture" in capfd.readouterr().err
