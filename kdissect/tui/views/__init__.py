"""The views: one file each, and the list of them."""

from typing import NamedTuple


class Spec(NamedTuple):
    """A view before its creation: its title, the key that shows it, and its class (`module:Class`).

    It shows the `studies` first, and `more` are further studies to choose there. `short` is the title for a
    narrow terminal.
    """

    name: str
    title: str
    key: str
    where: str
    studies: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    short: str = ""


# In the order of the bar. Keys are digits.
VIEWS: tuple[Spec, ...] = (
    Spec("why", "Why", "0", "kdissect.tui.views.why:WhyView", ("causes",)),
    Spec("exchanges", "Exchanges", "1", "kdissect.tui.views.exchanges:ExchangesView", short="List"),
    Spec(
        "connections", "Connections", "2", "kdissect.tui.views.connections:ConnectionsView", ("connections",),
        short="Conns",
    ),
    Spec("topics", "Topics", "3", "kdissect.tui.views.topics:TopicsView", ("topics",)),
    Spec("groups", "Groups", "4", "kdissect.tui.views.groups:GroupsView", ("groups",)),
    Spec("producers", "Producers", "5", "kdissect.tui.views.producers:ProducersView", ("producers",),
         short="Prods"),
    Spec("records", "Records", "6", "kdissect.tui.views.records:RecordsView"),
    Spec("findings", "Findings", "7", "kdissect.tui.views.findings:FindingsView", ("findings",)),
    Spec(
        "statistics", "Statistics", "8", "kdissect.tui.views.statistics:StatisticsView", ("traffic",),
        (
            "traffic by client_id", "traffic by topic", "traffic by broker", "traffic by group",
            "traffic by software", "traffic by connection",
        ),
        "Stats",
    ),
)  # fmt: skip
# The first view on screen: exchanges are there at once, causes when all is read. The top line reports the
# causes.
FIRST = "exchanges"
