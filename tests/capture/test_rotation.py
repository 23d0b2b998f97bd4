"""Names of rotated files, as tcpdump and dumpcap make them."""

import pytest

from kdissect.capture.rotation import set_names


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("trace.pcap", "trace"),
        ("trace.pcapng", "trace"),
        ("trace.cap", "trace"),
        ("trace", "trace"),
        ("trace.pcap7", "trace"),  # tcpdump -C
        ("trace.pcap12.gz", "trace"),  # tcpdump -C -z gzip
        ("trace.pcap003", "trace"),  # tcpdump -C -W
        ("trace_00001_20240131120000.pcapng", "trace"),  # dumpcap -b
        ("trace_00001_20240131.pcap", "trace"),
        ("trace_20240131120000_00001.pcapng", "trace"),  # dumpcap -b nametimenum:2
        ("trace_123456_20240131120000.pcapng.zst", "trace"),
        ("trace-20240131.pcap", "trace"),  # tcpdump -G with strftime in the name
        ("trace.2024-01-31.pcap", "trace"),
        ("trace_2024-01-31_12:00:00.pcap", "trace"),
        ("trace-2024-01-31T12-00-00Z.pcap", "trace"),
        ("trace-20240131-1200.pcap", "trace"),
        ("trace_20240131_120000.pcap.lz4", "trace"),
        ("trace-20240131120000.pcap2", "trace"),  # -G and -C
        ("trace-1706702400.pcap", "trace"),  # %s
        ("20240131120000.pcap", "capture"),
        ("tansu_rdk216_rotated.pcap5", "tansu_rdk216_rotated"),
        # Names that only look a little like it.
        ("host1.pcap", "host1"),
        ("kafka-9092.pcap", "kafka-9092"),
        ("broker_3.pcap", "broker_3"),
        ("build-12345678.pcap", "build-12345678"),
        ("v2.1.pcap", "v2.1"),
        ("10.0.0.1.pcap", "10.0.0.1"),
        ("ticket-99999999999.pcap", "ticket-99999999999"),
    ],
)
def test_base_names(name: str, base: str) -> None:
    assert set_names([f"/captures/{name}"]) == [base]


def test_numbers_without_extension_count_only_beside_their_first_file() -> None:
    assert set_names(["/c/dump", "/c/dump1", "/c/dump2"]) == ["dump"] * 3
    assert set_names(["/c/host1", "/c/host2"]) == ["host1", "host2"]
    assert set_names(["/a/dump", "/b/dump1"]) == ["dump", "dump1"]


def test_same_name_in_several_directories() -> None:
    paths = ["/a/x/trace.pcap", "/b/x/trace.pcap", "/b/x/trace.pcap1", "/b/x/other.pcap"]
    assert set_names(paths) == ["a/x/trace", "b/x/trace", "b/x/trace", "other"]
    assert set_names(["/day/h1/t.pcap", "/day/h2/t.pcap", "/t.pcap"]) == ["h1/t", "h2/t", "/t"]


def test_a_part_is_named_like_the_whole() -> None:
    whole = set_names(["/c/t.pcap", "/c/t.pcap1", "/c/t.pcap2"])
    assert set_names(["/c/t.pcap2"]) == whole[:1]
