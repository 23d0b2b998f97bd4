//! A connection while its rows pass: the state of `rules.views.connection_view` between exchanges,
//! native-owned until Python reads it.

use std::sync::Arc;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyFrozenSet, PyString};

use super::counted::Repeated;
use crate::engine::completed::{Request, Row};
use crate::engine::exchange_block::BlockRow;
use crate::engine::kind::Kind;
use crate::engine::shared::Engine;

/// Members of `rules.guards.ExchangeFact`.
const FIRST: u32 = 4;
const OTHER_CLIENT_ID: u32 = 16;
const NO_CLIENT_ID: u32 = 8;
const ESCAPED_CLIENT_ID: u32 = 32;
pub const ID_NOT_HIGHEST: u32 = 64;
const MANY_IN_FLIGHT: u32 = 128;
const NOT_ADVERTISED: u32 = 256;
const HEADER_TAGS: u32 = 512;
const LARGE: u32 = 1024;
const SHORT: u32 = 2048;
const SLOW: u32 = 4096;
const LATE: u32 = 16384;
/// Sizes, times and numbers of `rules.views.connection_view`, which determine these facts.
const LARGE_FROM: usize = 512 << 10;
const LEAST_REQUEST: usize = 8;
const LEAST_RESPONSE: usize = 4;
const SLOW_NS: i64 = 30_000_000_000;
const LATE_NS: i64 = 100_000_000;
const MANY: usize = 5;
const RESPONSE_BODY_AT: usize = 5;
const REQUEST_BODY_AT: usize = 11;
/// The size of a request's client id, in its header.
const CLIENT_ID_AT: usize = 8;
/// Software that numbers a request before it sends others, as software without a name may
/// (`rules.views.connection_view.NUMBER_EARLY`).
const JAVA: &str = "apache-kafka-java";
/// Stored exchanges: requests in flight, the last exchanges, and exchanges of this size separately
/// (`rules.views.kept_exchanges`).
const WAITING_KEPT: usize = 100;
const RECENT: usize = 4;
const RECENT_BYTES: usize = 16 << 10;
/// Kinds and marks whose faults are remembered as repeated ones.
const REPEATED_KEPT: usize = 16;
pub const BOUNDS: [i64; 12] = [
    LARGE_FROM as i64,
    LEAST_REQUEST as i64,
    LEAST_RESPONSE as i64,
    SLOW_NS,
    MANY as i64,
    RESPONSE_BODY_AT as i64,
    REQUEST_BODY_AT as i64,
    WAITING_KEPT as i64,
    RECENT as i64,
    RECENT_BYTES as i64,
    super::batches::MOST_CANONICAL as i64,
    LATE_NS,
];

/// View, what counts for its software, client id before, highest correlation id, when the last answer came, who waits
/// and when that is answered, versions advertised, codes that spoke, the last turn in which it spoke, the next ordinal,
/// versions of which machines that watch everything learn nothing (None: all of them).
pub type Lent = (
    Py<PyAny>,
    Py<PyAny>,
    Py<PyAny>,
    i64,
    i64,
    Vec<(Py<PyAny>, i64)>,
    Option<Py<PyDict>>,
    Py<PyFrozenSet>,
    i64,
    i64,
    Option<Py<PyDict>>,
);

/// An earlier exchange: an object from the handover, a row of the block, or a row of a block
/// before, whole or at rest.
pub enum Earlier {
    Given(Py<PyAny>),
    Row(usize),
    Kept(Arc<Row>),
    AtRest(Arc<AtRest>),
}

/// Facts about an exchange of a silent connection: `connection_view.AtRest`.
pub struct AtRest {
    ordinal: i64,
    api_key: i16,
    id: i32,
    client_id: Py<PyAny>,
    answered: Option<i64>,
}

/// Constructors of one from numbers, and from an exchange.
pub struct Resting {
    pub of_numbers: Py<PyAny>,
    pub of_exchange: Py<PyAny>,
}

/// How many connections spoke in a turn so far, and how many may: `kept_exchanges.RecentExchanges`.
pub struct Turns {
    pub turn: i64,
    pub spoke: i64,
    pub most: i64,
}

impl Turns {
    /// Note activity of a connection that was last active in this turn, and return its current
    /// turn.
    fn speak(&mut self, last: i64) -> i64 {
        if last != self.turn {
            if self.spoke >= self.most {
                (self.turn, self.spoke) = (self.turn + 1, 0);
            }
            self.spoke += 1;
        }
        self.turn
    }
}

pub struct Connection {
    pub info: Py<PyAny>,
    engine: Py<Engine>,
    pub view: Py<PyAny>,
    pub exercise: Py<PyAny>,
    client_id: Py<PyAny>,
    highest_id: i64,
    answered_ns: i64,
    waiting: Vec<(Earlier, i64)>,
    /// When the last request was sent while any of them may have waited.
    looked_ns: Option<i64>,
    advertised: Option<Py<PyDict>>,
    pub spoken: Py<PyFrozenSet>,
    /// The last turn with activity, and whether the connection has been reduced since then.
    pub turn: i64,
    is_at_rest: bool,
    /// Whether exchanges from before the handover are to be dropped.
    is_cut: bool,
    pub next: i64,
    settled: Option<Py<PyDict>>,
    /// Those kinds of exchanges that are in `settled`.
    kinds: Vec<u32>,
    last: Option<Earlier>,
    recent: Vec<Earlier>,
    /// Faults that may repeat, by kind and marks.
    repeated: Vec<((u32, u64), Arc<Repeated>)>,
    /// Rows of the block that are stored separately.
    pub large: Vec<(usize, Earlier)>,
    /// Its last row, counted over all rows that passed, 0 if none passed since the handover.
    pub touched: u64,
}

/// `judging.unmarked_rows.TakenBack`.
pub type TakenBack<'py> = (
    Py<PyAny>,
    Vec<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
    (i64, i64, Option<i64>),
    (i64, bool),
    Vec<Bound<'py, PyAny>>,
    i64,
);
/// A large exchange, and its place in the block.
pub type Large<'py> = (usize, Bound<'py, PyAny>);

impl Connection {
    pub fn of(info: Py<PyAny>, engine: Py<Engine>, lent: Lent) -> Self {
        let (
            view,
            exercise,
            client_id,
            highest_id,
            answered_ns,
            waiting,
            advertised,
            spoken,
            turn,
            next,
            settled,
        ) = lent;
        let waiting = waiting.into_iter().map(|(before, at)| (Earlier::Given(before), at)).collect();
        Connection {
            info,
            engine,
            view,
            exercise,
            client_id,
            highest_id,
            answered_ns,
            waiting,
            looked_ns: None,
            advertised,
            spoken,
            turn,
            is_at_rest: false,
            is_cut: false,
            next,
            settled,
            kinds: Vec::new(),
            last: None,
            recent: Vec::new(),
            repeated: Vec::new(),
            large: Vec::new(),
            touched: 0,
        }
    }

    /// Whether machines that watch every exchange ignore exchanges of this kind.
    pub fn is_settled(&mut self, py: Python<'_>, row: &Row) -> PyResult<bool> {
        let (kind, Some(settled)) = (&row.request.kind, &self.settled) else { return Ok(true) };
        let number = kind.number();
        if self.kinds.contains(&number) {
            return Ok(true);
        }
        let found = is_within(settled.bind(py), kind)?;
        if found {
            self.kinds.push(number);
        }
        Ok(found)
    }

    /// What counts the faults of a row with these marks, each of which stands for one fault; None if it must be shown.
    /// `repeated_by` decides.
    pub fn repeated(
        &mut self,
        py: Python<'_>,
        row: &Row,
        marks: u64,
        repeated_by: &Py<PyAny>,
    ) -> PyResult<Option<Arc<Repeated>>> {
        let kind = &row.request.kind;
        let key = (kind.number(), marks);
        if let Some((_, known)) = self.repeated.iter().find(|(of, _)| *of == key) {
            return Ok(Some(known.clone()));
        }
        let asked = (&self.view, kind.api_key, kind.version, marks);
        let found: Option<(i64, Py<PyAny>)> = repeated_by.bind(py).call1(asked)?.extract()?;
        let found = found.map(|found| Arc::new(Repeated::of(found)));
        if let Some(found) = &found {
            if self.repeated.len() >= REPEATED_KEPT {
                self.repeated.clear();
            }
            self.repeated.push((key, found.clone()));
        }
        Ok(found)
    }

    /// `ConnectionView.facts` of the next exchange, a row of these. ID_NOT_HIGHEST is also set for an exchange that
    /// Python has to compare with requests in flight.
    pub fn facts(&self, py: Python<'_>, rows: &[BlockRow], row: &Row, latency: i64) -> PyResult<u32> {
        let mut facts = facts_of_frames(py, row, latency) | facts_of_client_id(py, row)?;
        let client_id = row.request.client_id.bind(py);
        if !client_id.is(&self.client_id) && !client_id.eq(&self.client_id)? {
            facts |= OTHER_CLIENT_ID;
        }
        if i64::from(row.request.id) <= self.highest_id && !self.is_early(py, rows, &row.request)? {
            facts |= ID_NOT_HIGHEST;
        }
        let sent = row.request.content.span.first_time;
        let waits = |(_, answered): &&(Earlier, i64)| *answered > sent;
        if self.answered_ns > sent && self.waiting.iter().filter(waits).count() >= MANY {
            facts |= MANY_IN_FLIGHT;
        }
        if let Some(advertised) = &self.advertised {
            if !is_within(advertised.bind(py), &row.request.kind)? {
                facts |= NOT_ADVERTISED;
            }
        }
        Ok(facts)
    }

    /// `ConnectionView._is_early`, if no request is in flight.
    fn is_early(&self, py: Python<'_>, rows: &[BlockRow], request: &Request) -> PyResult<bool> {
        let before = match &self.last {
            Some(Earlier::Row(at)) => rows.get(*at).map(|before| before.row.request.id),
            Some(Earlier::Kept(before)) => Some(before.request.id),
            Some(Earlier::AtRest(before)) => Some(before.id),
            Some(Earlier::Given(_)) | None => None,
        };
        let is_in_flight = self.answered_ns > request.content.span.first_time;
        if is_in_flight || before.is_none_or(|id| id == request.id) {
            return Ok(false);
        }
        let software = self.info.bind(py).getattr("software_name")?.extract::<Option<PyBackedStr>>();
        Ok(software.is_ok_and(|name| name.is_none_or(|name| &*name == JAVA)))
    }

    /// `ConnectionView.begin` and `pass_by` of the next exchange.
    pub fn pass(&mut self, py: Python<'_>, at: usize, row: &Row, touched: u64, turns: &mut Turns) {
        let sent = row.request.content.span.first_time;
        if self.answered_ns <= sent {
            self.waiting.clear();
        } else {
            self.waiting.retain(|(_, answered)| *answered > sent);
            self.looked_ns = Some(sent);
        }
        self.highest_id = self.highest_id.max(i64::from(row.request.id));
        if let Some(response) = &row.response {
            let answered = response.span.first_time;
            self.answered_ns = self.answered_ns.max(answered);
            if self.waiting.len() >= WAITING_KEPT {
                self.waiting.remove(0);
            }
            self.waiting.push((Earlier::Row(at), answered));
        }
        self.client_id = row.request.client_id.clone_ref(py);
        self.next += 1;
        self.last = Some(Earlier::Row(at));
        self.touched = touched;
        self.is_at_rest = false;
        if row.bytes(py) > RECENT_BYTES {
            self.large.push((at, Earlier::Row(at)));
            return;
        }
        if self.turn < turns.turn - 1 {
            self.recent.clear();
            self.is_cut = true;
        }
        self.turn = turns.speak(self.turn);
        if self.recent.len() >= RECENT {
            self.recent.remove(0);
        }
        self.recent.push(Earlier::Row(at));
    }

    /// Its block is over: copy the rows that need more than numbers out of it.
    pub fn keep(&mut self, py: Python<'_>, rows: &[BlockRow]) {
        let mut kept: Vec<(usize, Arc<Row>)> = Vec::new();
        let waiting = self.waiting.iter_mut().map(|(before, _)| before);
        let others = self.recent.iter_mut().chain(&mut self.last);
        for earlier in waiting.chain(others).chain(self.large.iter_mut().map(|(_, row)| row)) {
            let Earlier::Row(at) = *earlier else { continue };
            let found = match kept.iter().find(|(one, _)| *one == at) {
                Some((_, row)) => row.clone(),
                None => {
                    let Some(of) = rows.get(at) else { continue };
                    let row = Arc::new(of.row.kept(py));
                    kept.push((at, row.clone()));
                    row
                }
            };
            *earlier = Earlier::Kept(found);
        }
    }

    /// Others spoke for long: `ConnectionView.rest`.
    pub fn rest(&mut self, py: Python<'_>, resting: &Resting) -> PyResult<()> {
        if self.is_at_rest {
            return Ok(());
        }
        self.is_at_rest = true;
        self.recent = Vec::new();
        let mut rested: Vec<(*const Row, Arc<AtRest>)> = Vec::new();
        for earlier in self.waiting.iter_mut().map(|(before, _)| before).chain(&mut self.last) {
            *earlier = match earlier {
                Earlier::Given(before) => {
                    Earlier::Given(resting.of_exchange.call1(py, (&*before, self.answered_ns))?)
                }
                Earlier::Kept(row) => {
                    let address = Arc::as_ptr(row);
                    let at_rest = match rested.iter().find(|(one, _)| *one == address) {
                        Some((_, known)) => known.clone(),
                        None => {
                            let made = Arc::new(AtRest::of(py, row));
                            rested.push((address, made.clone()));
                            made
                        }
                    };
                    Earlier::AtRest(at_rest)
                }
                Earlier::Row(_) | Earlier::AtRest(_) => continue,
            };
        }
        Ok(())
    }

    /// Its resulting state, and its large exchanges with their places in the block.
    pub fn taken_back<'py>(
        &self,
        py: Python<'py>,
        resting: &Resting,
    ) -> PyResult<Option<(TakenBack<'py>, Vec<Large<'py>>)>> {
        let mut making = Making { connection: self, resting, made: Vec::new() };
        let Some(last) = &self.last else { return Ok(None) };
        let last = making.exchange(py, last)?;
        let recent = self.recent.iter().map(|row| making.exchange(py, row)).collect::<PyResult<_>>()?;
        let waiting =
            self.waiting.iter().map(|(row, _)| making.exchange(py, row)).collect::<PyResult<_>>()?;
        let large = self.large.iter().map(|(at, row)| Ok((*at, making.exchange(py, row)?)));
        let large = large.collect::<PyResult<_>>()?;
        let view = self.view.clone_ref(py);
        let ids = (self.highest_id, self.answered_ns, self.looked_ns);
        let turn = (self.turn, self.is_cut);
        Ok(Some(((view, recent, last, ids, turn, waiting, self.next), large)))
    }
}

/// Makes exchanges of rows that a connection kept, each once.
struct Making<'a, 'py> {
    connection: &'a Connection,
    resting: &'a Resting,
    made: Vec<(*const (), Bound<'py, PyAny>)>,
}

impl<'py> Making<'_, 'py> {
    fn exchange(&mut self, py: Python<'py>, earlier: &Earlier) -> PyResult<Bound<'py, PyAny>> {
        let address = match earlier {
            Earlier::Given(exchange) => return Ok(exchange.bind(py).clone()),
            Earlier::Row(_) => return Err(PyRuntimeError::new_err("a row whose block is over")),
            Earlier::Kept(row) => Arc::as_ptr(row).cast(),
            Earlier::AtRest(at_rest) => Arc::as_ptr(at_rest).cast(),
        };
        if let Some((_, made)) = self.made.iter().find(|(one, _)| *one == address) {
            return Ok(made.clone());
        }
        let Connection { engine, info, .. } = self.connection;
        let made = match earlier {
            Earlier::Kept(row) => row.exchange(py, engine.get(), info)?,
            Earlier::AtRest(at_rest) => at_rest.object(py, self.resting)?,
            Earlier::Given(_) | Earlier::Row(_) => unreachable!("told above"),
        };
        self.made.push((address, made.clone()));
        Ok(made)
    }
}

impl AtRest {
    fn of(py: Python<'_>, row: &Row) -> AtRest {
        let Request { ordinal, kind, id, client_id, .. } = &row.request;
        let answered = row.response.as_ref().map(|content| content.span.first_time);
        let (api_key, client_id) = (kind.api_key, client_id.clone_ref(py));
        AtRest { ordinal: *ordinal, api_key, id: *id, client_id, answered }
    }

    fn object<'py>(&self, py: Python<'py>, resting: &Resting) -> PyResult<Bound<'py, PyAny>> {
        let numbers = (self.ordinal, self.api_key, self.id, &self.client_id, self.answered);
        resting.of_numbers.bind(py).call1(numbers)
    }
}

/// Whether version ranges by API key contain a kind of exchange.
fn is_within(ranges: &Bound<'_, PyDict>, kind: &Kind) -> PyResult<bool> {
    let range = ranges.get_item(kind.api_key)?.map(|range| range.extract::<(i64, i64)>()).transpose()?;
    Ok(range.is_some_and(|(low, high)| (low..=high).contains(&i64::from(kind.version))))
}

/// Facts of the first exchange of a connection.
pub fn first_facts(py: Python<'_>, row: &Row, latency: i64) -> PyResult<u32> {
    Ok(FIRST | facts_of_frames(py, row, latency) | facts_of_client_id(py, row)?)
}

fn facts_of_client_id(py: Python<'_>, row: &Row) -> PyResult<u32> {
    let Ok(text) = row.request.client_id.bind(py).downcast::<PyString>() else { return Ok(NO_CLIENT_ID) };
    let is_escaped = text.to_str().map_or(true, |text| text.contains("\\x"));
    let is_empty = text.len()? == 0;
    Ok(if is_escaped { ESCAPED_CLIENT_ID } else { 0 } | if is_empty { NO_CLIENT_ID } else { 0 })
}

fn facts_of_frames(py: Python<'_>, row: &Row, latency: i64) -> u32 {
    let request = &row.request.content;
    let data = request.data.as_bytes(py);
    let length = data.get(CLIENT_ID_AT..).and_then(|data| data.first_chunk()).copied();
    let length = length.map(|length| usize::try_from(i16::from_be_bytes(length)).unwrap_or(0));
    let mut facts = 0;
    if length.is_none_or(|length| request.body > REQUEST_BODY_AT + length) {
        facts |= HEADER_TAGS;
    }
    if data.len() >= LARGE_FROM {
        facts |= LARGE;
    } else if data.len() < LEAST_REQUEST {
        facts |= SHORT;
    }
    let Some(response) = &row.response else { return facts };
    if response.body > RESPONSE_BODY_AT {
        facts |= HEADER_TAGS;
    }
    if response.data.as_bytes(py).len() < LEAST_RESPONSE {
        facts |= SHORT;
    }
    if latency >= LATE_NS {
        facts |= if latency >= SLOW_NS { SLOW | LATE } else { LATE };
    }
    facts
}
