//! Rows of which nothing is to be told, by guards of rules, facts of connections and what machines of the histories
//! ask. A row of which anything is unusual is Python's, and nothing was changed by it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::batches::{batches_of, Batches, CarriageRow, Found};
use super::connections::{Connection, Earlier, Lent, ID_NOT_HIGHEST};
use super::members::Members;
use crate::bodies::guards::Guards;
use crate::bodies::partition_rows::{Body, PartitionRows, Told, Topic};
use crate::bodies::plan::Layout;
use crate::engine::completed::{Row, Span};
use crate::engine::exchange_block::ExchangeBlock;
use crate::records::batch::NONE;
use crate::records::content::Contents;
use crate::records::quick::QuickMap;

/// Kinds, and rules by kind and facts, that are remembered; Kafka has 368 kinds.
const MOST: usize = 4096;
/// acks of an idempotent producer, and the epoch of a Fetch that opens no session (KIP-227).
const ALL_IN_SYNC: i64 = -1;
const NO_SESSION_EPOCH: i64 = -1;
/// The metadata log by name and by id: `schema.metadata_topic`.
type Marks = (Vec<u8>, Vec<u8>);

type Five = (Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>);
/// How both bodies are read as rows by partition.
type RowsOf = (Py<PartitionRows>, Py<PartitionRows>);
/// What machines of the histories ask of a kind: producers, whether transactions do, fetch sessions, whether the
/// quorum's epochs do; of members of groups which fields tell them.
type AsksRow =
    (Option<Py<PyAny>>, bool, Option<Py<PyAny>>, bool, Option<(Py<PyAny>, Py<Layout>, [String; 3])>);
/// The guards of bodies, carriage of batches, rows of bodies, what machines ask.
type PlanRow = (Py<Guards>, Option<CarriageRow>, Option<RowsOf>, AsksRow);

/// A kind of exchange.
struct Plan {
    guards: Py<Guards>,
    carriage: Option<CarriageRow>,
    rows: Option<RowsOf>,
    produces: Option<Py<PyAny>>,
    is_transactional: bool,
    fetches: Option<Py<PyAny>>,
    is_of_quorum: bool,
    members: Option<(Py<PyAny>, Members)>,
}

impl From<PlanRow> for Plan {
    fn from((guards, carriage, rows, asks): PlanRow) -> Self {
        let (produces, is_transactional, fetches, is_of_quorum, members) = asks;
        let members = members.map(|(door, layout, names)| (door, Members::of(layout.get(), &names)));
        Plan { guards, carriage, rows, produces, is_transactional, fetches, is_of_quorum, members }
    }
}

/// Connections that count nothing, those that are Python's, and those that are lent.
enum Known<'py> {
    IsPassed(bool),
    Lent(Box<Connection<'py>>),
}

/// Bodies of a kind for one software: `judging.body_kind.BodyPair`, and what passed of it.
struct Pair<'py> {
    object: Bound<'py, PyAny>,
    /// One that came no later may stand first.
    first_ns: i64,
    is_watched: bool,
    exchanges: u64,
    batches: u64,
    latencies: Vec<i64>,
}

/// What passes until something does not.
#[derive(Default)]
struct Stretch<'py> {
    connections: Vec<Option<Known<'py>>>,
    pairs: HashMap<(usize, u32, bool), Option<Pair<'py>>>,
    times: Vec<i64>,
    /// Fetches that neither had nor got a session.
    without_session: u64,
}

/// What was read of a row, as far as its history wants it.
struct Reading<'a> {
    asked: Body<'a>,
    answered: Option<Body<'a>>,
    batches: Vec<Found>,
}

/// A batch that is sent: topic and partition; attributes, last offset delta, producer id and epoch, base sequence,
/// count.
type Header<'py> = ((Bound<'py, PyAny>, i64), i16, i32, i64, i16, i32, i32);

/// Callables of `kdissect.rules.judging.unmarked_rows`.
struct Asked {
    lend: Py<PyAny>,
    plan_of: Py<PyAny>,
    codes_of: Py<PyAny>,
    pair_of: Py<PyAny>,
    settle: Py<PyAny>,
}

#[pyclass(module = "kdissect._native")]
pub struct UnmarkedRows {
    asked: Asked,
    marks: Marks,
    batches: Batches,
    plans: QuickMap<u32, Option<Arc<Plan>>>,
    codes: HashMap<(u32, u32), Vec<Py<PyAny>>>,
}

#[pymethods]
impl UnmarkedRows {
    /// `asked` are `lend`, `plan_of`, `codes_of`, `pair_of` and `settle`; `topics` those whose records have formats,
    /// and what tells them by id; `contents` are limits, three libraries and what decompresses all else.
    #[new]
    fn new(asked: Five, marks: Marks, topics: (Vec<Vec<u8>>, Py<PyAny>), contents: Five) -> Self {
        let (lend, plan_of, codes_of, pair_of, settle) = asked;
        let (limits, snappy, lz4, zstd, decompress) = contents;
        let contents = Contents::new(limits, [snappy, lz4, zstd], decompress);
        UnmarkedRows {
            asked: Asked { lend, plan_of, codes_of, pair_of, settle },
            marks,
            batches: Batches::new(contents, topics.0, topics.1),
            plans: QuickMap::default(),
            codes: HashMap::new(),
        }
    }

    /// Pass rows of a block from one on; gives the first that is Python's, or how many there are.
    fn take(&mut self, block: &Bound<'_, ExchangeBlock>, start: usize) -> PyResult<usize> {
        self.batches.look(block.py())?;
        let mut stretch = Stretch::default();
        let mut at = start;
        {
            let rows = block.borrow();
            stretch.connections.resize_with(rows.connections.len(), || None);
            while self.pass(block.py(), &rows, at, &mut stretch)? {
                at += 1;
            }
        }
        if at > start {
            block.borrow_mut().at = at - 1;
            self.settle(block, stretch)?;
        }
        Ok(at)
    }
}

impl UnmarkedRows {
    /// Whether there is nothing to tell of a row; then it is counted.
    fn pass<'py>(
        &mut self,
        py: Python<'py>,
        rows: &ExchangeBlock,
        at: usize,
        stretch: &mut Stretch<'py>,
    ) -> PyResult<bool> {
        let Some(of) = rows.rows.get(at) else { return Ok(false) };
        let (number, row) = (of.connection as usize, &of.row);
        let Some(info) = rows.connections.get(number) else { return Ok(false) };
        let Stretch { connections, pairs, times, without_session } = stretch;
        let Some(known) = connections.get_mut(number) else { return Ok(false) };
        let connection = match known {
            Some(Known::Lent(connection)) => connection,
            Some(Known::IsPassed(is_passed)) => return Ok(*is_passed),
            None => match self.lend(py, info)? {
                Known::IsPassed(is_passed) => {
                    *known = Some(Known::IsPassed(is_passed));
                    return Ok(is_passed);
                }
                lent => match known.insert(lent) {
                    Known::Lent(connection) => connection,
                    Known::IsPassed(is_passed) => return Ok(*is_passed),
                },
            },
        };
        let Some(plan) = self.plan(py, row)? else { return Ok(false) };
        let Some(latency) = latency(row) else { return Ok(false) };
        if row.request.ordinal != connection.next || !connection.is_settled(row)? {
            return Ok(false);
        }
        let facts = connection.facts(row, latency)?;
        if facts & ID_NOT_HIGHEST != 0 || !self.is_silent(connection, row, facts)? {
            return Ok(false);
        }
        let Some(pair) = self.pair(pairs, connection, row)? else { return Ok(false) };
        if row.request.content.span.first_time <= pair.first_ns || !is_unmarked(py, &plan, row, latency) {
            return Ok(false);
        }
        let Some(read) = read(py, &plan, row) else { return Ok(false) };
        let mut batches = 0;
        if let (Some(carriage), Some(read)) = (plan.carriage.as_ref().filter(|_| pair.is_watched), &read) {
            let is_produce = carriage.0;
            let body = if is_produce { Some(&read.asked) } else { read.answered.as_ref() };
            let content = if is_produce { Some(&row.request.content) } else { row.response.as_ref() };
            if let (Some(body), Some(content)) = (body, content) {
                let (data, kind) = (content.data.as_bytes(py), (row.request.kind.number(), carriage));
                let (found, asked) = (&read.batches, &read.asked);
                if !self.batches.are_unmarked(py, kind, info, data, body, found, asked)? {
                    return Ok(false);
                }
                batches = read.batches.len() as u64;
            }
        }
        if !self.is_history(py, &plan, info, row, read.as_ref(), without_session)? {
            return Ok(false);
        }
        connection.pass(at, row, row.bytes(py));
        pair.exchanges += 1;
        pair.batches += batches;
        if row.response.is_some() {
            pair.latencies.push(latency);
        }
        times.push(row.request.content.span.first_time);
        Ok(true)
    }

    fn lend<'py>(&self, py: Python<'py>, info: &Py<PyAny>) -> PyResult<Known<'py>> {
        let found = self.asked.lend.bind(py).call1((info,))?;
        match found.extract::<bool>() {
            Ok(is_passed) => Ok(Known::IsPassed(is_passed)),
            Err(_) => Ok(Known::Lent(Box::new(Connection::of(found.extract::<Lent<'py>>()?)))),
        }
    }

    fn plan(&mut self, py: Python<'_>, row: &Row) -> PyResult<Option<Arc<Plan>>> {
        let kind = &row.request.kind;
        if let Some(known) = self.plans.get(&kind.number()) {
            return Ok(known.clone());
        }
        let found: Option<PlanRow> =
            self.asked.plan_of.bind(py).call1((kind.api_key, kind.version))?.extract()?;
        let plan = found.map(|found| Arc::new(Plan::from(found)));
        if self.plans.len() >= MOST {
            self.plans.clear();
        }
        self.plans.insert(kind.number(), plan.clone());
        Ok(plan)
    }

    /// Whether no rule about exchanges looks at one with these facts, that has not spoken of its connection.
    fn is_silent(&mut self, connection: &Connection<'_>, row: &Row, facts: u32) -> PyResult<bool> {
        let py = connection.view.py();
        let kind = &row.request.kind;
        let key = (kind.number(), facts);
        if !self.codes.contains_key(&key) {
            if self.codes.len() >= MOST {
                self.codes.clear();
            }
            let found = self.asked.codes_of.bind(py).call1((kind.api_key, kind.version, facts))?;
            self.codes.insert(key, found.extract()?);
        }
        for code in self.codes.get(&key).into_iter().flatten() {
            if !connection.spoken.contains(code)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn pair<'a, 'py>(
        &self,
        pairs: &'a mut HashMap<(usize, u32, bool), Option<Pair<'py>>>,
        connection: &Connection<'py>,
        row: &Row,
    ) -> PyResult<Option<&'a mut Pair<'py>>> {
        let (kind, is_answered) = (&row.request.kind, row.response.is_some());
        let key = (connection.exercise.as_ptr() as usize, kind.number(), is_answered);
        if let std::collections::hash_map::Entry::Vacant(place) = pairs.entry(key) {
            let asked = (&connection.exercise, kind.api_key, kind.version, is_answered);
            let found = self.asked.pair_of.bind(connection.view.py()).call1(asked)?;
            let found: Option<(Bound<'py, PyAny>, i64, bool)> = found.extract()?;
            place.insert(found.map(|(object, first_ns, is_watched)| Pair {
                object,
                first_ns,
                is_watched,
                exchanges: 0,
                batches: 0,
                latencies: Vec::new(),
            }));
        }
        Ok(pairs.get_mut(&key).and_then(Option::as_mut))
    }

    /// Whether machines of the histories tell nothing; what they learn is learned then.
    fn is_history(
        &self,
        py: Python<'_>,
        plan: &Plan,
        info: &Py<PyAny>,
        row: &Row,
        read: Option<&Reading<'_>>,
        without_session: &mut u64,
    ) -> PyResult<bool> {
        if let Some((door, members)) = &plan.members {
            let content = &row.request.content;
            let Some(member) = members.read(py, content.data.as_bytes(py), content.body) else {
                return Ok(false);
            };
            if member.0.is_none() || row.response.is_none() {
                return Ok(false);
            }
            return door.call1(py, (info, member, content.span.first_time))?.extract(py);
        }
        let Some(read) = read else { return Ok(true) };
        if plan.is_transactional && read.asked.facts[1].is_some() {
            return Ok(false);
        }
        if plan.is_of_quorum && self.names_quorum(read) {
            return Ok(false);
        }
        if let Some(door) = &plan.produces {
            return produce(py, door, info, row, read);
        }
        let Some(door) = &plan.fetches else { return Ok(true) };
        let is_passed = fetch(py, door, info, row, read)?;
        *without_session += u64::from(is_passed == Some(false));
        Ok(is_passed.is_some())
    }

    fn names_quorum(&self, read: &Reading<'_>) -> bool {
        let is_it = |topic: &Topic<'_>| match topic {
            Topic::Name(name) => *name == self.marks.0.as_slice(),
            Topic::Id(id) => id[..] == self.marks.1[..],
        };
        let answered = read.answered.iter().flat_map(|body| &body.topics);
        read.asked.topics.iter().chain(answered).any(is_it)
    }

    /// Give back what was lent.
    fn settle<'py>(&self, block: &Bound<'py, ExchangeBlock>, stretch: Stretch<'py>) -> PyResult<()> {
        let py = block.py();
        let Stretch { connections, pairs, times, without_session } = stretch;
        let mut touched: Vec<Box<Connection<'py>>> = connections
            .into_iter()
            .filter_map(|known| match known {
                Some(Known::Lent(connection)) if connection.last.is_some() => Some(connection),
                _ => None,
            })
            .collect();
        touched.sort_by_key(|connection| connection.recent.last().copied()); // as they spoke last
        let numbers: BTreeSet<usize> = touched.iter().flat_map(|connection| connection.kept()).collect();
        let mut kept: HashMap<usize, Bound<'py, PyAny>> = HashMap::with_capacity(numbers.len());
        for at in numbers.iter().rev() {
            if let Some(found) = ExchangeBlock::exchange(block, *at)? {
                kept.insert(*at, found); // the last one first: connections count all before it at once
            }
        }
        let of_large = |connection: &Connection<'py>| {
            connection.large.iter().map(|at| (*at, connection.view.clone())).collect::<Vec<_>>()
        };
        let mut large: Vec<_> = touched.iter().flat_map(|connection| of_large(connection)).collect();
        large.sort_by_key(|(at, _)| *at);
        let large: Vec<_> = large.iter().map(|(at, view)| (view, kept.get(at))).collect();
        let given = PyList::empty(py);
        for connection in &touched {
            let waiting = PyList::empty(py);
            for (before, _) in &connection.waiting {
                match before {
                    Earlier::Given(before) => waiting.append(before)?,
                    Earlier::Row(at) => waiting.append(kept.get(at))?,
                }
            }
            let last = connection.last.and_then(|at| kept.get(&at));
            let recent: Vec<_> = connection.recent.iter().map(|at| kept.get(at)).collect();
            given.append((
                &connection.view,
                recent,
                last,
                connection.highest_id,
                connection.answered_ns,
                connection.looked_ns,
                waiting,
                connection.next,
            ))?;
        }
        let pairs = pairs.into_values().flatten().filter(|pair| pair.exchanges > 0);
        let pairs: Vec<_> =
            pairs.map(|pair| (pair.object, pair.exchanges, pair.batches, pair.latencies)).collect();
        self.asked.settle.bind(py).call1((large, given, pairs, times, without_session))?;
        Ok(())
    }
}

/// Whether both bodies are canonical, and no guard marks them.
fn is_unmarked(py: Python<'_>, plan: &Plan, row: &Row, latency: i64) -> bool {
    let request = (row.request.content.data.as_bytes(py), row.request.content.body);
    let response = row.response.as_ref().map(|content| (content.data.as_bytes(py), content.body));
    plan.guards.get().marked(Some(request), response, latency) == (0, true)
}

/// How long the answer took, 0 without one; None beyond 64 bits.
fn latency(row: &Row) -> Option<i64> {
    let sent = row.request.content.span.last_time;
    row.response.as_ref().map_or(Some(0), |response| response.span.first_time.checked_sub(sent))
}

/// What is to be known of partitions; Some(None) where nothing is, None where a body is Python's.
fn read<'a>(py: Python<'a>, plan: &Plan, row: &'a Row) -> Option<Option<Reading<'a>>> {
    let Some((ask, answer)) = &plan.rows else { return Some(None) };
    let asked = ask.get().read(row.request.content.data.bind(py), row.request.content.body)?;
    let answered = match &row.response {
        Some(content) => Some(answer.get().read(content.data.bind(py), content.body)?),
        None => None,
    };
    let is_produce = plan.produces.is_some() || plan.carriage.as_ref().is_some_and(|row| row.0);
    let batches = match (&answered, is_produce) {
        (_, true) => batches_of(row.request.content.data.as_bytes(py), &asked)?,
        (Some(answered), false) if plan.carriage.is_some() => {
            batches_of(row.response.as_ref()?.data.as_bytes(py), answered)?
        }
        _ => Vec::new(),
    };
    Some(Some(Reading { asked, answered, batches }))
}

/// `Producers.passes` of a row.
fn produce(
    py: Python<'_>,
    door: &Py<PyAny>,
    info: &Py<PyAny>,
    row: &Row,
    read: &Reading<'_>,
) -> PyResult<bool> {
    let with_id = read.batches.iter().filter(|(_, batch)| batch.producer_id != NONE).count();
    if with_id == 0 {
        return Ok(true);
    }
    let [(number, batch)] = read.batches.as_slice() else { return Ok(false) };
    let Some(of) = read.asked.rows.get(*number) else { return Ok(false) };
    let Some(topic) = read.asked.topics.get(of.topic) else { return Ok(false) };
    if read.asked.facts[0] != Some(ALL_IN_SYNC) {
        return Ok(false);
    }
    if let Some(answered) = &read.answered {
        let ([result], [named]) = (answered.rows.as_slice(), answered.topics.as_slice()) else {
            return Ok(false);
        };
        if named != topic || result.partition != of.partition || result.values[0] != 0 {
            return Ok(false);
        }
    }
    let base_offset =
        read.answered.as_ref().and_then(|answered| answered.rows.first()).map(|row| row.values[1]);
    let Some(topic) = topic.object(py) else { return Ok(false) };
    let header: Header<'_> = (
        (topic, of.partition),
        batch.attributes,
        batch.last_offset_delta,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.count,
    );
    door.call1(py, (info, &row.request.client_id, header, evidence(row), base_offset))?.extract(py)
}

/// `FetchSessions.passes` of a row: None where it does not, Some(false) of one that has no session.
fn fetch(
    py: Python<'_>,
    door: &Py<PyAny>,
    info: &Py<PyAny>,
    row: &Row,
    read: &Reading<'_>,
) -> PyResult<Option<bool>> {
    let [_, session, epoch, forgets, ..] = read.asked.facts.map(|fact| fact.unwrap_or(0));
    let Some(answered) = &read.answered else { return Ok(None) };
    let answered_session = answered.facts[0].unwrap_or(0);
    if answered.has_other_errors || forgets != 0 {
        return Ok(None);
    }
    if session == 0 {
        return Ok((epoch == NO_SESSION_EPOCH && answered_session == 0).then_some(false));
    }
    if epoch <= 0 || answered_session != session {
        return Ok(None);
    }
    let (Some(asks), Some(answers)) = (named(py, &read.asked), answered.listed(py)) else { return Ok(None) };
    let (topics, has_records) = ((asks, answers), answered.has_records());
    let found = door.call1(py, (info, (session, epoch), topics, evidence(row), has_records))?;
    Ok(found.extract::<bool>(py)?.then_some(true))
}

/// Topics with their partitions; None for a name that is no text.
fn named<'py>(py: Python<'py>, body: &Body<'_>) -> Option<Vec<(Bound<'py, PyAny>, Vec<i64>)>> {
    let numbers = |rows: Vec<Told>| rows.into_iter().map(|told| told.0).collect();
    Some(body.listed(py)?.into_iter().map(|(topic, rows)| (topic, numbers(rows))).collect())
}

/// What `history.fact.Evidence` has behind the connection.
type EvidenceRow = (i64, i16, i16, (i64, i64), Option<(i64, i64)>, i64, i64);

fn evidence(row: &Row) -> EvidenceRow {
    let packets = |span: &Span| (span.first_ref, span.last_ref);
    let (request, response) = (&row.request.content.span, row.response.as_ref().map(|content| &content.span));
    (
        row.request.ordinal,
        row.request.kind.api_key,
        row.request.kind.version,
        packets(request),
        response.map(packets),
        request.first_time,
        response.map_or(0, |span| span.last_time),
    )
}
