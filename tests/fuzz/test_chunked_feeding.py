"""How a capture's bytes arrive changes nothing: one chunk, byte by byte, random chunks."""

import io
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from kdissect.capture.files import open_captures
from kdissect.engine.exchange_rows import ExchangeRows
from tests.support.run import exchanges_of

SHIPPED = Path(__file__).parent.parent.parent / "captures"


class Dribble(io.BytesIO):
    """A stream whose reads give as many bytes as `pick` says."""

    def __init__(self, data: bytes, pick: Callable[[], int]) -> None:
        super().__init__(data)
        self._pick = pick

    def read1(self, size: int | None = -1) -> bytes:  # type: ignore[override]
        return super().read(self._pick())


def rows(data: bytes, pick: Callable[[], int]) -> list[dict[str, object]]:
    captures = open_captures(["-"], stdin=Dribble(data, pick))
    show = ExchangeRows(["-"], bodies=True)
    found = [show.row(exchange) for exchange in exchanges_of(captures.packets())]
    assert not captures.errors
    return found


@pytest.mark.parametrize("name", ["tansu_kp202_admin.pcap", "tansu_rdk216_kip848.pcap"])
def test_any_chunks_give_the_same_rows(name: str) -> None:
    data = (SHIPPED / name).read_bytes()
    rng = random.Random(9)
    whole = rows(data, lambda: len(data))
    assert len(whole) > 20
    assert rows(data, lambda: 1) == whole
    for _ in range(5):
        assert rows(data, lambda: rng.randint(1, 3000)) == whole
