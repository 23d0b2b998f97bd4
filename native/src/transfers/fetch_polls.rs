//! `kdissect.stats.by_fetcher.fetch_session_traffic`: Fetches of which there is nothing to tell
//! (`history.sessions.fetch_sessions.FetchSessions.passes`), counted by fetcher and session.

use std::collections::HashSet;

use pyo3::prelude::*;

use super::block::{self, Counts, Known, Part};
use super::connections::{evidence, Connections, Evidence};
use super::topics::ByKey;
use super::{read, COUNTED, ENOUGH, LEFT};
use crate::bodies::partition_rows::Body;
use crate::bodies::summaries::Mixed;
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;
use crate::stats::response_time::Poll;

/// `history.transfer_rows._FACTS` of Fetch.
const SESSION: usize = 1;
const EPOCH: usize = 2;
const FORGETS: usize = 3;
const MAX_WAIT: usize = 4;
const MIN_BYTES: usize = 5;
const ANSWERED_SESSION: usize = 0;
const THROTTLE: usize = 1;
/// KIP-227: no session at all; the highest epoch, after which comes 1.
const FINAL: i64 = -1;
const MAX_EPOCH: i64 = 0x7FFF_FFFF;
/// Of so many sessions, or partitions of them, the counts should be taken: some MB.
const MOST_HELD: usize = 1 << 14;
/// The number of a fetcher that is not known yet, whose Fetches are Python's.
const NOBODY: u32 = u32::MAX;

#[derive(Default, Clone, Copy)]
struct Fetcher {
    number: u32,
    requests: i64,
    empty_early: i64,
    touched: u64,
}

/// A session, and partitions that are known to be in it: topic, whether that is an id, number.
struct Session {
    number: u32,
    next_epoch: i64,
    with_ids: Option<bool>,
    known: HashSet<(Box<[u8]>, bool, i64)>,
    incremental: i64,
    empty: i64,
    last: Option<Evidence>,
    touched: u64,
}

/// Connections with the exchange that is due and the fetchers they have, the one that asked last at the end; fetchers
/// with requests and those that were empty early; sessions with fetches, empty ones, the next epoch and the last fetch;
/// fetches without a session. All in the order in which they were touched last.
type Taken =
    (Vec<(u32, i64)>, Vec<(u32, u32)>, Vec<(u32, i64, i64)>, Vec<(u32, i64, i64, i64, Evidence)>, i64);

/// What Python answers: `way_of`, `numbers_of` (`block::count`), `due_of` (`Connections::is_due`), what comes next in a
/// session, and whether a partition is in one.
type Asked<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pyclass(module = "kdissect._native")]
pub struct FetchPolls {
    sessions_from: i16,
    ids_from: i16,
    connections: Connections,
    /// The fetcher that asked last on a connection, and when.
    asking: Mixed<u32, (u32, u64)>,
    fetchers: ByKey<u32, Fetcher>,
    /// By connection and id: the place of a session.
    places: Mixed<(u32, i64), usize>,
    sessions: ByKey<u32, Session>,
    without_session: i64,
    known: usize,
    touches: u64,
    answers: Known,
}

#[pymethods]
impl FetchPolls {
    /// The first versions with sessions, and with topic ids.
    #[new]
    fn new(sessions_from: i16, ids_from: i16) -> Self {
        FetchPolls {
            sessions_from,
            ids_from,
            connections: Connections::default(),
            asking: Mixed::default(),
            fetchers: ByKey::default(),
            places: Mixed::default(),
            sessions: ByKey::default(),
            without_session: 0,
            known: 0,
            touches: 0,
            answers: Known::default(),
        }
    }

    /// Count the exchanges of a block, from one on (`block::count`).
    fn count_block(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        asked: Asked<'_>,
    ) -> PyResult<(usize, u8)> {
        let (way_of, numbers_of, due_of, session_of, is_in) = asked;
        let mut known = std::mem::take(&mut self.answers);
        let mut counting = Counting { polls: self, due_of, session_of, is_in };
        let done = block::count(&mut counting, &mut known, block, start, &way_of, &numbers_of);
        self.answers = known;
        done
    }

    /// Everything counted, which is forgotten then.
    fn take(&mut self) -> Taken {
        let mut asking: Vec<(u32, (u32, u64))> = self.asking.drain().collect();
        asking.sort_unstable_by_key(|(_, (_, touched))| *touched);
        let mut fetchers = self.fetchers.take();
        fetchers.sort_unstable_by_key(|fetcher| fetcher.touched);
        let mut sessions = self.sessions.take();
        sessions.sort_unstable_by_key(|session| session.touched);
        self.places.clear();
        self.answers.forget_senders();
        self.known = 0;
        let told = |of: Session| Some((of.number, of.incremental, of.empty, of.next_epoch, of.last?));
        (
            self.connections.take(),
            asking.into_iter().map(|(connection, (fetcher, _))| (connection, fetcher)).collect(),
            fetchers.into_iter().map(|of| (of.number, of.requests, of.empty_early)).collect(),
            sessions.into_iter().filter_map(told).collect(),
            std::mem::take(&mut self.without_session),
        )
    }
}

struct Counting<'a, 'py> {
    polls: &'a mut FetchPolls,
    due_of: Bound<'py, PyAny>,
    session_of: Bound<'py, PyAny>,
    is_in: Bound<'py, PyAny>,
}

impl Counts for Counting<'_, '_> {
    fn pass(&mut self, (_, connection): (u32, u32), row: &Row) -> PyResult<u8> {
        if !self.polls.connections.is_due(connection, row, &self.due_of)? {
            return Ok(LEFT);
        }
        self.polls.connections.pass(connection);
        Ok(COUNTED)
    }

    fn count(
        &mut self,
        who: (u32, u32),
        row: &Row,
        request: Part<'_, '_>,
        response: Option<Part<'_, '_>>,
    ) -> PyResult<u8> {
        if who.0 == NOBODY || !self.polls.connections.is_due(who.1, row, &self.due_of)? {
            return Ok(LEFT);
        }
        let py = self.due_of.py();
        let Some((_, asked)) = read(request) else { return Ok(LEFT) };
        let answered = match response.map(read) {
            None => None,
            Some(None) => return Ok(LEFT),
            Some(Some((_, answered))) => Some(answered),
        };
        let session = match (row.request.kind.version < self.polls.sessions_from, &answered) {
            (true, _) => None,
            (false, None) => return Ok(LEFT),
            (false, Some(answer)) => match self.session(py, who.1, row, &asked, answer)? {
                Passing::Left => return Ok(LEFT),
                Passing::Without => {
                    self.polls.without_session += 1;
                    None
                }
                Passing::In(place) => Some(place),
            },
        };
        self.polls.take_in(who, row, (&asked, answered.as_ref()), session);
        let is_enough = self.polls.sessions.found.len() + self.polls.known > MOST_HELD;
        Ok(if is_enough { COUNTED | ENOUGH } else { COUNTED })
    }
}

/// Whether a fetch is passed by: it is not, or it is without a session, or in one.
enum Passing {
    Left,
    Without,
    In(usize),
}

impl Counting<'_, '_> {
    fn session(
        &mut self,
        py: Python<'_>,
        connection: u32,
        row: &Row,
        asked: &Body<'_>,
        answer: &Body<'_>,
    ) -> PyResult<Passing> {
        let fact = |body: &Body<'_>, at: usize| body.facts[at].unwrap_or(0);
        let (id, epoch) = (fact(asked, SESSION), fact(asked, EPOCH));
        let has_answered_session = fact(answer, ANSWERED_SESSION) != 0;
        if answer.has_other_errors || fact(asked, FORGETS) != 0 {
            return Ok(Passing::Left);
        }
        if id == 0 {
            let is_without = epoch == FINAL && !has_answered_session;
            return Ok(if is_without { Passing::Without } else { Passing::Left });
        }
        if epoch <= 0 || !has_answered_session {
            return Ok(Passing::Left);
        }
        let Some(place) = self.place(connection, id)? else { return Ok(Passing::Left) };
        let session = &self.polls.sessions.found[place];
        if session.next_epoch != epoch {
            return Ok(Passing::Left);
        }
        let with_ids = row.request.kind.version >= self.polls.ids_from;
        if !asked.topics.is_empty() && session.with_ids != Some(with_ids) {
            return Ok(Passing::Left);
        }
        let are_known = self.are_in(py, place, asked)? && self.are_in(py, place, answer)?;
        Ok(if are_known { Passing::In(place) } else { Passing::Left })
    }

    /// Where a session stands; None where Python does not know what comes next in it.
    fn place(&mut self, connection: u32, id: i64) -> PyResult<Option<usize>> {
        if let Some(place) = self.polls.places.get(&(connection, id)) {
            return Ok(Some(*place));
        }
        let found: Option<(u32, i64, Option<bool>)> = self.session_of.call1((connection, id))?.extract()?;
        let Some((number, next_epoch, with_ids)) = found else { return Ok(None) };
        let place = self.polls.sessions.place(number, || Session {
            number,
            next_epoch,
            with_ids,
            known: HashSet::new(),
            incremental: 0,
            empty: 0,
            last: None,
            touched: 0,
        });
        self.polls.places.insert((connection, id), place);
        Ok(Some(place))
    }

    /// Whether all partitions of a body are in a session.
    fn are_in(&mut self, py: Python<'_>, place: usize, body: &Body<'_>) -> PyResult<bool> {
        for row in &body.rows {
            let Some(topic) = body.topics.get(row.topic) else { return Ok(false) };
            let (is_id, name) = topic.key();
            let session = &mut self.polls.sessions.found[place];
            let key = (Box::from(name), is_id, row.partition);
            if session.known.contains(&key) {
                continue;
            }
            let Some(topic) = topic.object(py) else { return Ok(false) };
            if !self.is_in.call1((session.number, topic, row.partition))?.extract()? {
                return Ok(false);
            }
            session.known.insert(key);
            self.polls.known += 1;
        }
        Ok(body.topics.iter().all(|topic| topic.is_text()))
    }
}

impl FetchPolls {
    /// Count a fetch, in a session if there is one.
    fn take_in(
        &mut self,
        (fetcher, connection): (u32, u32),
        row: &Row,
        (asked, answered): (&Body<'_>, Option<&Body<'_>>),
        session: Option<usize>,
    ) {
        self.touches += 1;
        let touched = self.touches;
        let has_records = answered.is_some_and(Body::has_records);
        self.connections.pass(connection);
        self.asking.insert(connection, (fetcher, touched));
        let place = self.fetchers.place(fetcher, || Fetcher { number: fetcher, ..Fetcher::default() });
        let of = &mut self.fetchers.found[place];
        of.requests += 1;
        of.touched = touched;
        of.empty_early += i64::from(is_empty_early(row, asked, answered, has_records));
        if let Some(of) = session.and_then(|place| self.sessions.found.get_mut(place)) {
            of.incremental += 1;
            of.empty += i64::from(!has_records);
            of.next_epoch = if of.next_epoch >= MAX_EPOCH { 1 } else { of.next_epoch + 1 };
            of.last = Some(evidence(connection, row));
            of.touched = touched;
        }
    }
}

fn is_empty_early(row: &Row, asked: &Body<'_>, answered: Option<&Body<'_>>, has_records: bool) -> bool {
    let (Some(answer), Some(response)) = (answered, &row.response) else { return false };
    let fact = |body: &Body<'_>, at: usize| body.facts[at].unwrap_or(0);
    let poll = Poll {
        latency: i128::from(response.span.first_time) - i128::from(row.request.content.span.last_time),
        max_wait: fact(asked, MAX_WAIT),
        min_bytes: fact(asked, MIN_BYTES),
        is_refused: answer.has_other_errors,
        throttle: fact(answer, THROTTLE),
        session: fact(answer, ANSWERED_SESSION),
        topics: answer.topics.len(),
        has_anything: has_records || answer.rows.iter().any(|row| row.values[0] != 0),
    };
    poll.is_empty_early()
}
