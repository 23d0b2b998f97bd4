//! Fetch sessions, while Fetches without facts to report pass: native-owned until Python reads them
//! (`history.sessions.lent_sessions`).

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::connections::{evidence, Evidence};
use super::topics::ByKey;
use crate::bodies::partition_rows::{Body, Topic};
use crate::bodies::summaries::Mixed;
use crate::engine::completed::Row;
use crate::records::batch::Found;
use crate::records::quick::QuickMap;

/// `engine.transfer_rows._FACTS` of Fetch.
const SESSION: usize = 1;
const EPOCH: usize = 2;
const FORGETS: usize = 3;
const ANSWERED_SESSION: usize = 0;
/// KIP-227: no session at all, and the highest epoch, after which comes 1.
const FINAL: i64 = -1;
const MAX_EPOCH: i64 = 0x7FFF_FFFF;
/// `fetch_parts.UNKNOWN_EPOCH`.
const UNKNOWN_EPOCH: i64 = -1;
/// Where the topic begins in the key of a partition.
const TOPIC_AT: usize = 9;

/// High watermark and log start, the exchange that named them, if one did since the handover, and
/// the leader epoch in the session's requests.
struct Offsets {
    high: i64,
    start: i64,
    epoch: i64,
    by: Option<Evidence>,
}

/// A session, and partitions that are known to be in it.
struct Session {
    number: u32,
    next_epoch: i64,
    with_ids: Option<bool>,
    /// Whether it is known which partitions are in it.
    has_partitions: bool,
    /// By partition, whether its topic is an id, and topic.
    offsets: Mixed<Box<[u8]>, Offsets>,
    incremental: i64,
    empty: i64,
    last: Option<Evidence>,
    touched: u64,
}

/// Its number, the next epoch, whether it has ids, whether its partitions are known.
type SessionRow = (u32, i64, Option<bool>, bool);
/// A partition of a session, then high watermark, log start, and the exchange that named them.
type Told<'py> = (u32, (Bound<'py, PyAny>, i64), (i64, i64), Evidence);
/// Sessions with fetches, empty ones, the next epoch and the last fetch, in the order in which they
/// were touched last. Then the named offsets of partitions, and fetches without a session.
type Taken<'py> = (Vec<(u32, i64, i64, i64, Evidence)>, Vec<Told<'py>>, i64);

/// Whether a fetch passes: it does not, or it is without a session, or in one.
pub enum Passing {
    Left,
    Without,
    In(usize),
}

#[pyclass(module = "kdissect._native")]
pub struct Sessions {
    /// The first versions with leader epochs, and with ids of topics.
    since: (i16, i16),
    number_of: Py<PyAny>,
    session_of: Py<PyAny>,
    offsets_of: Py<PyAny>,
    connections: QuickMap<usize, u32>,
    /// By connection and id: the place of a session.
    places: Mixed<(u32, i64), usize>,
    sessions: ByKey<u32, Session>,
    without_session: i64,
    known: usize,
    key: Vec<u8>,
    touches: u64,
}

#[pymethods]
impl Sessions {
    /// The first versions with leader epochs and with topic ids. `number_of` returns a connection's
    /// number, `session_of` a session by its id, `offsets_of` the offsets of a partition in a
    /// session, with its leader epoch, None if it is unknown there.
    #[new]
    fn new(since: (i16, i16), number_of: Py<PyAny>, session_of: Py<PyAny>, offsets_of: Py<PyAny>) -> Self {
        Sessions {
            since,
            number_of,
            session_of,
            offsets_of,
            connections: QuickMap::default(),
            places: Mixed::default(),
            sessions: ByKey::default(),
            without_session: 0,
            known: 0,
            key: Vec::new(),
            touches: 0,
        }
    }

    fn __len__(&self) -> usize {
        self.held() + self.connections.len() + self.places.len()
    }

    /// Return and forget everything that passed.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Taken<'py>> {
        let mut sessions = self.sessions.take();
        sessions.sort_unstable_by_key(|session| session.touched);
        self.connections.clear();
        self.places.clear();
        self.known = 0;
        let (mut counts, mut told) = (Vec::new(), Vec::new());
        for of in sessions {
            let Some(last) = of.last else { continue };
            counts.push((of.number, of.incremental, of.empty, of.next_epoch, last));
            for (key, Offsets { high, start, by, .. }) in of.offsets {
                let Some(by) = by else { continue };
                told.push((of.number, partition_of(py, &key)?, (high, start), by));
            }
        }
        Ok((counts, told, std::mem::take(&mut self.without_session)))
    }
}

impl Sessions {
    /// Number of sessions and their partitions.
    pub fn held(&self) -> usize {
        self.sessions.found.len() + self.known
    }

    /// The number of a connection.
    pub fn number(&mut self, py: Python<'_>, info: &Py<PyAny>) -> PyResult<u32> {
        if let Some(number) = self.connections.get(&(info.as_ptr() as usize)) {
            return Ok(*number);
        }
        let number = self.number_of.bind(py).call1((info,))?.extract()?;
        self.connections.insert(info.as_ptr() as usize, number);
        Ok(number)
    }

    /// `FetchSessions.passes` for an answered Fetch in a version with sessions, without any change.
    /// `batches` belong to the response. Without batches, no leader epoch is compared.
    pub fn look(
        &mut self,
        py: Python<'_>,
        connection: u32,
        row: &Row,
        (asked, answer): (&Body<'_>, &Body<'_>),
        batches: &[Found],
    ) -> PyResult<Passing> {
        let fact = |body: &Body<'_>, at: usize| body.facts[at].unwrap_or(0);
        let (id, epoch) = (fact(asked, SESSION), fact(asked, EPOCH));
        let answered = fact(answer, ANSWERED_SESSION);
        if answer.has_other_errors || fact(asked, FORGETS) != 0 {
            return Ok(Passing::Left);
        }
        if id == 0 {
            let is_without = epoch == FINAL && answered == 0;
            return Ok(if is_without { Passing::Without } else { Passing::Left });
        }
        if epoch <= 0 || answered != id {
            return Ok(Passing::Left);
        }
        let Some(place) = self.place(py, connection, id)? else { return Ok(Passing::Left) };
        let session = &self.sessions.found[place];
        let version = row.request.kind.version;
        let (has_epochs, with_ids) = (version >= self.since.0, version >= self.since.1);
        let is_named_otherwise = !asked.topics.is_empty() && session.with_ids != Some(with_ids);
        let has_partitions = session.has_partitions;
        if session.next_epoch != epoch || is_named_otherwise {
            return Ok(Passing::Left);
        }
        for (body, is_answer) in [(asked, false), (answer, true)] {
            let is_text = body.topics.iter().all(Topic::is_text);
            if !is_text || (has_partitions && !self.agrees(py, place, body, (is_answer, has_epochs))?) {
                return Ok(Passing::Left);
            }
        }
        let is_beyond = has_partitions && batches.iter().any(|found| self.is_beyond(place, answer, found));
        Ok(if is_beyond { Passing::Left } else { Passing::In(place) })
    }

    /// Take a Fetch that `look` checked.
    pub fn take_in(&mut self, connection: u32, row: &Row, answer: &Body<'_>, passing: &Passing) {
        let place = match passing {
            Passing::Left => return,
            Passing::Without => {
                self.without_session += 1;
                return;
            }
            Passing::In(place) => *place,
        };
        self.touches += 1;
        let evidence = evidence(connection, row);
        let Some(session) = self.sessions.found.get_mut(place) else { return };
        for of in answer.rows.iter() {
            let [error, high, start, _] = of.values;
            let Some(topic) = answer.topics.get(of.topic) else { continue };
            fill(&mut self.key, topic, of.partition);
            let Some(before) = session.offsets.get_mut(self.key.as_slice()) else { continue };
            if error != 0 || (high == before.high && start == before.start) {
                continue;
            }
            before.high = if high >= 0 { high } else { before.high };
            before.start = if start >= 0 { start } else { before.start };
            before.by = Some(evidence);
        }
        session.incremental += 1;
        session.empty += i64::from(!answer.has_records());
        session.next_epoch = if session.next_epoch >= MAX_EPOCH { 1 } else { session.next_epoch + 1 };
        session.last = Some(evidence);
        session.touched = self.touches;
    }

    /// Where a session stands; None where Python does not know what comes next in it.
    fn place(&mut self, py: Python<'_>, connection: u32, id: i64) -> PyResult<Option<usize>> {
        if let Some(place) = self.places.get(&(connection, id)) {
            return Ok(Some(*place));
        }
        let found: Option<SessionRow> = self.session_of.bind(py).call1((connection, id))?.extract()?;
        let Some((number, next_epoch, with_ids, has_partitions)) = found else { return Ok(None) };
        let place = self.sessions.place(number, || Session {
            number,
            next_epoch,
            with_ids,
            has_partitions,
            offsets: Mixed::default(),
            incremental: 0,
            empty: 0,
            last: None,
            touched: 0,
        });
        self.places.insert((connection, id), place);
        Ok(Some(place))
    }

    /// Whether a batch has a higher leader epoch than the session asks for.
    fn is_beyond(&mut self, place: usize, answer: &Body<'_>, (number, batch): &Found) -> bool {
        let Some(row) = answer.rows.get(*number) else { return false };
        let Some(topic) = answer.topics.get(row.topic) else { return false };
        fill(&mut self.key, topic, row.partition);
        let known = self.sessions.found[place].offsets.get(self.key.as_slice());
        known.is_some_and(|known| 0 <= known.epoch && known.epoch < batch.leader_epoch.into())
    }

    /// Whether all partitions of a body are in a session, no offset of an answer is lower than it was, and a request asks
    /// for the same leader epochs.
    fn agrees(
        &mut self,
        py: Python<'_>,
        place: usize,
        body: &Body<'_>,
        (is_answer, has_epochs): (bool, bool),
    ) -> PyResult<bool> {
        for row in body.rows.iter() {
            let Some(topic) = body.topics.get(row.topic) else { return Ok(false) };
            let session = &mut self.sessions.found[place];
            fill(&mut self.key, topic, row.partition);
            if !session.offsets.contains_key(self.key.as_slice()) {
                let Some(topic) = topic.object(py) else { return Ok(false) };
                let asked = (session.number, topic, row.partition);
                let found: Option<(i64, i64, i64)> = self.offsets_of.bind(py).call1(asked)?.extract()?;
                let Some((high, start, epoch)) = found else { return Ok(false) };
                let offsets = Offsets { high, start, epoch, by: None };
                session.offsets.insert(self.key.as_slice().into(), offsets);
                self.known += 1;
            }
            let [error, high, start, _] = row.values;
            let Some(before) = session.offsets.get(self.key.as_slice()) else { return Ok(false) };
            if !is_answer {
                let [_, epoch, ..] = row.values;
                if before.epoch != if has_epochs { epoch } else { UNKNOWN_EPOCH } {
                    return Ok(false);
                }
                continue;
            }
            let is_lower = (0..before.high).contains(&high) || (0..before.start).contains(&start);
            if error == 0 && is_lower {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn fill(key: &mut Vec<u8>, topic: &Topic<'_>, partition: i64) {
    let (is_id, name) = topic.key();
    key.clear();
    key.extend_from_slice(&partition.to_le_bytes());
    key.push(u8::from(is_id));
    key.extend_from_slice(name);
}

/// The values from which `fill` built the key.
fn partition_of<'py>(py: Python<'py>, key: &[u8]) -> PyResult<(Bound<'py, PyAny>, i64)> {
    let partition = key.first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes));
    let name = key.get(TOPIC_AT..).unwrap_or_default();
    let topic = match key.get(TOPIC_AT - 1) {
        Some(0) => PyString::new(py, std::str::from_utf8(name)?).into_any(),
        _ => PyBytes::new(py, name).into_any(),
    };
    Ok((topic, partition))
}
