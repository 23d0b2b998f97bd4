"""What `FastLines` is made of: its base, which with the compiled package makes most lines itself."""

from typing import TYPE_CHECKING

from kdissect.model.native import native
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange, ExchangeKind, State

if TYPE_CHECKING or native is None:

    class LineFiller:
        """Counts exchanges. `number` is that of the exchange before."""

        number = 0

        def fill_for(
            self, class_: type[Exchange], kafka: ExchangeKind, complete: State, silent: State
        ) -> None:
            """Exchanges are of this class. Those of one kind and in one of two states are not unusual."""

        def skip(self) -> None:
            """Leave out an exchange: those behind it keep the numbers they have in the whole capture."""
            self.number += 1

        if TYPE_CHECKING:

            def line(self, exchange: Exchange) -> bytes:
                """The exchange as a line of JSON, by `plain_line` of the subclass where it is unusual."""

            # With the package only

            def hold(self, events: list[Event]) -> int:
                """Hold the lines of the exchanges among events; gives how many bytes are held now."""

            def take(self) -> bytes:
                """The lines that are held, which then are not any longer."""

else:
    LineFiller = native.LineFiller
