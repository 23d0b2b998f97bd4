"""The reference captures: every exchange found, every body decoded, damage costs only what it damaged."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.engine.rows import ExchangeRows
from kdissect.session.exchange import Exchange
from tests.support.captures import counts, exchanges, manifest

ORIGINAL = "tansu_rdk216_codecs.pcap"


def names() -> list[str]:
    """Names known without the reference material, so that a missing one is skipped with its reason."""
    return [
        "dmg_tansu_rdk216_codecs_badcrc.pcap", "dmg_tansu_rdk216_codecs_bigendian.pcap",
        "dmg_tansu_rdk216_codecs_cutfile.pcap", "dmg_tansu_rdk216_codecs_dup.pcap",
        "dmg_tansu_rdk216_codecs_loss1.pcap", "dmg_tansu_rdk216_codecs_reorder.pcap",
        "dmg_tansu_rdk216_codecs_seqwrap.pcap", "dmg_tansu_rdk216_codecs_vlan.pcap",
        "mock_rdk216_groups.pcap", "mock_rdk216_txn.pcap", "tansu_kp147v09_codecs.pcap", "tansu_kp202_admin.pcap",
        "tansu_kp202_codecs.pcap", "tansu_kp3_codecs.pcap", "tansu_kp3_groups.pcap", "tansu_rdk216_acks.pcap",
        "tansu_rdk216_admin.pcap", "tansu_rdk216_any_sll.pcap", "tansu_rdk216_codecs.pcap", "tansu_rdk216_coop.pcap",
        "tansu_rdk216_dumpcap.pcapng", "tansu_rdk216_errors.pcap", "tansu_rdk216_groups.pcap", "tansu_rdk216_idem.pcap",
        "tansu_rdk216_kip848.pcap", "tansu_rdk216_large.pcap", "tansu_rdk216_midstream.pcap",
        "tansu_rdk216_mss_codecs.pcap", "tansu_rdk216_nano.pcap", "tansu_rdk216_pipeline.pcap",
        "tansu_rdk216_rotated.pcap", "tansu_rdk216_rotated.pcap1", "tansu_rdk216_rotated.pcap2",
        "tansu_rdk216_rotated.pcap3", "tansu_rdk216_rotated.pcap4", "tansu_rdk216_rotated.pcap5",
        "tansu_rdk216_sasl_PLAIN.pcap", "tansu_rdk216_share.pcap", "tansu_rdk216_txn.pcap",
    ]  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_counts_of_two_independent_scanners(reference: Path, name: str) -> None:
    expected = manifest(reference)[name]
    found = counts(exchanges(reference, name))
    assert found == {key: expected[key] for key in found}
