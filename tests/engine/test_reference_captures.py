"""The reference captures: every exchange found, every body decoded, damage costs only what it damaged."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.exchange_rows import ExchangeRows
from kdissect.model.packets.packet import ref_file
from kdissect.session.exchange import Exchange
from tests.support.captures import counts, exchanges, manifest

ORIGINAL = "tansu_rdk216_codecs.pcap"


def names() -> list[str]:
    """Return names known without the reference material, so that a missing one is skipped with its reason."""
    return [
        "dmg_tansu_rdk216_codecs_badcrc.pcap",
        "dmg_tansu_rdk216_codecs_bigendian.pcap",
        "dmg_tansu_rdk216_codecs_cutfile.pcap",
        "dmg_tansu_rdk216_codecs_dup.pcap",
        "dmg_tansu_rdk216_codecs_loss1.pcap",
        "dmg_tansu_rdk216_codecs_reorder.pcap",
        "dmg_tansu_rdk216_codecs_seqwrap.pcap",
        "dmg_tansu_rdk216_codecs_vlan.pcap",
        "mock_rdk216_groups.pcap",
        "mock_rdk216_txn.pcap",
        "tansu_kp147v09_codecs.pcap",
        "tansu_kp202_admin.pcap",
        "tansu_kp202_codecs.pcap",
        "tansu_kp3_codecs.pcap",
        "tansu_kp3_groups.pcap",
        "tansu_rdk216_acks.pcap",
        "tansu_rdk216_admin.pcap",
        "tansu_rdk216_any_sll.pcap",
        "tansu_rdk216_codecs.pcap",
        "tansu_rdk216_coop.pcap",
        "tansu_rdk216_dumpcap.pcapng",
        "tansu_rdk216_errors.pcap",
        "tansu_rdk216_groups.pcap",
        "tansu_rdk216_idem.pcap",
        "tansu_rdk216_kip848.pcap",
        "tansu_rdk216_large.pcap",
        "tansu_rdk216_midstream.pcap",
        "tansu_rdk216_mss_codecs.pcap",
        "tansu_rdk216_nano.pcap",
        "tansu_rdk216_pipeline.pcap",
        "tansu_rdk216_rotated.pcap",
        "tansu_rdk216_rotated.pcap1",
        "tansu_rdk216_rotated.pcap2",
        "tansu_rdk216_rotated.pcap3",
        "tansu_rdk216_rotated.pcap4",
        "tansu_rdk216_rotated.pcap5",
        "tansu_rdk216_sasl_PLAIN.pcap",
        "tansu_rdk216_share.pcap",
        "tansu_rdk216_txn.pcap",
    ]


# Where the scanners' counts are not the truth, and why.
CORRECTED: dict[str, dict[str, Any]] = {
    # 524,231 of the 1,000,118 bytes of a Produce request stand at the end of this part, the rest in the next:
    # 300 requests in both counts, but the scanners left this one out of the counts by API.
    "tansu_rdk216_rotated.pcap1": {
        "api": {"8v9": 39, "18v3": 8, "3v12": 6, "19v4": 2, "71v0": 3, "0v10": 241, "1v16": 1}
    },
    # Both parts hold nothing but the middle of one Fetch response of 3,000,336 bytes, which begins in part 2
    # and ends in part 5: no response begins here. (`test_rotated_set` shows it whole.)
    "tansu_rdk216_rotated.pcap3": {"responses": 0},
    "tansu_rdk216_rotated.pcap4": {"responses": 0},
}


@pytest.mark.parametrize("name", names())
def test_counts_of_two_independent_scanners(reference: Path, name: str) -> None:
    expected = {**manifest(reference)[name], **CORRECTED.get(name, {})}
    found = counts(exchanges(reference, name))
    assert found == {key: expected[key] for key in found}


def test_rotated_set(reference: Path) -> None:
    """The parts read as one set: what crosses their borders is whole."""
    found = list(Dissection(str(reference / "captures" / "tansu_rdk216_rotated.pcap*")))
    assert (len(found), Counter(str(e.state) for e in found)) == (373, {"complete": 372, "unanswered": 1})
    big = max(found, key=lambda e: e.response.size if e.response else 0)
    assert big.response is not None and not big.response.is_cut
    assert (big.response.size, ref_file(big.response.first_ref), ref_file(big.response.last_ref)) == (
        3_000_332,
        2,
        5,
    )


def essence(found: list[Exchange]) -> list[Any]:
    """Return all fields of the rows with bodies, but packets, times and anomalies.

    A connection's identity hashes the name of its capture and its first packet's time, so the order of
    connections stands for it.
    """
    rows = ExchangeRows(["x"] * 10, bodies=True)
    shown = []
    for exchange in found:
        row = rows.row(exchange)
        for key in ("number", "connection", "capture_set", "anomalies", "latency_ns"):
            del row[key]
        row["closed"] = row["closed"] and {**row["closed"], "after_ns": 0}
        for side in ("request", "response"):
            if row[side] is not None:
                row[side] = {
                    k: v
                    for k, v in row[side].items()
                    if k not in ("packets", "time", "time_ns", "end_time_ns")
                }
        shown.append(row)
    return sorted(shown, key=lambda row: (row["client"], row["broker"], row["exchange"]))


@pytest.mark.parametrize("damage", ["reorder", "dup", "vlan", "bigendian", "seqwrap"])
def test_harmless_damage_changes_nothing(reference: Path, damage: str) -> None:
    original = essence(exchanges(reference, ORIGINAL))
    damaged = essence(exchanges(reference, f"dmg_tansu_rdk216_codecs_{damage}.pcap"))
    assert len(damaged) == len(original) == 100
    for ours, theirs in zip(damaged, original, strict=True):
        assert ours == theirs


def test_bad_crc_is_no_matter_of_the_list(reference: Path) -> None:
    original = exchanges(reference, ORIGINAL)
    damaged = exchanges(reference, "dmg_tansu_rdk216_codecs_badcrc.pcap")
    assert counts(damaged) == counts(original)
    assert not any(exchange.all_anomalies() for exchange in damaged)


def test_loss_costs_only_exchanges_whose_own_bytes_are_missing(reference: Path) -> None:
    original = {row_key(row): row for row in essence(exchanges(reference, ORIGINAL))}
    damaged = {
        row_key(row): row for row in essence(exchanges(reference, "dmg_tansu_rdk216_codecs_loss1.pcap"))
    }
    assert damaged.keys() == original.keys()
    hurt = [key for key in original if damaged[key] != original[key]]
    assert 0 < len(hurt) <= 2  # two packets are missing
    for key in hurt:
        assert any("captured" in damaged[key][side] for side in ("request", "response"))


def test_a_cut_file_keeps_everything_before_the_cut(reference: Path) -> None:
    original = {row_key(row): row for row in essence(exchanges(reference, ORIGINAL))}
    run = Dissection(str(reference / "captures" / "dmg_tansu_rdk216_codecs_cutfile.pcap"))
    cut = {row_key(row): row for row in essence(list(run))}
    assert not run.captures.errors
    assert [str(a.kind) for f in run.captures.files for a in f.anomalies] == ["cut_capture"]
    assert cut.keys() == original.keys()
    hurt = [key for key in original if cut[key] != original[key]]
    assert len(hurt) == 1
    assert (cut[hurt[0]]["state"], original[hurt[0]]["state"]) == ("unanswered", "complete")


def row_key(row: dict[str, Any]) -> tuple[str, str, int]:
    """Return what an exchange is known by across damage: endpoints and ordinal."""
    return row["client"], row["broker"], row["exchange"]


MOCK, TANSU, RDK = "librdkafka 2.16.0 mock broker", "tansu 0.6.0", "librdkafka 2.16.0"
# Bodies whose bytes are wrong: (API, version, side) -> software, reason. Checked by hand against Apache's
# definitions.
WRONG_BYTES = {
    ("Metadata", 12, "request", "trailing"): (
        RDK,
        "topics as int32 0 where a compact count of 1 byte belongs",
    ),
    ("AlterUserScramCredentials", 0, "request", "trailing"): (RDK, "one tag section too many"),
    ("ApiVersions", 3, "response", "trailing"): (MOCK, "error 35 in v3 with a count of 0 before one entry"),
    ("Metadata", 13, "response", "trailing"): (MOCK, "a byte behind the last tag section"),
    ("SyncGroup", 3, "response", "error"): (MOCK, "assignment null, which is not nullable"),
    ("ListOffsets", 0, "response", "error"): (TANSU, "partitions without the array of offsets of v0"),
    ("OffsetFetch", 3, "response", "error"): (TANSU, "no throttle time and no topics"),
    ("CreateAcls", 1, "response", "error"): (TANSU, "body ends after the throttle time"),
    ("CreateAcls", 2, "response", "error"): (TANSU, "results null, which is not nullable"),
    ("DescribeUserScramCredentials", 0, "response", "error"): (TANSU, "results null, which is not nullable"),
}


def wrong_bodies(reference: Path, name: str) -> set[tuple[str, int, str, str]]:
    """Return API, version, side and kind of every whole body that does not decode to its last byte."""
    rows = ExchangeRows([name], bodies=True)
    wrong = set()
    for exchange in exchanges(reference, name):
        row = rows.row(exchange)
        for side in ("request", "response"):
            if row[side] is not None and row[side]["error"] and "captured" not in row[side]:
                wrong.add((row["api"], row["api_version"], side, "error"))
        for anomaly in row["anomalies"]:
            if anomaly["kind"] == "trailing_bytes":
                side = "request" if "request" in anomaly["detail"] else "response"
                wrong.add((row["api"], row["api_version"], side, "trailing"))
    return wrong


@pytest.mark.parametrize("name", names())
def test_every_body_decodes_to_its_last_byte(reference: Path, name: str) -> None:
    client_and_server = " ".join(str(manifest(reference)[name][key]) for key in ("client", "server"))
    for wrong in wrong_bodies(reference, name):
        software, _reason = WRONG_BYTES[wrong]
        words = software.removesuffix(" broker").split()
        assert all(word in client_and_server for word in words) or client_and_server.startswith("(rewritten)")


def test_wrong_bytes_are_still_wrong(reference: Path) -> None:
    """The list above names nothing that decodes by now."""
    seen = set().union(*(wrong_bodies(reference, name) for name in names()))
    assert seen == WRONG_BYTES.keys()
