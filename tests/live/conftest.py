"""What a failed test leaves behind is ended before the next one."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.capturing import Live, needs_capture


@pytest.fixture(autouse=True)
def _end_captures() -> Iterator[None]:
    yield
    while Live.started:
        Live.started.pop().kill()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of 1 MB."""
    needs_capture()
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)  # a test that failed may still write there
