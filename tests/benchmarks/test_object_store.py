"""The object store of benchmarks/spark_growth.py, asked by the client that reads captures."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.capture.objects import objects_at, piece_of, source_of


def test_folders_are_read_as_they_are(
    benchmarks_on_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from object_store import CREDENTIALS, serving

    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "captures" / "host1"
    folder.mkdir(parents=True)
    contents = {"a.pcap": bytes(range(256)) * 20_000, "a.pcap1": b"x", "a.pcap2": b""}  # more than a request
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (tmp_path / "captures" / "other.pcap").write_bytes(b"not below")
    with serving(tmp_path) as store:
        places, is_file = objects_at(store.url("captures/host1"), False)
        assert not is_file
        assert [place.size for place in places] == [len(content) for content in contents.values()]
        for place, content in zip(places, contents.values(), strict=True):
            assert b"".join(source_of(place.url).chunks()) == content
        read = sum(map(len, contents.values()))
        counts = store.counts()
        assert counts.bytes == read
        assert counts.requests == 3  # of 5 MB, 4 MB at a time, and of one byte
        assert piece_of(places[0].url, 300, 5) == contents["a.pcap"][300:305]
        assert store.counts().bytes == 5
        whole, _ = objects_at(store.url("captures"), True)
        assert sorted(place.size or 0 for place in whole) == [0, 1, 9, 5_120_000]
        nearest, _ = objects_at(store.url("captures"), False)
        assert [place.size for place in nearest] == [9]
        with pytest.raises(OSError, match="nowhere"):
            objects_at(store.url("captures/nowhere"), False)
