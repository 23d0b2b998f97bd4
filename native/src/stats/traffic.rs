//! `kdissect.stats.traffic.Traffic`: exchanges of blocks counted by group, as far as their bodies fit.
//!
//! A new key (a group, or a state or an error in it) goes to Python in its order. A known key is
//! counted here, and handed over by `take`. `kdissect.metrics.meter` counts so, too: its times are
//! in buckets, and it has the bytes of records by topic.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;

use crate::bodies::partition_rows::PartitionRows;
use crate::bodies::plan::Layout;
use crate::bodies::summaries::Mixed;
use crate::engine::by_kind::ByKind;
use crate::engine::by_loan::ByLoan;
use crate::engine::completed::Row;
use crate::engine::exchange_block::ExchangeBlock;
use crate::exchange::Frame;
use crate::stats::distribution::{bin_of, Distribution, DistributionRow};
use crate::stats::response_time::{Body, Reading, Room, Times};
use crate::stats::watermarks::Watermarks;
use crate::template::Look;
use crate::transfers::block::may_tell_names;

/// The size in front of a frame, as `traffic.PREFIX_BYTES`.
const PREFIX: u64 = 4;
/// Maximum number of remembered groups, or kinds. Beyond it the table starts again.
const MOST: usize = 4096;
const WIDER: i64 = 10;
const DAY_NS: i64 = 86_400_000_000_000;

/// Of a kind: whether a client waits for a throttle time, the layout of responses, and for Fetch of
/// requests. Then the readers of topics in both bodies, if topics are wanted, or of groups in the
/// request, how responses begin that may be in another version, whether records are in responses,
/// the reader of records, if their bytes are wanted, and whether groups are wanted.
type KindRow<'py> = (
    bool,
    PyRef<'py, Layout>,
    Option<PyRef<'py, Layout>>,
    Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    PyBackedBytes,
    Option<(bool, Py<PartitionRows>)>,
    bool,
);

/// Of a connection: the number of its capture set, and for each way the number of the facts that distinguish it.
type Place = (u32, Arc<[u32]>);

/// How exchanges of a kind are read.
struct OfKind {
    reading: Reading,
    topics: Option<(Look, Look)>,
    records: Option<(bool, Py<PartitionRows>)>,
    names_groups: bool,
    foreign: PyBackedBytes,
}

impl OfKind {
    /// Whether a response may be in another version than its request.
    fn is_foreign(&self, py: Python<'_>, row: &Row) -> bool {
        let body = row.response.as_ref().and_then(|content| bytes(py, &content.data).get(content.body..));
        !self.foreign.is_empty() && body.is_none_or(|body| body.starts_with(&self.foreign))
    }
}

/// The bins in which times are counted: the sketch's bins with its multiplier, or bins up to each
/// of some bounds.
#[derive(FromPyObject)]
enum Bins {
    Sketch(f64),
    UpTo(Vec<i64>),
}

impl Bins {
    fn of(&self, value: i64) -> Option<i32> {
        match self {
            Bins::Sketch(multiplier) => bin_of(value, *multiplier),
            Bins::UpTo(bounds) => i32::try_from(bounds.partition_point(|bound| *bound < value)).ok(),
        }
    }
}

/// By what exchanges are grouped.
#[derive(Clone, Copy, FromPyObject)]
struct By(bool, bool, bool, bool, bool, bool, bool);

/// Numbers of both summaries, which stand for topics, and for groups that the request names.
type Topics = (u64, u64);

/// Kind, client id, state, connection's place, errors (None for none: `wire::are_same`), day and
/// topics of a group, as far as they distinguish groups.
type Group = (u32, usize, u8, u32, Option<Box<[i16]>>, i64, Topics);

/// Counters of a group's exchanges: numbers of tallies, and the topics whose record bytes the first
/// of these has, each by whether it is an id, and its bytes. None for a group that is Python's.
type OfGroup = Option<Arc<GroupRow>>;
type GroupRow = (Vec<usize>, Vec<(bool, Vec<u8>)>);

/// Replaces the number of a summary, without a response.
const NO_ANSWER: u64 = u64::MAX;

/// Groups by one set of distinctions between exchanges.
struct Grouping {
    by: By,
    groups: Mixed<Group, OfGroup>,
    /// Client ids of groups, identified by their addresses.
    client_ids: Vec<Py<PyAny>>,
}

impl Grouping {
    fn forget(&mut self) {
        self.groups.clear();
        self.client_ids.clear();
    }

    /// The group of an exchange, and what is known of it.
    fn known(
        &self,
        row: &Row,
        place: u32,
        topics: Topics,
        names_groups: bool,
        errors: &[i16],
    ) -> (Group, Option<OfGroup>) {
        let By(by_kind, by_client_id, by_state, by_errors, by_day, by_topics, by_groups) = self.by;
        let by_names = by_topics || by_groups && names_groups;
        let errors: &[i16] = if by_errors { errors } else { &[] };
        let group = (
            if by_kind { row.request.kind.number() } else { 0 },
            if by_client_id { row.request.client_id.as_ptr() as usize } else { 0 },
            u8::from(by_state && row.response.is_some()),
            place,
            (!errors.is_empty()).then(|| errors.into()),
            if by_day { row.request.content.span.first_time.div_euclid(DAY_NS) } else { 0 },
            if by_names { topics } else { (0, 0) },
        );
        let known = self.groups.get(&group).cloned();
        (group, known)
    }
}

/// Callbacks to Python.
struct Asked {
    kind_of: Py<PyAny>,
    place_of: Py<PyAny>,
    tallies_of: Py<PyAny>,
    changes_of: Py<PyAny>,
    meet: Py<PyAny>,
    takes: Option<Py<PyAny>>,
    throttles: Option<Py<PyAny>>,
}

/// Connections and client ids with a throttle time in a response, of which Python knows.
#[derive(Default)]
struct Throttled {
    known: Mixed<(u64, usize), ()>,
    /// Client ids of `known`, identified by their addresses.
    client_ids: Vec<Py<PyAny>>,
}

/// Contribution of one exchange to each of its tallies.
struct One<'a> {
    is_answered: bool,
    request_bytes: u64,
    response_bytes: u64,
    is_unsized: bool,
    time_ns: i64,
    errors: &'a [i16],
    times: Option<&'a Times>,
    bins: [Option<i32>; 4],
}

impl One<'_> {
    /// Whether it is known how long the broker took.
    fn is_timed(&self) -> bool {
        self.times.is_some_and(|times| times.broker.is_some())
    }
}

/// `kdissect.stats.traffic.Tally`.
#[derive(Default)]
struct Tally {
    states: [u64; 2],
    is_met: [bool; 2],
    /// Whether a time of the broker was met.
    is_timed: bool,
    /// Bytes of records by the topics of the group.
    record_bytes: Vec<u64>,
    errors: BTreeMap<i16, u64>,
    failed: u64,
    unclear: u64,
    empty_early: u64,
    request_bytes: u64,
    response_bytes: u64,
    unsized_exchanges: u64,
    times_ns: Option<(i64, i64)>,
    latency: Distribution,
    broker: Distribution,
    /// Few tallies have one: with many clients, a row for each would waste memory.
    throttle: Option<Box<Distribution>>,
    wait: Option<Box<Distribution>>,
}

/// `kdissect.stats.traffic.TallyRow`.
type TallyRow = ((u64, u64), [u64; 6], Option<(i64, i64)>, Vec<(i16, u64)>, [Option<DistributionRow>; 4]);

impl Tally {
    fn knows(&self, one: &One<'_>) -> bool {
        let is_known = |error: &i16| self.errors.contains_key(error);
        let is_timed = self.is_timed || !one.is_timed();
        self.is_met[usize::from(one.is_answered)] && is_timed && one.errors.iter().all(is_known)
    }

    fn meet(&mut self, one: &One<'_>) {
        self.is_met[usize::from(one.is_answered)] = true;
        self.is_timed |= one.is_timed();
        for error in one.errors {
            self.errors.entry(*error).or_default();
        }
    }

    fn add(&mut self, one: &One<'_>) {
        self.states[usize::from(one.is_answered)] += 1;
        self.request_bytes += one.request_bytes;
        self.response_bytes += one.response_bytes;
        self.unsized_exchanges += u64::from(one.is_unsized);
        let time_ns = one.time_ns;
        let (first, last) = self.times_ns.unwrap_or((time_ns, time_ns));
        self.times_ns = Some((first.min(time_ns), last.max(time_ns)));
        self.failed += u64::from(!one.errors.is_empty());
        for error in one.errors {
            *self.errors.entry(*error).or_default() += 1;
        }
        let Some(times) = one.times else { return };
        let [latency, broker, throttle, wait] = one.bins;
        self.latency.add(times.latency, latency);
        match times.broker {
            None => self.unclear += 1,
            Some(time) => self.broker.add(time, broker),
        }
        self.empty_early += u64::from(times.is_empty_early);
        if times.throttle != 0 {
            self.throttle.get_or_insert_default().add(times.throttle, throttle);
        }
        if times.wait != 0 {
            self.wait.get_or_insert_default().add(times.wait, wait);
        }
    }

    /// The counts since the last call; None without any.
    fn take(&mut self) -> Option<TallyRow> {
        let [silent, answered] = std::mem::take(&mut self.states);
        if silent + answered == 0 {
            return None;
        }
        let sums = [
            &mut self.failed,
            &mut self.unclear,
            &mut self.empty_early,
            &mut self.request_bytes,
            &mut self.response_bytes,
            &mut self.unsized_exchanges,
        ]
        .map(std::mem::take);
        let errors = self.errors.iter_mut().map(|(error, count)| (*error, std::mem::take(count)));
        let errors = errors.filter(|(_, count)| *count > 0).collect();
        let rare = |of: &mut Option<Box<Distribution>>| of.take().and_then(|mut of| of.take());
        let (throttle, wait) = (rare(&mut self.throttle), rare(&mut self.wait));
        let times = [self.latency.take(), self.broker.take(), throttle, wait];
        Some(((answered, silent), sums, self.times_ns.take(), errors, times))
    }
}

/// `kdissect.stats.times.series.Series`: exchanges, request bytes, response bytes, and exchanges
/// with errors, by interval. Response times if they are wanted.
struct Series {
    widths: Vec<i64>,
    most: usize,
    width: i64,
    held: HashMap<i64, [u64; 4]>,
    latencies: Option<HashMap<i64, Distribution>>,
}

impl Series {
    /// Take a response time with its bin, once the exchange was added.
    fn add_latency(&mut self, time_ns: i64, latency: i64, bin: Option<i32>) {
        if let Some(latencies) = &mut self.latencies {
            latencies.entry(time_ns.div_euclid(self.width)).or_default().add(latency, bin);
        }
    }

    fn add(&mut self, time_ns: i64, counts: [u64; 4]) {
        let held = self.held.entry(time_ns.div_euclid(self.width)).or_default();
        for (held, more) in held.iter_mut().zip(counts) {
            *held += more;
        }
        while self.held.len() > self.most {
            let before = self.width;
            let next = self.widths.iter().find(|width| **width > before);
            self.width = next.copied().unwrap_or_else(|| before.saturating_mul(WIDER));
            for (index, counts) in std::mem::take(&mut self.held) {
                let held = self.held.entry((index * before).div_euclid(self.width)).or_default();
                for (held, more) in held.iter_mut().zip(counts) {
                    *held += more;
                }
            }
            let Some(latencies) = &mut self.latencies else { continue };
            for (index, times) in std::mem::take(latencies) {
                latencies.entry((index * before).div_euclid(self.width)).or_default().merge(times);
            }
        }
    }
}

/// Of `take_series`.
type TakenSeries = (i64, Vec<(i64, [u64; 4])>, Vec<(i64, Option<DistributionRow>)>);

/// Counts exchanges of blocks.
#[pyclass(module = "kdissect._native")]
pub struct TrafficCounter {
    asked: Arc<Asked>,
    groupings: Vec<Grouping>,
    bins: Bins,
    leaves_errors: bool,
    watermarks: Py<Watermarks>,
    kinds: Mixed<u32, Option<Arc<OfKind>>>,
    /// The number of each connection's capture set, and its place by grouping; None for one that does not count.
    places: ByLoan<Option<Place>>,
    /// How often the facts that determine groups changed.
    changes: i64,
    tallies: Vec<Tally>,
    /// None unless it is wanted.
    series: Option<Series>,
    /// Which exchanges `takes` takes.
    taken: ByKind,
    room: Room,
    /// For the current exchange: its groups, and all their tallies.
    found: Vec<(Group, Option<OfGroup>)>,
    counted_in: Vec<usize>,
    throttled: Throttled,
}

#[pymethods]
impl TrafficCounter {
    /// Exchanges are distinguished, for each grouping separately, `by` kind, client id, state,
    /// errors, day, topics and groups that requests name, and by the place of their connection.
    /// `kind_of` returns the readers for an API key and a version, None for one that is Python's.
    /// `place_of` returns, for a connection, the name of its set and a number for each grouping,
    /// which is common to connections that are not distinguished, None for one that does not count.
    /// `tallies_of` returns the numbers of an exchange's tallies in a grouping, and the topics
    /// whose record bytes the first one in the first grouping has. They are valid until
    /// `changes_of` returns another number; None for an exchange that is Python's. `meet` receives
    /// the number of a tally, whether there is a response, whether the broker's time is known, and
    /// error codes, if one of them is new to it. Exchanges with errors are Python's where it
    /// `leaves_errors`. `bins` are the multiplier of the sketch's bins, or upper bounds. A series
    /// has at most `most` intervals, in one of these `widths`. Without `most` there is no series.
    /// Exchanges that `takes` refuses are not counted. Its result is common to one connection, API,
    /// version and client id. `throttles` is called with a connection and a client id that have a
    /// throttle time in a response.
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        by: Vec<By>,
        kind_of: Py<PyAny>,
        place_of: Py<PyAny>,
        tallies_of: Py<PyAny>,
        changes_of: Py<PyAny>,
        meet: Py<PyAny>,
        watermarks: Py<Watermarks>,
        bins: Bins,
        leaves_errors: bool,
        widths: Vec<i64>,
        most: usize,
        has_latencies: bool,
        takes: Option<Py<PyAny>>,
        throttles: Option<Py<PyAny>>,
    ) -> Self {
        let of_widths = |width: i64| Series {
            width: width.max(1),
            widths: widths.clone(),
            most,
            held: HashMap::new(),
            latencies: has_latencies.then(HashMap::new),
        };
        TrafficCounter {
            asked: Arc::new(Asked { kind_of, place_of, tallies_of, changes_of, meet, takes, throttles }),
            groupings: by
                .into_iter()
                .map(|by| Grouping { by, groups: Mixed::default(), client_ids: Vec::new() })
                .collect(),
            bins,
            leaves_errors,
            watermarks,
            kinds: Mixed::default(),
            places: ByLoan::default(),
            changes: 0,
            tallies: Vec::new(),
            series: widths.first().copied().map(of_widths),
            taken: ByKind::default(),
            room: Room::default(),
            found: Vec::new(),
            counted_in: Vec::new(),
            throttled: Throttled::default(),
        }
    }

    /// Count exchanges of a block from one on, and return the number of the first one that is
    /// Python's, or the block's length.
    fn count(&mut self, block: &Bound<'_, ExchangeBlock>, start: usize) -> PyResult<usize> {
        self.follow_changes(block.py())?;
        let mut at = start;
        while self.count_one(block, at)? {
            at += 1;
        }
        Ok(at)
    }

    /// The counts of a tally since the last call, and its bytes of records by topic. One tally at a
    /// time: as objects of Python they take ten times the memory.
    fn take_tally(&mut self, number: usize) -> (Option<TallyRow>, Vec<u64>) {
        let Some(tally) = self.tallies.get_mut(number) else { return (None, Vec::new()) };
        (tally.take(), std::mem::take(&mut tally.record_bytes))
    }

    /// The counts since the last call for each interval by its number, after the intervals' width.
    /// Then response times of intervals.
    fn take_series(&mut self) -> TakenSeries {
        let Some(series) = &mut self.series else { return (1, Vec::new(), Vec::new()) };
        let latencies = series.latencies.iter_mut().flat_map(|held| held.drain());
        let latencies = latencies.map(|(index, mut times)| (index, times.take())).collect();
        (series.width, series.held.drain().collect(), latencies)
    }

    /// A connection is over.
    fn close(&mut self, info: &Bound<'_, PyAny>) {
        self.taken.close(info);
    }
}

impl TrafficCounter {
    /// Whether the exchange was counted, or does not count.
    fn count_one(&mut self, block: &Bound<'_, ExchangeBlock>, at: usize) -> PyResult<bool> {
        let py = block.py();
        let rows = block.borrow();
        let Some(found) = rows.row(at) else { return Ok(false) };
        let number = found.connection as usize;
        let Some(info) = rows.connections.get(number) else { return Ok(false) };
        let loan = rows.loan(number);
        let Some((capture_set, places)) = self.place(py, loan, info)? else { return Ok(true) };
        let row = &found.row;
        let Some(kind) = self.kind(py, row)? else { return Ok(false) };
        if kind.is_foreign(py, row) {
            return Ok(false);
        }
        let is_taken = match &self.asked.takes {
            None => true,
            Some(takes) => match self.taken.get(py, row, info) {
                Some(answer) => answer != 0,
                None => {
                    let (takes, info) = (takes.clone_ref(py), info.clone_ref(py));
                    drop(rows);
                    let Some(exchange) = ExchangeBlock::exchange(block, at)? else { return Ok(false) };
                    let is_taken: bool = takes.bind(py).call1((exchange,))?.extract()?;
                    if let Some(found) = block.borrow().row(at) {
                        self.taken.set(py, &found.row, &info, is_taken.into());
                    }
                    return self.count_one(block, at);
                }
            },
        };
        if !is_taken {
            return Ok(true);
        }
        let Some(topics) = topics(py, row, &kind)? else { return Ok(false) };
        // An exchange that is Python's must not change any state: if groups do not depend on
        // errors, they are looked up first.
        let is_early = !self.groupings.iter().any(|of| of.by.3);
        if is_early {
            self.find_groups(row, &places, topics, kind.names_groups);
            if self.found.iter().any(|(_, known)| matches!(known, Some(None))) {
                return Ok(false);
            }
        }
        let Some(times) = self.times(py, row, &kind.reading, capture_set) else { return Ok(false) };
        if !is_early {
            self.find_groups(row, &places, topics, kind.names_groups);
        }
        drop(rows);
        let mut first = None;
        let mut found = std::mem::take(&mut self.found);
        self.counted_in.clear();
        for (number, (group, known)) in found.drain(..).enumerate() {
            let of_group = match known {
                Some(of_group) => of_group,
                None => self.new_group(block, at, number, group)?,
            };
            let Some(of_group) = of_group else { return Ok(false) };
            self.counted_in.extend(&of_group.0);
            first.get_or_insert(of_group);
        }
        self.found = found;
        let Some(first) = first else { return Ok(true) };
        let rows = block.borrow();
        let Some(row) = rows.row(at).map(|found| &found.row) else { return Ok(false) };
        if !self.add_records(py, row, &kind, &first.0, &first.1) {
            return Ok(false);
        }
        self.add(py, row, times.as_ref())?;
        if times.is_some_and(|times| times.throttle != 0) {
            if let Some(info) = rows.connections.get(number) {
                self.throttle(py, loan, info, row)?;
            }
        }
        Ok(true)
    }

    /// Have Python know whose response has a throttle time, once for each client id of a connection.
    fn throttle(&mut self, py: Python<'_>, loan: u64, info: &Py<PyAny>, row: &Row) -> PyResult<()> {
        let Some(throttles) = &self.asked.throttles else { return Ok(()) };
        let client_id = &row.request.client_id;
        if self.throttled.known.len() >= MOST {
            self.throttled = Throttled::default();
        }
        if self.throttled.known.insert((loan, client_id.as_ptr() as usize), ()).is_none() {
            self.throttled.client_ids.push(client_id.clone_ref(py)); // so that no other one is there
            throttles.call1(py, (info, client_id))?;
        }
        Ok(())
    }

    fn place(&mut self, py: Python<'_>, loan: u64, info: &Py<PyAny>) -> PyResult<Option<Place>> {
        let (asked, watermarks) = (&self.asked, &self.watermarks);
        self.places.of(loan, || {
            let place: Option<(PyBackedStr, Vec<u32>)> = asked.place_of.bind(py).call1((info,))?.extract()?;
            Ok(place.map(|(name, numbers)| (watermarks.bind(py).borrow_mut().set_of(&name), numbers.into())))
        })
    }

    fn kind(&mut self, py: Python<'_>, row: &Row) -> PyResult<Option<Arc<OfKind>>> {
        let kind = &row.request.kind;
        if let Some(known) = self.kinds.get(&kind.number()) {
            return Ok(known.clone());
        }
        let found = self.asked.kind_of.bind(py).call1((kind.api_key, kind.version))?;
        let found: Option<KindRow<'_>> = found.extract()?;
        let found = found.map(|(waits, answered, asked, topics, foreign, records, names_groups)| {
            let reading = Reading::of(&answered, asked.as_deref(), waits, self.leaves_errors);
            let topics = topics.map(|(ask, answer)| (Look::of(ask), Look::of(answer)));
            Arc::new(OfKind { reading, topics, records, names_groups, foreign })
        });
        if self.kinds.len() >= MOST {
            self.kinds.clear();
        }
        self.kinds.insert(kind.number(), found.clone());
        Ok(found)
    }

    /// Forget groups that may be others now, and places: a connection may be in a cluster that is known since.
    fn follow_changes(&mut self, py: Python<'_>) -> PyResult<()> {
        let changes = self.asked.changes_of.call0(py)?.extract(py)?;
        if changes != self.changes {
            self.changes = changes;
            self.groupings.iter_mut().for_each(Grouping::forget);
            self.places = ByLoan::default();
        }
        Ok(())
    }

    /// Some(None) without a response; None where a body does not fit.
    fn times(
        &mut self,
        py: Python<'_>,
        row: &Row,
        reading: &Reading,
        capture_set: u32,
    ) -> Option<Option<Times>> {
        let Some(response) = &row.response else {
            self.room.answer.errors.clear();
            return Some(None);
        };
        let request = Body::of(&row.request.content, bytes(py, &row.request.content.data));
        let response = Body::of(response, bytes(py, &response.data));
        let mut watermarks = self.watermarks.bind(py).borrow_mut();
        let frames = (&request, &response, row.in_line());
        self.room.times(reading, frames, row.remote(py), capture_set, &mut watermarks).map(Some)
    }

    /// The groups of an exchange, and what is known of them, in `found`.
    fn find_groups(&mut self, row: &Row, places: &[u32], topics: Topics, names_groups: bool) {
        let errors = &self.room.answer.errors;
        let ways = self.groupings.iter().zip(places);
        self.found.clear();
        self.found.extend(ways.map(|(of, place)| of.known(row, *place, topics, names_groups, errors)));
    }

    fn new_group(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        at: usize,
        number: usize,
        group: Group,
    ) -> PyResult<OfGroup> {
        let py = block.py();
        let Some(exchange) = ExchangeBlock::exchange(block, at)? else { return Ok(None) };
        let found: Option<GroupRow> = self.asked.tallies_of.bind(py).call1((exchange, number))?.extract()?;
        self.follow_changes(py)?;
        let Some(of) = self.groupings.get_mut(number) else { return Ok(None) };
        if of.groups.len() >= MOST {
            of.forget();
        }
        if let Some(found) = block.borrow().row(at) {
            of.client_ids.push(found.row.request.client_id.clone_ref(py)); // so that no other one is there
        }
        let found = found.map(Arc::new);
        of.groups.insert(group, found.clone());
        Ok(found)
    }

    /// Count the record bytes by topic; false, without counting, if the group lacks a topic.
    fn add_records(
        &mut self,
        py: Python<'_>,
        row: &Row,
        kind: &OfKind,
        tallies: &[usize],
        topics: &[(bool, Vec<u8>)],
    ) -> bool {
        let (Some((is_response, reads)), Some(number)) = (&kind.records, tallies.first()) else {
            return true;
        };
        let content = if *is_response { row.response.as_ref() } else { Some(&row.request.content) };
        let Some(content) = content.filter(|_| !topics.is_empty()) else { return true };
        let Some(body) = content.partitions(py, reads.get()) else { return false };
        let mut found = vec![0; topics.len()];
        for of in body.rows.iter() {
            let size = of.records.as_ref().map_or(0, |records| records.len());
            if size == 0 {
                continue;
            }
            let topic = body.topics.get(of.topic).map(|topic| topic.key());
            let at = topics.iter().position(|(is_id, name)| topic == Some((*is_id, name)));
            match at.and_then(|at| found.get_mut(at)) {
                Some(sum) => *sum += size as u64,
                None => return false,
            }
        }
        if *number >= self.tallies.len() {
            self.tallies.resize_with(number + 1, Tally::default);
        }
        let Some(tally) = self.tallies.get_mut(*number) else { return true };
        tally.record_bytes.resize(topics.len(), 0);
        for (sum, more) in tally.record_bytes.iter_mut().zip(found) {
            *sum += more;
        }
        true
    }

    /// Count the exchange in the tallies of its groups.
    fn add(&mut self, py: Python<'_>, row: &Row, times: Option<&Times>) -> PyResult<()> {
        let bin = |value: i64| self.bins.of(value);
        let bins = times.map_or([None; 4], |times| {
            [bin(times.latency), times.broker.and_then(bin), bin(times.throttle), bin(times.wait)]
        });
        let is_unsized = row.is_logged();
        let size = |data: &Py<PyBytes>| if is_unsized { 0 } else { bytes(py, data).len() as u64 + PREFIX };
        let one = One {
            is_answered: row.response.is_some(),
            request_bytes: size(&row.request.content.data),
            response_bytes: row.response.as_ref().map_or(0, |content| size(&content.data)),
            is_unsized,
            time_ns: row.request.content.span.first_time,
            errors: &self.room.answer.errors,
            times,
            bins,
        };
        for number in &self.counted_in {
            if *number >= self.tallies.len() {
                self.tallies.resize_with(number + 1, Tally::default);
            }
            let Some(tally) = self.tallies.get_mut(*number) else { continue };
            if !tally.knows(&one) {
                self.asked.meet.call1(py, (number, one.is_answered, one.is_timed(), one.errors.to_vec()))?;
                tally.meet(&one);
            }
            tally.add(&one);
        }
        let has_errors = u64::from(!one.errors.is_empty());
        let (time_ns, counts) = (one.time_ns, [1, one.request_bytes, one.response_bytes, has_errors]);
        if let Some(series) = &mut self.series {
            series.add(time_ns, counts);
            if let Some(times) = times {
                series.add_latency(time_ns, times.latency, bins[0]);
            }
        }
        Ok(())
    }
}

/// Number for the topics of an exchange, if they are wanted; None if they are Python's.
fn topics(py: Python<'_>, row: &Row, kind: &OfKind) -> PyResult<Option<Topics>> {
    let Some((ask, answer)) = &kind.topics else { return Ok(Some((0, 0))) };
    let answered = kind.records.as_ref().filter(|(is_response, _)| *is_response).map(|(_, rows)| rows.get());
    if may_tell_names(py, row, answered) {
        return Ok(None);
    }
    let (asked, _) = ask.at(&Frame::of_content(py, &row.request.content))?;
    let answered = match &row.response {
        Some(content) => answer.at(&Frame::of_content(py, content))?.0,
        None => NO_ANSWER,
    };
    Ok((asked > 0 && answered > 0).then_some((asked, answered))) // 0 is of none that is remembered
}

fn bytes<'a>(py: Python<'a>, data: &'a Py<PyBytes>) -> &'a [u8] {
    data.as_bytes(py)
}
