"""FRM008: A frame's size must not be off by one."""

from collections.abc import Iterator

from kdissect.rules.kinds import ConnectionRule
from kdissect.rules.rule import Violation
from kdissect.rules.views.connection_view import ConnectionView


class SizeOffByOne(ConnectionRule):
    """A frame's size must not be off by one.

    The int32 before each frame says how many bytes follow it. Here one byte stands behind the body, or the
    body lacks its last one, and what follows is no frame. With that byte moved to where it belongs the body
    is whole, and a frame begins behind it. From here on the receiver reads one byte off: it waits for a
    large frame that never comes, or closes the connection.

    Example: a size of 31 before a request of 30 bytes.

    What to do: write the length of header and body. Look at optional bytes, such as the tag section of a
    header, that are counted and not written, or written and not counted.
    """

    code = "FRM008"
    name = "size-off-by-one"
    cites = (
        "spec/000 Common Request and Response Structure",
        "org.apache.kafka.common.network.NetworkReceive#readFrom",
    )
    needs = "the connection without a hole"
    needs_start = True

    def check(self, view: ConnectionView) -> Iterator[Violation]:
        """The first such frame; what follows it is read where no frame begins."""
        found, tcp = view.misplaced_end, view.info.tcp
        if found is None or not found.told or (tcp is not None and tcp.gaps):
            return
        yield Violation("the length of header and body", found.told, who=found.who)
