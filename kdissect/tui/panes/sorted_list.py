"""The list of exchanges, sorted by a column if the user chose one."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.worker import get_current_worker

from kdissect.tui.panes.exchange_columns import ExchangeColumn
from kdissect.tui.panes.exchange_list import ExchangeList
from kdissect.tui.panes.exchange_order import Cancelled, Ordered, ordered
from kdissect.tui.panes.shown_exchanges import Shown
from kdissect.tui.widgets.hand_over import hand_over
from kdissect.tui.widgets.row_order import Order, headed, next_order


class SortedList(ExchangeList):
    """List in an order. `catch_up` updates it. `order` names a column, None means order of completion."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "sort", "Sort by the chosen column: up, down, as it came", show=False),
    ]

    def __init__(self, shown: Shown, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(shown, id)
        self.order: Order | None = None
        self._unsorted = shown
        self._sorted: tuple[Shown, int, Order] | None = None
        self._is_settled = False

    def catch_up(self, shown: Shown, is_settled: bool) -> None:
        """There are other rows, or more of them. `is_settled`: no more will come for now."""
        self._is_settled = is_settled
        if shown is not self._unsorted:
            self._unsorted = shown
            self.show(shown)
        else:
            self.grown()
        self._keep_sorted()

    def sort_by(self, order: Order | None) -> None:
        """Show the rows in an order."""
        self.order = order
        self._sorted = None
        self.refresh()
        if order is None:
            self.workers.cancel_group(self, "sort")
            self.show(self._unsorted)
        self._keep_sorted()

    def _keep_sorted(self) -> None:
        """Sort what is there now, and once more when all that is to come has come."""
        base, order, before = self._unsorted, self.order, self._sorted
        if order is None:
            return
        if before is not None and before[0] is base and (not self._is_settled or before[1] == len(base)):
            return
        self._sorted = base, len(base), order
        self._sort(base, order)

    @work(thread=True, exclusive=True, group="sort")
    def _sort(self, base: Shown, order: Order) -> None:
        worker = get_current_worker()
        try:
            found = ordered(base, order.title, order.is_down, lambda: worker.is_cancelled)
        except Cancelled:
            return
        hand_over(self, self._take_order, found, order)

    def _take_order(self, found: Ordered, order: Order) -> None:
        if found.shown is self._unsorted and order is self.order:
            self.show(found)

    def head_of(self, column: ExchangeColumn) -> str:
        """Return the title, with the order."""
        return headed(column.title, self.order, column.name)

    def action_sort(self) -> None:
        """Sort by the chosen column: the least first, the most first, as they came."""
        column = self.chosen_column
        if column is not None:
            self.sort_by(next_order(self.order, column.name))

    def head_clicked(self) -> None:
        """Sort by the column that the mouse chose."""
        self.action_sort()
