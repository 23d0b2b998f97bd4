"""State that spans exchanges: names of topic ids, and state machines for rules and statistics. Sans-IO.

Every machine declares its key (a connection, a fetch session, a producer id, a transactional id, a group, a
topic partition) and takes exchanges in one canonical order: exchanges of one connection in the order of their
requests (`stream_order`), exchanges of several connections as they complete (`engine.event_order`). It gives
facts: what changed, and what differs from what the state led to expect, with the exchanges that show it.

Rules of the layer:
- State that the capture does not show is unknown, and no machine expects anything of it: a connection that
  began before the capture, a member whose JoinGroup was not captured, a producer whose InitProducerId went
  elsewhere.
- A fact judges nothing. Whether a retry, another client of the same id or a lost response explains it is for
  the rules to weigh; `sure` says whether the machine saw everything it drew on.
- Named constants bound the memory. A machine that forgets a state treats it as unknown again.
"""
