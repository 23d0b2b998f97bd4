"""Columns of the list share the width by what they show."""

from kdissect.tui.panes.exchange_columns import COLUMNS, fitting
from kdissect.tui.widgets.safe_text import cut_middle

TEXTS = {
    "number": 3, "time": 15, "client": 15, "broker": 15, "client_id": 21, "api": 27, "topic": 6,
    "size": 9, "latency": 9, "rtt": 5, "delay": 0, "outcome": 28, "findings": 0,
}  # fmt: skip


def test_texts_are_whole_where_there_is_room() -> None:
    widths = {column.name: cells for column, cells in fitting((), 200, TEXTS)}
    assert all(widths[name] >= cells for name, cells in TEXTS.items() if cells)
    assert sum(widths.values()) + len(widths) + 2 <= 200


def test_columns_without_a_text_give_way_to_others() -> None:
    names = {column.name for column, _ in fitting((), 160, TEXTS)}
    assert {"delay", "findings"}.isdisjoint(names)
    assert "client_id" in names
    chosen = ("api", "delay", "outcome")
    assert [column.name for column, _ in fitting(chosen, 40, TEXTS)] == list(chosen)


def test_sizes_give_way_to_outcomes_and_client_ids() -> None:
    widths = {column.name: cells for column, cells in fitting((), 120, TEXTS)}
    assert "size" not in widths
    assert widths["outcome"] >= 24, "UNKNOWN_TOPIC_OR_PARTITION but for its last letters"
    widths = {column.name: cells for column, cells in fitting((), 160, TEXTS)}
    assert widths["outcome"] >= 26
    assert widths["client_id"] >= 16


def test_usual_widths_hold_before_anything_is_drawn() -> None:
    widths = {column.name: cells for column, cells in fitting((), 80)}
    assert all(widths[column.name] >= column.least for column in COLUMNS if column.name in widths)


def test_long_ids_keep_their_ends() -> None:
    assert cut_middle("orders-service-a", 11) == "order…ice-a"
    assert cut_middle("orders-service-b", 11) == "order…ice-b"
    assert cut_middle("orders", 11) == "orders"
