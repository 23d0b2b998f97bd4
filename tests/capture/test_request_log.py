"""Request logs as captures: against the packets that were recorded with them, and with damage."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.capture.files import open_captures
from kdissect.capture.formats import request_log
from kdissect.capture.formats.request_log import NOTED, RequestLogParser
from kdissect.cli import main
from kdissect.decoders.logged_bodies import UnreadableBodyError, logged_body, placeholder, placeholder_size
from kdissect.history import api_keys as apis
from kdissect.model.packets.logged import Logged
from kdissect.model.packets.packet import is_before, line_ref, packet_ref, span_text
from kdissect.model.packets.process import LocalEnd, Process, as_segment, local_end_of
from kdissect.schema.protocol_messages import request_message, response_message
from kdissect.session.exchange import State
from kdissect.stats.traffic import Tally
from tests.capture.log_rows import NOT_LOGGED, USES, by_key, differences, rows
from tests.support.console import CAPTURES

LOGS = sorted(CAPTURES.glob("*.requests.log.gz"))
LOG = CAPTURES / "kafka44_java_admin.requests.log.gz"


def lines(path: Path = LOG) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name.partition(".")[0])
def test_a_log_has_the_exchanges_of_the_packets(log: Path) -> None:
    packets = next(log.parent.glob(log.name.replace(".requests.log.gz", ".pcap*")))
    captured, logged = by_key(rows(packets)), by_key(rows(log))
    common = captured.keys() & logged.keys()
    assert len(common) > 170
    assert [(key, list(differences(captured[key], logged[key]))) for key in common
            if list(differences(captured[key], logged[key]))] == []  # fmt: skip
    missing = captured.keys() - common
    # ApiVersions before SASL is answered where SASL is
    assert {key[1] for key in missing} <= NOT_LOGGED | {apis.API_VERSIONS}
    brokers = {row["broker"] for row in captured.values()}
    assert all(logged[key]["broker"] not in brokers for key in logged.keys() - common)  # of other listeners


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name.partition(".")[0])
def test_upgrade_says_the_same(log: Path, tmp_path: Path) -> None:
    packets = next(log.parent.glob(log.name.replace(".requests.log.gz", ".pcap*")))
    ports = sorted({row["broker"].rpartition(":")[2] for row in rows(packets)})
    found = []
    for path in (packets, log):
        out = tmp_path / path.name
        only = [word for port in ports for word in ("--only-port", port)]
        main(["upgrade", str(path), "--target", "4.4", "--allow-unread", *only, "--json", "-o", str(out)])
        uses = json.loads(out.read_text())["uses"]
        found.append({tuple(use[name] for name in USES) for use in uses if use["api_key"] not in NOT_LOGGED})
    assert found[1] <= found[0]
    assert {use[3] for use in found[0] - found[1]} == {apis.API_VERSIONS}  # before SASL


def test_sizes_and_records_are_not_known() -> None:
    row = next(row for row in rows(LOG) if row["api_key"] == apis.PRODUCE)
    assert row["request"]["bytes"] is row["response"]["bytes"] is None
    parts = row["request"]["body"]["topic_data"][0]["partition_data"]
    assert [part["records"] for part in parts] == [{"bytes": 100}, {"bytes": 100}, {"bytes": 80}]


def test_frames_are_lines(tmp_path: Path) -> None:
    found = lines()
    for row in rows(LOG):
        first = row["request"]["packets"]["first"]
        assert f'"correlationId":{row["correlation_id"]},' in found[first - 1]


def run(capfd: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_counts_of_what_is_not_logged_are_null(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, err = run(capfd, "stats", LOG, "--json")
    facts = json.loads(out)
    assert {row["request_bytes"] for row in (*facts["rows"], facts["total"])} == {None}
    assert {point["response_bytes"] for point in facts["over_time"]["points"]} == {None}
    assert "a request log does not contain records" in err
    assert "41 forwarded requests left out" in err
    facts = json.loads(run(capfd, "topics", LOG, "--json")[1])
    assert {row["written"]["records"] for row in facts["topics"]} == {None}


def test_bytes_of_topics_are_those_of_the_packets(capfd: pytest.CaptureFixture[str]) -> None:
    sums = []
    for path in (LOG, CAPTURES / "kafka44_java_admin.pcapng"):
        topics = json.loads(run(capfd, "topics", path, "--json")[1])["topics"]
        sums.append([(row["topic"], row["written"]["bytes"], row["read"]["bytes"]) for row in topics])
    assert sums[0] == sums[1] != []


def test_offsets_that_nobody_knows_are_no_jumps(capfd: pytest.CaptureFixture[str]) -> None:
    """Where a consumer goes on behind records of unknown offsets is no seek."""
    facts = json.loads(run(capfd, "offsets", LOG, "--json")[1])
    assert facts["positions"] == []
    assert [row["what"] for row in facts["commits"]] == ["back, by a client that is no member"]


def test_producers_have_no_counts(capfd: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(run(capfd, "producers", LOG, "--json")[1])
    assert {row["records"] for row in facts["producers"]} == {None}
    assert {one["batches"] for row in facts["transactional_ids"] for one in row["transactions"]} == {None}


def test_nothing_is_found_that_packets_contradict(capfd: pytest.CaptureFixture[str]) -> None:
    for log in LOGS:
        assert run(capfd, "check", log)[0] == 0
        _, out, _ = run(capfd, "why", log, "--json")
        packets = next(log.parent.glob(log.name.replace(".requests.log.gz", ".pcap*")))
        _, of_packets, _ = run(capfd, "why", packets, "--json")
        ids = [{cause["id"] for cause in json.loads(text)["causes"]} for text in (out, of_packets)]
        assert ids[0] <= ids[1]


def test_times_of_the_broker_are_fields(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(
        capfd, "inspect", LOG, "-Y", "broker.remote > 90ms and listener == PLAINTEXT", "-e",
        "api,broker.queue,broker.local,broker.remote,broker.throttle,broker.response_queue,broker.send",
        "--format", "tsv", "--no-header",
    )  # fmt: skip
    (first, *_) = out.splitlines()
    assert first.split("\t") == ["CreateTopics", "3393000", "5127000", "103091000", "0", "890000", "268000"]


def test_each_exchange_has_the_principal_of_its_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A client logs in again on its connection."""
    log = lines(CAPTURES / "logged" / "recorded" / "kafka44.requests.log.gz")
    seen: Counter[str] = Counter()
    for number, line in enumerate(log):
        found = re.search(r'"connection":"([^"]*)"', line)
        if found is not None:
            seen[found[1]] += 1
            log[number] = re.sub(r"User:[^\"]*", f"User:{seen[found[1]] // 3 % 3}", line)
    path = tmp_path / "principals.log"
    path.write_text("".join(log))
    _, out, _ = run(
        capfd, "inspect", path, "-e", "principal,request.packets.first", "--format", "tsv", "--no-header"
    )
    rows = [row.split("\t") for row in out.splitlines()]
    assert len(rows) > 800
    assert [row for row in rows if f'"principal":"User:{row[0]}"' not in log[int(row[1]) - 1]] == []
    _, out, _ = run(capfd, "stats", path, "--by", "principal", "--format", "jsonl", "--table", "rows")
    counts = {row["principal"]: row["exchanges"] for row in map(json.loads, out.splitlines())}
    assert counts == Counter(row[0] for row in rows)


def test_directories_are_searched_for_packets_only(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.log").write_text("".join(lines()[:9]))
    code, _, err = run(capfd, "stats", tmp_path)
    assert code == 3
    assert "1 request log in it: name the files" in err
    (tmp_path / "a.pcapng").write_bytes((CAPTURES / "kafka44_java_admin.pcapng").read_bytes())
    assert {file.path for file in open_captures([tmp_path]).files} == {str(tmp_path / "a.pcapng")}


def test_rotated_files_go_on_with_connections(tmp_path: Path) -> None:
    whole = lines()
    (tmp_path / "kafka-request.log.2026-11-21-14").write_text("".join(whole[:100]))
    (tmp_path / "kafka-request.log.2026-11-21-15").write_text("".join(whole[100:200]))
    with gzip.open(tmp_path / "kafka-request.log.gz", "wt") as file:
        file.write("".join(whole[200:]))
    found = rows(*sorted(tmp_path.iterdir()))
    expected = rows(LOG)
    assert len({row["connection"] for row in found}) == len({row["connection"] for row in expected})
    assert [row["request"]["body"] for row in found] == [row["request"]["body"] for row in expected]


def test_logs_of_several_brokers_are_one_set_in_time(tmp_path: Path) -> None:
    for number in (0, 1):
        (tmp_path / str(number)).mkdir()
        kept = [line for line in lines() if ('"connection":"127.0.0.1:19011-' in line) is bool(number)]
        (tmp_path / str(number) / "kafka-request.log").write_text("".join(kept))
    found = rows(tmp_path / "0" / "kafka-request.log", tmp_path / "1" / "kafka-request.log")
    assert len({row["capture_set"] for row in found}) == 1
    ends = [row["response"]["end_time_ns"] for row in found]
    assert len(ends) == len(rows(LOG))
    assert ends == sorted(ends)


def test_standard_input() -> None:
    stdin = BytesIO(b"log4j:WARN nothing\n" + gzip.decompress(LOG.read_bytes()))
    captures = open_captures(["-"], stdin=stdin)
    assert sum(map(len, captures.batches())) == 516
    assert captures.files[0].format == "request log"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda line: line[:700] + "\n", "no JSON"),
        (lambda line: line[:700] + line, "no JSON"),  # a second writer
        (lambda line: line.replace('"totalTimeMs":', '"total":'), "no request"),
        (lambda line: line.replace('"requestHeader":{', '"requestHeader":[1],"x":{'), "no request"),
        (lambda line: line.replace("127.0.0.1:19012-", "somewhere-"), "no request"),
        (lambda line: line[line.index("Completed") :], "no time"),
        (lambda line: line.replace('"requestApiKey":3,', '"requestApiKey":3000,'), "unknown version"),
        (lambda line: line.replace('"requestApiVersion":13', '"requestApiVersion":99'), "unknown version"),
        (lambda line: line.replace('"request":{', '"request":null,"x":{'), "no body"),
        (lambda line: line.replace('"includeTopicAuthorizedOperations":', '"includeTopics":'), "unread body"),
        (lambda line: line.replace('"clusterId":', '"clusterUuid":'), "unread body"),
        (lambda line: line[:35] + " Completed request:RequestHeader(apiKey=METADATA\n", "no text"),
        (lambda line: line.replace('"topics":[]', '"topics":' + "[" * 100_000), "no JSON"),
        (lambda line: line.replace('"topics":[]', f'"recordsSizeInBytes":{1 << 64}', 1), "unread body"),
    ],
)  # fmt: skip
def test_damage_is_counted_and_costs_its_line(change: Any, kind: str, tmp_path: Path) -> None:
    whole = lines()
    at = next(i for i, line in enumerate(whole) if '"requestApiKey":3,' in line and ":19012-" in line)
    (tmp_path / "a.log").write_text("".join([*whole[:at], change(whole[at]), *whole[at + 1 :]]))
    captures = open_captures([tmp_path / "a.log"])
    assert sum(map(len, captures.batches())) >= 514
    (file,) = captures.files
    assert file.error is None
    (anomaly,) = file.anomalies
    assert anomaly.detail.startswith(f"1 {NOTED[kind][0]} {NOTED[kind][1]}, the first in line {at + 1}")
    assert len(rows(tmp_path / "a.log")) >= 257


def test_a_body_that_is_not_known_is_missing(tmp_path: Path) -> None:
    line = next(line for line in lines() if '"requestApiKey":3,' in line and ":19012-" in line)
    (tmp_path / "a.log").write_text(line.replace('"request":{', '"request":null,"x":{'))
    (row,) = rows(tmp_path / "a.log")
    assert row["request"]["body"] is None
    assert row["request"]["error"].startswith("not in the request log")
    assert row["response"]["body"]["brokers"]
    assert [found["kind"] for found in row["anomalies"]] == ["cut_frame"]


def test_a_line_that_is_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_log, "MAX_LINE", 5000)
    parser = RequestLogParser()
    for line in (*lines()[:3], "x" * 20_000 + "\n", *lines()[3:5]):
        for at in range(0, len(line), 900):
            parser.feed(line[at : at + 900].encode())
            assert sum(map(len, parser._part)) <= 5000
    parser.close()
    assert parser.packets
    assert parser.noted["too long"] >= 1


def test_any_cut_of_the_input_gives_the_same_packets() -> None:
    data = "".join(lines()[:12]).encode()
    whole = RequestLogParser().feed(data)
    for size in (1, 7, 4096):
        parser = RequestLogParser()
        assert [one for at in range(0, len(data), size) for one in parser.feed(data[at : at + size])] == whole


def test_a_last_line_without_its_end_counts() -> None:
    parser = RequestLogParser()
    data = "".join(lines()[:2]).encode().rstrip(b"\n")
    assert len(parser.feed(data)) == 2
    assert len(parser.last_block()) == 2


@pytest.mark.parametrize(
    ("prefix", "time"),
    [
        ("[2026-11-21 15:27:38,148] DEBUG", "2026-11-21T15:27:38.148000000Z"),
        ("2026-11-21T15:27:38.148123Z DEBUG [x] kafka.request.logger -", "2026-11-21T15:27:38.148123000Z"),
        ("2026-11-21 15:27:38,148+0100 DEBUG", "2026-11-21T14:27:38.148000000Z"),
    ],
)
def test_prefixes_of_log4j(prefix: str, time: str, tmp_path: Path) -> None:
    line = lines()[0]
    (tmp_path / "a.log").write_text(f"{prefix} {line[line.index('Completed') :]}")
    (row,) = rows(tmp_path / "a.log")
    assert row["response"]["time"] == time


def test_produce_without_acks_has_no_response(tmp_path: Path) -> None:
    line = next(line for line in lines() if '"requestApiKey":0,' in line)
    start, end = line.index('"response":'), line.index(',"connection"')
    for response in ("null", '""'):
        text = line[:start] + f'"response":{response}' + line[end:]
        (tmp_path / "a.log").write_text(text.replace('"acks":-1', '"acks":0'))
        (row,) = rows(tmp_path / "a.log")
        assert row["state"] == "no_response_expected"


def test_secrets_are_masked(capfd: pytest.CaptureFixture[str]) -> None:
    whole = "".join(lines())
    secrets = {
        value
        for line in lines()
        if (row := json.JSONDecoder().raw_decode(line.partition("Completed request:")[2])[0])
        for value in _secrets(row)
    }
    assert len(secrets) >= 2
    assert all(secret in whole for secret in secrets)
    for words in (("--bodies", "--format", "jsonl"), ("--format", "tree")):
        _, out, _ = run(capfd, "inspect", LOG, *words)
        assert not [secret for secret in secrets if secret in out]


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name in ("hmac", "saltedPassword") and item:
                yield item
            yield from _secrets(item)
    elif isinstance(value, list):
        for item in value:
            yield from _secrets(item)


def test_packets_cannot_be_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capfd, "extract", LOG, "-o", tmp_path / "x.pcapng")
    assert (code, "is a request log, which has none" in err) == (2, True)
    code, _, err = run(capfd, "check", LOG, "--evidence", tmp_path)
    assert (code, "is a request log, which has none" in err) == (2, True)


@pytest.mark.parametrize("size", [-1, 0, 1, 1 << 40])
def test_placeholders_have_the_size(size: int) -> None:
    content = placeholder(size)
    assert content is None if size < 0 else placeholder_size(content or b"") == size


def test_names_of_earlier_releases() -> None:
    fetch = {
        "throttleTimeMs": 0, "errorCode": 0, "sessionId": 0, "responses": [
            {"topic": "t", "partitionResponses": [
                {"partition": 1, "errorCode": 0, "highWatermark": 5, "lastStableOffset": 5,
                 "logStartOffset": 0, "abortedTransactions": None, "preferredReadReplica": -1,
                 "recordSetSizeInBytes": 9}]}],
    }  # fmt: skip
    message = response_message(apis.FETCH)
    assert message is not None
    assert logged_body(message, 11, fetch)[-8:] == placeholder(9)
    with pytest.raises(UnreadableBodyError, match="no field 'topics'"):
        logged_body(message, 11, fetch | {"topics": []})
    request = request_message(apis.METADATA)
    assert request is not None
    with pytest.raises(UnreadableBodyError, match="missing"):
        logged_body(request, 1, {})


@pytest.mark.parametrize(
    ("api_key", "body"),
    [
        (56, {"throttleTimeMs": 0, "errorCode": 0, "topics": [{"name": "t", "partitions": [
            {"partitionIndex": 0, "errorCode": 0, "leaderId": 1, "leaderEpoch": 2, "isr": [1],
             "currentIsrVersion": 3}]}]}),
        (74, {"throttleTimeMs": 0, "errorCode": 0, "clientMetricsResources": [{"name": "metrics"}]}),
    ],
)  # fmt: skip
def test_messages_with_another_name_in_earlier_releases(api_key: int, body: Any) -> None:
    """AlterIsr of Kafka 2.8 is AlterPartition, ListClientMetricsResources up to 4.0 ListConfigResources."""
    message = response_message(api_key)
    assert message is not None
    assert logged_body(message, 0, body)


def test_lines_that_python_reads_are_of_their_connection_alone(tmp_path: Path) -> None:
    """The clients come again with the same ports: the native engine hands their first lines to Python."""
    log = CAPTURES / "logged" / "recorded" / "kafka44.requests.log.gz"
    text = gzip.decompress(log.read_bytes()).decode()
    again = tmp_path / "again.log"
    again.write_text("".join(_later(text, turn) for turn in range(3)))
    counts = []
    for path in (log, again):
        dissection = Dissection(str(path))
        exchanges = list(dissection)
        assert {exchange.state for exchange in exchanges} == {State.COMPLETE, State.NO_RESPONSE_EXPECTED}
        counts.append((len(exchanges), len({exchange.connection.id for exchange in exchanges})))
    assert counts[1] == (3 * counts[0][0], counts[0][1])


def test_a_connection_is_open_until_it_was_silent_for_15_minutes(tmp_path: Path) -> None:
    """A log does not show how connections end. Brokers close them after 10 minutes."""
    log = CAPTURES / "logged" / "recorded" / "kafka44.requests.log.gz"
    text = gzip.decompress(log.read_bytes()).decode()
    counts = []
    for seconds in (70, 14 * 60, 20 * 60):
        again = tmp_path / f"{seconds}.log"
        again.write_text(text + _later(text, 1, seconds))
        counts.append(len({exchange.connection.id for exchange in Dissection(str(again))}))
    assert counts == [counts[0], counts[0], 2 * counts[0]]


def _later(text: str, turn: int, seconds: int = 70) -> str:
    """Return a log with higher correlation ids, so many seconds later for each turn."""

    def time_of(found: re.Match[str]) -> str:
        return f"[{str(datetime.fromisoformat(found[1]) + timedelta(seconds=seconds * turn))[:23]}"

    text = re.sub(r"(?m)^\[([^]]+)", time_of, text)
    return re.sub(r'(?<="correlationId":)\d+', lambda found: str(int(found[0]) + 20_000 * turn), text)


def test_facts_of_a_line_travel_with_packets() -> None:
    logged = Logged("a:1-b:2-3", 7, 1, None, 3, principal="x")
    assert Logged.of_comment(logged.comment().decode()) == logged
    assert Logged.of_comment("PID: 7") is None
    assert Logged.of_comment(logged.comment().decode()[:-3]) is None
    plain = logged.comment().decode()
    for wrong in ('"7"', "7.5", "07", "[7]", "7, 7", "\u0667"):
        assert Logged.of_comment(plain.replace(", 7,", f", {wrong},")) is None
    for text in ("[]", "1", "null, null", '"a", ["b"]', '"\n"'):
        assert Logged.of_comment(plain.replace('"x"', text)) is None
    for name in ('a\\b"c', "é, 1, 2", ""):
        other = logged._replace(connection=name, line=10**20, send_ns=0, software_version='x", null]')
        assert Logged.of_comment(other.comment().decode()) == other
    end = LocalEnd(Process(), None, logged)
    assert local_end_of(as_segment(b"flow", end)) == end


def test_the_longest_texts_of_a_line_fit_its_comment(tmp_path: Path) -> None:
    """A comment in pcapng has 65,535 bytes at most. Both engines write the same bytes of it."""
    longest, half = "\U0001f600" * 1000, "\ud800" * 1000
    for text in (longest, half, longest[:-1] + "\ud800"):
        logged = Logged(f"a:1-b:2-{longest}", 7, None, None, None, None, None, None, *[text] * 5)
        assert Logged.of_comment(logged.comment().decode()) == logged
        line = next(line for line in lines() if '"requestApiKey":3,' in line)
        row = json.loads(line[line.index("{") : line.rindex("}") + 1])
        row |= dict.fromkeys(("principal", "listener", "securityProtocol"), text)
        row["connection"] += f"-{longest}"
        row["clientInformation"] = {"softwareName": text, "softwareVersion": text}
        path = tmp_path / "long.log"
        path.write_text(line[: line.index("{")] + json.dumps(row) + "\n")
        (found,) = Dissection(str(path))
        assert found.request is not None
        assert found.request.logged is not None
        assert found.request.logged.listener == text


@pytest.mark.parametrize(
    "software", ["", ",clientInformation:ClientInformation(softwareName=a, softwareVersion=b)"]
)
def test_a_line_of_text_may_end_as_on_windows(software: str) -> None:
    """The pattern of a logger may have the message alone, so that the line ends with a value of it."""
    text = (
        "[2026-11-28 00:42:02,281] DEBUG Completed request:RequestHeader(apiKey=API_VERSIONS, apiVersion=0,"
        " clientId=x, correlationId=2) -- {},response:{error_code=0,api_versions=[]} from connection"
        " 127.0.0.1:1-127.0.0.1:2-4;totalTime:3.295,requestQueueTime:0.061,localTime:0.539,remoteTime:0.0,"
        "throttleTime:0,responseQueueTime:2.151,sendTime:0.542,securityProtocol:PLAINTEXT,"
        f"principal:User:ANONYMOUS,listener:PLAINTEXT{software}"
    )
    found = [RequestLogParser().feed(f"{text}{end}".encode()) for end in ("\n", "\r\n")]
    assert found[0] == found[1] != []


def test_processes_share_a_log(tmp_path: Path) -> None:
    outs = []
    for jobs in (1, 2):
        out = tmp_path / f"{jobs}.jsonl"
        assert main(["inspect", str(LOG), "--format", "jsonl", "--jobs", str(jobs), "-o", str(out)]) == 0
        outs.append(out.read_text())
    assert outs[0] == outs[1] != ""


@pytest.mark.parametrize(
    "command", ["groups", "connections", "info", "records", "logins", "changes", "access"]
)
def test_commands_read_it(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capfd, command, LOG)
    assert (code, "fault of kdissect" in err) == (0, False)
    assert out


def test_lines_are_compared_by_their_times() -> None:
    """A request stands in the line of its response, which may be behind lines of later requests."""
    assert is_before((line_ref(0, 9), 5), (line_ref(0, 3), 7))
    assert not is_before((packet_ref(0, 9), 5), (packet_ref(0, 3), 7))
    assert span_text(line_ref(2, 9), line_ref(2, 9)) == "line 9"
    assert span_text(packet_ref(2, 4), packet_ref(2, 6)) == "packets 4-6"


def test_a_sum_without_all_sizes_is_not_known() -> None:
    tally = Tally()
    tally.request_bytes = 7
    assert tally.bytes == 7
    tally.unsized = 1
    assert tally.bytes is None


def test_a_text_that_no_length_can_hold_costs_its_request(tmp_path: Path) -> None:
    """A client id has two bytes of length: 32767 bytes at most."""
    found = lines()
    path = tmp_path / "long.log"
    path.write_text(found[0].replace('"clientId":"', '"clientId":"' + "x" * 40_000, 1) + "".join(found))
    dissection = Dissection(str(path))
    assert len(list(dissection)) == len(list(Dissection(str(LOG))))
    (file,) = dissection.captures.files
    assert file.error is None
    assert "1 request without the fields of a request log" in str(file.anomalies)


def test_a_log_that_ends_early_is_not_read_to_its_end(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    content = LOG.read_bytes()
    path = tmp_path / "cut.log.gz"
    path.write_bytes(content[: len(content) // 2])
    assert main(["why", str(path)]) == 3
    out, err = capfd.readouterr()
    assert "the gzip data end early" in err
    assert "could not be read to the end" in out


@pytest.mark.parametrize("how", ["json", "jsonl", "table"])
def test_records_are_not_looked_for_in_placeholders(how: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "--format", how, str(LOG)]) == 0
    assert "cut_batch" not in capfd.readouterr().err


def test_a_log_of_text_lines_alone_is_an_input_that_cannot_be_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "old.log"
    path.write_text("[2026-11-28 00:46:11,461] DEBUG Completed request:RequestHeader(apiKey=API_VERSIONS)\n")
    assert main(["stats", str(path)]) == 3
    assert "1 request in the text form of Kafka 2.7 and earlier" in capfd.readouterr().err
