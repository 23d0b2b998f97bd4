"""Produces and Fetches that the native engine counts, until Python adds them to the topics."""

from __future__ import annotations

from collections.abc import Callable

from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.generated.native_plan import native_layout
from kdissect.engine.transfer_rows import transfer_places, transfer_rows
from kdissect.history import api_keys as apis
from kdissect.history.member_rows import member_rows
from kdissect.history.topics.topic_names import TopicNames, tells_names
from kdissect.model.native import native
from kdissect.schema.error_codes import error_name
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.sketches.distribution import bin_multiplier
from kdissect.stats.by_group.group_links import GroupLinks
from kdissect.stats.by_topic.topic import Role, Topic, Use, codec_name
from kdissect.stats.transfers import (
    COUNTED,
    ENOUGH,
    LEFT,
    NEW_CODECS,
    NEW_TOPICS,
    Named,
    Numbers,
    NumbersOf,
    Way,
    way_past,
)

# By the numbers of native/src/transfers/topic_sums.rs.
ROLES = Role.WRITE, Role.READ, Role.FOLLOW, Role.SHARE


TRANSFERS = frozenset({apis.PRODUCE, apis.FETCH})  # of which only their records count


class TopicSums:
    """Counter of an exchange for `TopicTraffic`: requests, batches, records, errors.

    `take_again` receives the connection, version and body of a Metadata answer without new names and errors,
    and returns whether it took the answer. `meet` receives a topic, a codec that its batches did not have
    before since the last `take`, and the exchange. `link` receives each client with a group in which it acts.
    """

    def __init__(
        self,
        names: TopicNames,
        topic_of: Callable[[Named], Topic],
        take_again: Callable[[ConnectionInfo, int, bytes], bool],
        meet: Callable[[Named, int, Exchange], None],
        link: Callable[[ConnectionInfo, str | None, str], object],
    ) -> None:
        self._names = names
        self._topic_of = topic_of
        self._take_again = take_again
        self._meet = meet
        self._link = link
        self._numbers = Numbers(names)
        self._sums = native.TopicSums(bin_multiplier())

    def count(self, exchange: Exchange) -> bool:
        """Count a Produce or Fetch. Return False without counting if Python has to count it.

        Then Python has to count it after everything that was counted: `take` comes first.
        """
        # Hot, once an exchange.
        found = transfer_places(exchange)
        if found is None:
            return False
        numbers = self._numbers
        if numbers.are_old:
            self.take()
        client, broker = numbers.of(exchange.connection, exchange.client_id)
        done = self._sums.count(client, broker, exchange.api_key == apis.PRODUCE, *found)
        self._follow(done, exchange)
        return done != LEFT

    def count_block(self, block: native.ExchangeBlock, start: int, numbers_of: NumbersOf) -> int:
        """Count exchanges of a block from `start`. Return the next one that is for Python, else the block's
        length.

        `numbers_of` is called for each client that sends on a connection. None: its exchanges do not count.
        """
        if self._numbers.are_old:
            self.take()
        done = ENOUGH
        while done not in (LEFT, COUNTED) and start < len(block):
            start, done = self._sums.count_block(
                block, start, self._way_of, numbers_of, self._take_again, self._link
            )
            self._follow(done, block[start - 1] if done & NEW_CODECS else None)
        return start

    def _way_of(self, api_key: int, version: int) -> Way:
        """Return the way to count Produces and Fetches, if the version is known. Requests of members name
        groups alone, but for ShareFetches. Of most APIs only refusals count.
        """
        if api_key == apis.METADATA:
            return way_past(self._names, api_key)
        if api_key in GroupLinks.api_keys:
            return member_rows(api_key, version) or False
        if api_key in TRANSFERS:
            return transfer_rows(api_key, version) or False
        if tells_names(api_key):
            return False
        answer = known_body(api_key, version, True)
        return answer is not None and native_layout(answer, version)[0]

    def numbers(self, info: ConnectionInfo, client_id: str | None) -> tuple[int, int]:
        """Return the number of the client that sends on a connection, and the broker's number."""
        return self._numbers.of(info, client_id)

    def _follow(self, done: int, exchange: Exchange | None) -> None:
        """Do what is due after an exchange was counted."""
        if done & NEW_TOPICS:
            self._numbers.name(self._sums.new_topics())
        if done & NEW_CODECS and exchange is not None:
            for topic, codec in self._sums.new_codecs():
                self._meet(self._numbers.topics[topic], codec, exchange)
        if done & ENOUGH:
            self.take()

    def take(self) -> None:
        """Put everything that was counted into the topics."""
        uses, partitions, errors, codecs, batches = self._sums.take()
        clients, topics = self._numbers.clients, _Topics(self._numbers.topics, self._topic_of)
        used: list[Use] = []
        for (client, role, topic), sums in uses:
            use = topics[topic].user(ROLES[role], *clients[client])
            use.add_sums(*sums)
            used.append(use)
        for topic, partition in partitions:
            topics[topic].seen(partition)
        for place, error, count in errors:
            used[place].errors[error_name(error)] += count
        for topic, codec, count in codecs:
            topics[topic].codecs[codec_name(codec)] += count
        for topic, control, count, sizes, records in batches:
            topics[topic].add_batches(control, count, sizes, records)
        self._numbers.clear()


class _Topics(dict[int, Topic]):
    """Topics by number, each made at its first use: the order counts if there are too many."""

    def __init__(self, named: list[Named], topic_of: Callable[[Named], Topic]) -> None:
        super().__init__()
        self._named = named
        self._topic_of = topic_of

    def __missing__(self, number: int) -> Topic:
        found = self[number] = self._topic_of(self._named[number])
        return found
