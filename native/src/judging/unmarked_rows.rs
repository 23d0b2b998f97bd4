//! Rows without results, by guards of rules, facts of connections and the needs of the histories'
//! machines. An unusual row is Python's, without any change by it.

use std::sync::Arc;

use pyo3::prelude::*;

use super::batches::{batches_of, Batches, CarriageRow, Needed, Topics};
use super::connections::{first_facts, Connection, Lent, Resting, Turns, ID_NOT_HIGHEST};
use super::counted::{Counted, Settled};
use super::members::Members;
use crate::bodies::guards::Guards;
use crate::bodies::partition_rows::{Body, PartitionRows, Topic};
use crate::bodies::plan::Layout;
use crate::engine::completed::{Content, Row};
use crate::engine::exchange_block::ExchangeBlock;
use crate::places::FILE_SHIFT;
use crate::records::batch::{Batch, Found, NONE};
use crate::records::content::Contents;
use crate::records::quick::QuickMap;
use crate::transfers::connections::{evidence, given_to, values_of};
use crate::transfers::lent_members::LentMembers;
use crate::transfers::members::{MemberRequests, MemberRow};
use crate::transfers::sequences::{Placed, Sequences};
use crate::transfers::sessions::{Passing, Sessions};
use crate::transfers::stored_batches::StoredBatches;

/// Kinds, and rules by kind and facts, that are remembered; Kafka has 368 kinds.
const MOST: usize = 4096;
/// Number of rows whose connections are requested from Python together.
const ASKED_TOGETHER: usize = 64;
/// Number of long-silent connections that stay native-owned: 3 KB each.
const MOST_SILENT: usize = 1 << 12;
/// After this number of rows that were shown in vain, 63 rows are not shown.
const MOST_IN_VAIN: u32 = 6;
/// The API with which connections begin (`history.api_keys.API_VERSIONS`).
const API_VERSIONS: i16 = 18;
/// acks of an idempotent producer.
const ALL_IN_SYNC: i64 = -1;
/// The place of the epoch among the numbers of a Fetch's partitions: `engine.transfer_rows`.
const FETCH_EPOCH: usize = 1;
/// The epoch of an unknown leader: `history.epochs.leader_epochs`.
const NO_EPOCH: i64 = -1;
/// The metadata log by name and by id: `schema.logs`.
type Marks = (Vec<u8>, Vec<u8>);

type Five = (Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>);
/// Callables of `Asked` in their order, and the two of `Resting`.
type Doors = (
    Py<PyAny>,
    Py<PyAny>,
    Py<PyAny>,
    Py<PyAny>,
    Py<PyAny>,
    Py<PyAny>,
    Py<PyAny>,
    Py<PyAny>,
    Py<PyAny>,
    Py<PyAny>,
    Py<PyAny>,
    Py<PyAny>,
);
/// Codes of rules about exchanges that judge one, and whether other rules mark it.
type Receivers = (Vec<Py<PyAny>>, bool);
/// How both bodies are read as rows by partition.
type RowsOf = (Py<PartitionRows>, Py<PartitionRows>);
/// Needs of the histories' machines about a kind: producers, transactions, fetch sessions, whether
/// an epoch of the metadata log is unchanged, for members of groups the fields that name them,
/// produced batches, what knows the leaders of partitions, and how requests of share groups are read, with what goes on
/// with sessions.
type AsksRow = (
    Option<Py<Sequences>>,
    bool,
    Option<Py<Sessions>>,
    Option<Py<PyAny>>,
    Option<(Py<LentMembers>, Py<Layout>, [String; 3])>,
    Option<Py<StoredBatches>>,
    Vec<Py<PyAny>>,
    Option<(MemberRow, Vec<Py<PyAny>>)>,
);
/// The guards of bodies, carriage of batches, rows of bodies, what machines ask, what takes exchanges that come again,
/// marks of rules that never speak of such bodies, marks that `show` follows, marks that each stand for one fault, and
/// whether rows must be shown to rules and machines as objects.
type PlanRow =
    (Py<Guards>, Option<CarriageRow>, Option<RowsOf>, AsksRow, Option<Py<PyAny>>, u64, u64, u64, bool);

/// A kind of exchange.
struct Plan {
    guards: Py<Guards>,
    carriage: Option<CarriageRow>,
    rows: Option<RowsOf>,
    produces: Option<Py<Sequences>>,
    is_transactional: bool,
    fetches: Option<Py<Sessions>>,
    quorum: Option<Py<PyAny>>,
    members: Option<(Py<LentMembers>, Members)>,
    stored: Option<Py<StoredBatches>>,
    leaders: Vec<Py<PyAny>>,
    idle: Option<(MemberRequests, Vec<Py<PyAny>>)>,
    again: Option<Py<PyAny>>,
    silent: u64,
    checkable: u64,
    exact: u64,
    is_shown: bool,
}

/// Rows of a kind with equal marks that were shown in vain, one after the other, and how many of the next ones are not
/// shown.
#[derive(Default)]
struct InVain {
    times: u32,
    skipped: u32,
}

impl From<PlanRow> for Plan {
    fn from((guards, carriage, rows, asks, again, silent, checkable, exact, is_shown): PlanRow) -> Self {
        let (produces, is_transactional, fetches, quorum, members, stored, leaders, idle) = asks;
        let idle = idle.map(|(row, receivers)| (MemberRequests::from(row), receivers));
        let members = members.map(|(lent, layout, names)| (lent, Members::of(layout.get(), &names)));
        Plan {
            guards,
            carriage,
            rows,
            produces,
            is_transactional,
            fetches,
            quorum,
            members,
            stored,
            leaders,
            idle,
            again,
            silent,
            checkable,
            exact,
            is_shown,
        }
    }
}

impl InVain {
    fn again(&mut self) {
        self.times = (self.times + 1).min(MOST_IN_VAIN);
        self.skipped = (1 << self.times) - 1;
    }

    fn skips(&mut self) -> bool {
        let skips = self.skipped > 0;
        self.skipped = self.skipped.saturating_sub(1);
        skips
    }
}

/// Connections that count no exchanges, connections that are Python's, and native-owned ones.
enum Known {
    IsPassed(bool),
    Lent(Box<Connection>),
}

/// Decoded parts of a row, as far as its history needs them.
struct Reading<'a> {
    asked: Body<'a>,
    answered: Option<Body<'a>>,
    batches: Vec<Found>,
}

/// The batches of a row, and the body that has them.
struct Carried<'r, 'a> {
    carriage: &'r CarriageRow,
    read: &'r Reading<'a>,
    body: &'r Body<'a>,
    content: &'r Content,
}

impl<'r, 'a> Carried<'r, 'a> {
    fn of(carriage: &'r CarriageRow, row: &'r Row, read: &'r Reading<'a>) -> Option<Self> {
        let (body, content) = match carriage.0 {
            true => (&read.asked, &row.request.content),
            false => (read.answered.as_ref()?, row.response.as_ref()?),
        };
        Some(Carried { carriage, read, body, content })
    }
}

/// Callables of `kdissect.rules.judging.unmarked_rows`.
struct Asked {
    lend: Py<PyAny>,
    are_lent: Py<PyAny>,
    take_back: Py<PyAny>,
    plan_of: Py<PyAny>,
    codes_of: Py<PyAny>,
    pair_of: Py<PyAny>,
    settle: Py<PyAny>,
    show: Py<PyAny>,
    begin: Py<PyAny>,
    repeated: Py<PyAny>,
}

#[pyclass(module = "kdissect._native")]
pub struct UnmarkedRows {
    asked: Asked,
    resting: Resting,
    turns: Turns,
    marks: Marks,
    batches: Batches,
    plans: QuickMap<u32, Option<Arc<Plan>>>,
    codes: QuickMap<(u32, u32), Receivers>,
    /// Connections that stay native-owned after a block, by the addresses of their infos.
    lent: QuickMap<usize, Box<Connection>>,
    counted: Counted,
    /// By kind, marks and whether rules need its batches.
    in_vain: QuickMap<(u32, u64, bool), InVain>,
    /// Rows that passed.
    passed: u64,
}

#[pymethods]
impl UnmarkedRows {
    /// `asked` are `lend`, `are_lent`, `take_back`, `plan_of`, `codes_of`, `pair_of`, `settle`, `show`, `begin`
    /// and `repeated_by`, and the constructors of exchanges at rest from numbers and from exchanges. `topics` are the
    /// topics whose records have formats, and the function that recognizes them by id. `contents`
    /// are as in `content.rs`. `multiplier` computes the bins of a distribution.
    #[new]
    fn new(asked: Doors, marks: Marks, topics: Topics, contents: Five, multiplier: f64) -> Self {
        let (
            lend,
            are_lent,
            take_back,
            plan_of,
            codes_of,
            pair_of,
            settle,
            show,
            begin,
            repeated,
            of_numbers,
            of_exchange,
        ) = asked;
        let (limits, gzip, lz4, zstd, decompress) = contents;
        let contents = Contents::new(limits, gzip, [lz4, zstd], decompress);
        UnmarkedRows {
            asked: Asked {
                lend,
                are_lent,
                take_back,
                plan_of,
                codes_of,
                pair_of,
                settle,
                show,
                begin,
                repeated,
            },
            resting: Resting { of_numbers, of_exchange },
            turns: Turns { turn: 0, spoke: 0, most: 0 },
            marks,
            batches: Batches::new(contents, topics),
            plans: QuickMap::default(),
            codes: QuickMap::default(),
            lent: QuickMap::default(),
            counted: Counted::of(multiplier),
            in_vain: QuickMap::default(),
            passed: 0,
        }
    }

    /// Pass rows of a block from one on, and return the number of the first row that is Python's,
    /// or the block's length, and the current turn. Connections stay native-owned after it.
    fn take(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        turns: (i64, i64, i64),
    ) -> PyResult<(usize, i64, i64)> {
        let py = block.py();
        let (turn, spoke, most) = turns;
        self.turns = Turns { turn, spoke, most };
        self.batches.look(py)?;
        let mut connections = Vec::new();
        let mut at = start;
        let mut done = Ok(true);
        {
            let rows = block.borrow();
            connections.resize_with(rows.connections.len(), || None);
            while matches!(done, Ok(true)) {
                done = self.pass(py, &rows, at, &mut connections);
                at += usize::from(matches!(done, Ok(true)));
            }
        }
        self.keep(py, &block.borrow(), connections)?;
        self.counted.count_repeated(py)?;
        if self.counted.has_many() {
            let settled = self.counted.take_slots();
            self.settle_by(py, settled)?;
        }
        done.map(|_| (at, self.turns.turn, self.turns.spoke))
    }

    /// Reduce connections without activity since turn `turn`, and return the last turns of some, -1
    /// for connections that are not native-owned.
    fn rest(&mut self, infos: Vec<Bound<'_, PyAny>>, turn: i64, py: Python<'_>) -> PyResult<Vec<i64>> {
        let address = |info: &Bound<'_, PyAny>| info.as_ptr() as usize;
        let last =
            infos.iter().map(|info| self.lent.get(&address(info)).map_or(-1, |lent| lent.turn)).collect();
        let mut silent = Vec::new();
        for (address, connection) in &mut self.lent {
            if connection.turn < turn {
                connection.rest(py, &self.resting)?;
                silent.push(*address);
            }
        }
        if silent.len() > MOST_SILENT {
            let returned: Vec<_> = silent.iter().filter_map(|address| self.lent.remove(address)).collect();
            self.return_all(py, returned)?;
        }
        Ok(last)
    }

    /// Return a connection to Python, which reads it.
    fn give_back(&mut self, info: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.lent.remove(&(info.as_ptr() as usize)) {
            Some(connection) => self.return_all(info.py(), [connection]),
            None => Ok(()),
        }
    }

    /// Forget a connection that is over.
    fn forget(&mut self, info: &Bound<'_, PyAny>) {
        self.lent.remove(&(info.as_ptr() as usize));
    }

    /// Have everything counted that passed.
    fn settle(&mut self, py: Python<'_>) -> PyResult<()> {
        let settled = self.counted.take();
        self.settle_by(py, settled)
    }

    fn give_back_all(&mut self, py: Python<'_>) -> PyResult<()> {
        let lent = std::mem::take(&mut self.lent);
        self.return_all(py, lent.into_values())
    }
}

impl UnmarkedRows {
    /// Whether a row has no results. It is counted then.
    fn pass(
        &mut self,
        py: Python<'_>,
        rows: &ExchangeBlock,
        at: usize,
        connections: &mut [Option<Known>],
    ) -> PyResult<bool> {
        let Some(of) = rows.row(at) else { return Ok(false) };
        let (number, row) = (of.connection as usize, &of.row);
        let Some(info) = rows.connections.get(number) else { return Ok(false) };
        let mut marked = None;
        if matches!(connections.get(number), Some(None)) {
            if row.request.kind.api_key == API_VERSIONS && row.request.ordinal == 0 {
                let Some(mut begun) = self.begin(py, rows, info, row)? else { return Ok(false) };
                self.passed += 1;
                begun.pass(py, at, row, self.passed, &mut self.turns);
                if let Some(known) = connections.get_mut(number) {
                    *known = Some(Known::Lent(begun));
                }
                return Ok(true);
            }
            marked = self.unspoken(py, row)?;
            if marked.is_none() {
                return Ok(false); // before its connection is handed over in vain
            }
            self.have_lent(py, rows, at, connections)?;
        }
        let Some(known) = connections.get_mut(number) else { return Ok(false) };
        let connection = match known {
            Some(Known::Lent(connection)) => connection,
            Some(Known::IsPassed(is_passed)) => return Ok(*is_passed),
            None => match self.lend(py, rows, info)? {
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
        let Some(latency) = latency(row) else { return Ok(false) };
        if row.request.ordinal != connection.next || !connection.is_settled(py, row)? {
            return Ok(false);
        }
        let facts = connection.facts(py, rows.rows(), row, latency)?;
        let is_noted = match self.noted(py, connection, row, facts)? {
            Some(is_noted) if facts & ID_NOT_HIGHEST == 0 => is_noted,
            _ => return Ok(false),
        };
        if marked.is_none() {
            marked = self.unspoken(py, row)?;
        }
        let Some((plan, marks)) = marked else { return Ok(false) };
        let (pair_of, spoken) = (&self.asked.pair_of, marks & !plan.silent);
        let silent = marks & plan.silent;
        let Some(pair) = self.counted.pair(py, &connection.exercise, row, silent, pair_of)? else {
            return Ok(false);
        };
        let Some(read) = read(py, &plan, row) else { return Ok(false) };
        let (mut batches, mut needed) = (0, Needed::Nothing);
        let carried = plan.carriage.as_ref().filter(|_| pair.is_watched);
        let carried =
            carried.zip(read.as_ref()).and_then(|(carriage, read)| Carried::of(carriage, row, read));
        if let Some(carried) = &carried {
            let (data, kind) = (carried.content.data.as_bytes(py), row.request.kind.number());
            let (found, asked) = (&carried.read.batches, &carried.read.asked);
            let of = (kind, carried.carriage);
            needed = self.batches.needed(py, of, info, data, carried.body, found, asked)?;
            batches = found.len() as u64;
        }
        let has_needed = !matches!(needed, Needed::Nothing);
        let is_exact = spoken != 0 && spoken & !plan.exact == 0 && plan.again.is_none();
        let repeated = match &row.response {
            Some(response) if is_exact => {
                connection.repeated(py, row, spoken, &self.asked.repeated)?.filter(|of| of.is_after(response))
            }
            _ => None,
        };
        let is_silent = spoken == 0 || repeated.is_some();
        let knows_some = plan.again.is_some() || plan.idle.is_some();
        let is_asked = is_silent && !is_noted && !has_needed && (knows_some || !plan.is_shown);
        if is_asked && self.is_history(py, &plan, info, row, read.as_ref())? {
            if let (Some(repeated), Some(response)) = (repeated, &row.response) {
                self.counted.repeat(repeated, response);
            }
        } else {
            let key = (row.request.kind.number(), spoken, has_needed);
            if self.in_vain.get_mut(&key).is_some_and(InVain::skips) {
                return Ok(false);
            }
            let exchange = row.exchange(py, rows.engine.get(), info)?;
            let shown = (exchange, spoken, plan.is_shown, has_needed, is_noted);
            match self.asked.show.bind(py).call1(shown)?.extract()? {
                Some(found) if plan.carriage.is_none() => batches = found,
                Some(_) => {}
                None => {
                    if self.in_vain.len() >= MOST {
                        self.in_vain.clear();
                    }
                    self.in_vain.entry(key).or_default().again();
                    return Ok(false);
                }
            }
            self.in_vain.remove(&key);
            if let (Some(carried), Needed::Formats) = (&carried, needed) {
                self.batches.fit(carried.body, &carried.read.batches);
            }
        }
        self.passed += 1;
        connection.pass(py, at, row, self.passed, &mut self.turns);
        self.counted.add(&pair, row, batches, latency);
        Ok(true)
    }

    /// The plan of a row, and the marks of its bodies, which are canonical; None for a row that is
    /// Python's, or with marks that cannot be shown.
    fn unspoken(&mut self, py: Python<'_>, row: &Row) -> PyResult<Option<(Arc<Plan>, u64)>> {
        let (Some(plan), Some(latency)) = (self.plan(py, row)?, latency(row)) else { return Ok(None) };
        if is_answered_first(row) {
            return Ok(None);
        }
        let request = (row.request.content.data.as_bytes(py), row.request.content.body);
        let response = row.response.as_ref().map(|content| (content.data.as_bytes(py), content.body));
        let (marks, are_canonical) = plan.guards.get().marked(Some(request), response, latency);
        Ok((are_canonical && marks & !plan.silent & !plan.checkable == 0).then_some((plan, marks)))
    }

    fn settle_by(&mut self, py: Python<'_>, settled: Settled) -> PyResult<()> {
        let width = self.asked.settle.bind(py).call1(settled)?.extract()?;
        self.counted.width(width);
        Ok(())
    }

    /// Request from Python, together, which of the next connections become native-owned.
    fn have_lent(
        &mut self,
        py: Python<'_>,
        block: &ExchangeBlock,
        at: usize,
        connections: &mut [Option<Known>],
    ) -> PyResult<()> {
        let mut lent = Vec::new();
        for row in block.rows().get(at..).into_iter().flatten().take(ASKED_TOGETHER) {
            let number = row.connection as usize;
            let (Some(None), Some(info)) = (connections.get(number), block.connections.get(number)) else {
                continue;
            };
            if let Some(connection) = self.lent.remove(&(info.as_ptr() as usize)) {
                lent.push((number, connection));
            }
        }
        if lent.is_empty() {
            return Ok(());
        }
        let views: Vec<_> = lent.iter().map(|(_, connection)| connection.view.clone_ref(py)).collect();
        let stay: Vec<bool> = self.asked.are_lent.bind(py).call1((views,))?.extract()?;
        let mut returned = Vec::new();
        for ((number, connection), stays) in lent.into_iter().zip(stay) {
            match connections.get_mut(number) {
                Some(known) if stays => *known = Some(Known::Lent(connection)),
                _ => returned.push(connection),
            }
        }
        self.return_all(py, returned)
    }

    fn lend(&mut self, py: Python<'_>, block: &ExchangeBlock, info: &Py<PyAny>) -> PyResult<Known> {
        let found = self.asked.lend.bind(py).call1((info,))?;
        match found.extract::<bool>() {
            Ok(is_passed) => Ok(Known::IsPassed(is_passed)),
            Err(_) => {
                let (info, engine) = (info.clone_ref(py), block.engine.clone_ref(py));
                Ok(Known::Lent(Box::new(Connection::of(info, engine, found.extract::<Lent>()?))))
            }
        }
    }

    /// A connection that begins with a row, if Python knows the row by its bodies and facts. The row is counted then.
    fn begin(
        &mut self,
        py: Python<'_>,
        block: &ExchangeBlock,
        info: &Py<PyAny>,
        row: &Row,
    ) -> PyResult<Option<Box<Connection>>> {
        let (Some(latency), false) = (latency(row), is_answered_first(row)) else { return Ok(None) };
        let facts = first_facts(py, row, latency)?;
        let Some(given) = values_of(py, info.bind(py), row) else { return Ok(None) };
        let (info_of, kind, bodies, evidence, client_id) = given;
        let begun = self.asked.begin.bind(py).call1((info_of, kind, bodies, evidence, client_id, facts))?;
        let Some((lent, marks)) = begun.extract::<Option<(Lent, u64)>>()? else { return Ok(None) };
        let connection = Connection::of(info.clone_ref(py), block.engine.clone_ref(py), lent);
        let pair = self.counted.pair(py, &connection.exercise, row, marks, &self.asked.pair_of)?;
        if let Some(pair) = pair {
            self.counted.add(&pair, row, 0, latency);
        }
        Ok(Some(Box::new(connection)))
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

    /// Whether a rule about exchanges marks one with these facts; None if a rule judges it that has not spoken of its
    /// connection.
    fn noted(
        &mut self,
        py: Python<'_>,
        connection: &Connection,
        row: &Row,
        facts: u32,
    ) -> PyResult<Option<bool>> {
        let kind = &row.request.kind;
        let key = (kind.number(), facts);
        let (codes, is_noted) = match self.codes.get(&key) {
            Some(found) => found,
            None => {
                if self.codes.len() >= MOST {
                    self.codes.clear();
                }
                let found = self.asked.codes_of.bind(py).call1((kind.api_key, kind.version, facts))?;
                self.codes.entry(key).or_insert(found.extract()?)
            }
        };
        for code in codes {
            if !connection.spoken.bind(py).contains(code)? {
                return Ok(None);
            }
        }
        Ok(Some(*is_noted))
    }

    /// Whether the histories' machines have no facts about it. They learn from it then.
    fn is_history(
        &self,
        py: Python<'_>,
        plan: &Plan,
        info: &Py<PyAny>,
        row: &Row,
        read: Option<&Reading<'_>>,
    ) -> PyResult<bool> {
        if let Some((lent, members)) = &plan.members {
            let content = &row.request.content;
            let Some(who) = members.read(content.data.as_bytes(py), content.body) else { return Ok(false) };
            return Ok(
                row.response.is_some() && lent.bind(py).borrow_mut().take_next(info.bind(py), row, &who)?
            );
        }
        if let Some((requests, receivers)) = &plan.idle {
            return goes_on(py, requests, receivers, info, row);
        }
        if let Some(door) = &plan.again {
            return given_to(door.bind(py), info.bind(py), row);
        }
        let Some(read) = read else { return Ok(true) };
        if is_fed(plan, read) || !self.knows_epochs(py, plan, info, read)? {
            return Ok(false);
        }
        if !knows_leaders(py, plan, info, read)? {
            return Ok(false);
        }
        let stored = plan.stored.as_ref().map(|stored| stored.bind(py).borrow_mut());
        if let Some(sequences) = &plan.produces {
            return produce(&mut sequences.bind(py).borrow_mut(), stored, py, info, row, read);
        }
        if let (Some(mut stored), Some(answered), Some(answer)) = (stored, &read.answered, &row.response) {
            if stored.differs(py, info, answer.data.as_bytes(py), answered, &read.batches)? {
                return Ok(false);
            }
        }
        let Some(sessions) = &plan.fetches else { return Ok(true) };
        fetch(&mut sessions.bind(py).borrow_mut(), py, info, row, read)
    }

    /// Whether the epochs in a Fetch of the metadata log are equal to the last ones on its
    /// connection. The answer names none: guards mark one that does.
    fn knows_epochs(
        &self,
        py: Python<'_>,
        plan: &Plan,
        info: &Py<PyAny>,
        read: &Reading<'_>,
    ) -> PyResult<bool> {
        let Some(is_known) = &plan.quorum else { return Ok(true) };
        for row in &*read.asked.rows {
            let epoch = row.values[FETCH_EPOCH];
            let is_of_log = read.asked.topics.get(row.topic).is_some_and(|topic| self.is_metadata_log(topic));
            if is_of_log && epoch > 0 && !is_known.call1(py, (info, row.partition, epoch))?.extract(py)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_metadata_log(&self, topic: &Topic<'_>) -> bool {
        match topic {
            Topic::Name(name) => *name == self.marks.0.as_slice(),
            Topic::Id(id) => id[..] == self.marks.1[..],
        }
    }

    /// End the block for these connections: return the ones with large exchanges to Python, which
    /// drops other large exchanges in their order.
    fn keep(
        &mut self,
        py: Python<'_>,
        block: &ExchangeBlock,
        connections: Vec<Option<Known>>,
    ) -> PyResult<()> {
        let mut returned = Vec::new();
        for known in connections.into_iter().flatten() {
            let Known::Lent(mut connection) = known else { continue };
            connection.keep(py, block.rows());
            if connection.large.is_empty() && connection.touched > 0 {
                self.lent.insert(connection.info.as_ptr() as usize, connection);
            } else {
                returned.push(connection);
            }
        }
        self.return_all(py, returned)
    }

    /// Give connections back, that which spoke last at the end.
    fn return_all(
        &self,
        py: Python<'_>,
        connections: impl IntoIterator<Item = Box<Connection>>,
    ) -> PyResult<()> {
        let mut connections: Vec<_> =
            connections.into_iter().filter(|connection| connection.touched > 0).collect();
        if connections.is_empty() {
            return Ok(());
        }
        connections.sort_unstable_by_key(|connection| connection.touched);
        let (mut given, mut large) = (Vec::with_capacity(connections.len()), Vec::new());
        for connection in &connections {
            let Some((taken_back, apart)) = connection.taken_back(py, &self.resting)? else { continue };
            given.push(taken_back);
            large.extend(
                apart.into_iter().map(|(at, exchange)| (at, (connection.view.clone_ref(py), exchange))),
            );
        }
        large.sort_by_key(|(at, _)| *at);
        let large: Vec<_> = large.into_iter().map(|(_, found)| found).collect();
        self.asked.take_back.bind(py).call1((large, given))?;
        Ok(())
    }
}

/// Whether a machine is to be fed a row, as far as its values alone show.
fn is_fed(plan: &Plan, read: &Reading<'_>) -> bool {
    plan.is_transactional && read.asked.facts[1].is_some()
        || plan.produces.is_some() && produced(read).is_none()
}

/// Whether a session goes on with a ShareFetch without partitions, as those say who receive it.
fn goes_on(
    py: Python<'_>,
    requests: &MemberRequests,
    receivers: &[Py<PyAny>],
    info: &Py<PyAny>,
    row: &Row,
) -> PyResult<bool> {
    let (Some(who), Some(epoch)) = (requests.sender(py, row), requests.idle_epoch(py, row)) else {
        return Ok(false);
    };
    let (Some(group), Some(member)) = (who.group, who.member) else { return Ok(false) };
    for receiver in receivers {
        let of = (info, group, member, epoch, evidence(0, row));
        if !receiver.bind(py).call1(of)?.extract::<bool>()? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the leaders that the answer names, and their epochs, are known.
fn knows_leaders(py: Python<'_>, plan: &Plan, info: &Py<PyAny>, read: &Reading<'_>) -> PyResult<bool> {
    let Some(answered) = read.answered.as_ref().filter(|_| !plan.leaders.is_empty()) else { return Ok(true) };
    for row in &*answered.rows {
        let Some((leader, epoch)) = row.leader.filter(|(_, epoch)| *epoch > NO_EPOCH) else { continue };
        let topic = answered.topics.get(row.topic).and_then(|topic| topic.object(py));
        let Some(topic) = topic else { return Ok(false) };
        for knows in &plan.leaders {
            if !knows.call1(py, (info, &topic, row.partition, leader, epoch))?.extract(py)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// `history.fact.is_answered_first`.
fn is_answered_first(row: &Row) -> bool {
    let Some(answer) = row.response.as_ref().map(|content| content.span) else { return false };
    let asked = row.request.content.span;
    let is_in_order =
        answer.first_ref >= asked.last_ref || answer.first_ref >> FILE_SHIFT != asked.last_ref >> FILE_SHIFT;
    answer.first_time < asked.last_time || !is_in_order
}

/// How long the answer took, 0 without one; None beyond 64 bits.
fn latency(row: &Row) -> Option<i64> {
    let sent = row.request.content.span.last_time;
    row.response.as_ref().map_or(Some(0), |response| response.span.first_time.checked_sub(sent))
}

/// Needed facts about partitions; Some(None) without any, None if a body is Python's.
fn read<'a>(py: Python<'a>, plan: &Plan, row: &'a Row) -> Option<Option<Reading<'a>>> {
    let Some((ask, answer)) = &plan.rows else { return Some(None) };
    let is_produce = plan.produces.is_some() || plan.carriage.as_ref().is_some_and(|row| row.0);
    let asked = row.request.content.partitions(py, ask.get())?;
    let answered = match &row.response {
        Some(content) => Some(content.partitions(py, answer.get())?),
        None => None,
    };
    let batches = match (&answered, is_produce) {
        (_, true) => batches_of(row.request.content.data.as_bytes(py), &asked)?,
        (Some(answered), false)
            if plan.carriage.is_some() || plan.fetches.is_some() || plan.stored.is_some() =>
        {
            batches_of(row.response.as_ref()?.data.as_bytes(py), answered)?
        }
        _ => Vec::new(),
    };
    Some(Some(Reading { asked, answered, batches }))
}

/// A Produce's only batch with a producer id, with its topic and partition, if it was accepted or
/// not answered; Some(None) without a batch with an id. None for what producers are fed.
fn produced<'a, 'r>(read: &'r Reading<'a>) -> Option<Option<(&'r Topic<'a>, i64, &'r Batch)>> {
    if read.batches.iter().all(|(_, batch)| batch.producer_id == NONE) {
        return Some(None);
    }
    let [(number, batch)] = read.batches.as_slice() else { return None };
    let of = read.asked.rows.get(*number)?;
    let topic = read.asked.topics.get(of.topic)?;
    if read.asked.facts[0] != Some(ALL_IN_SYNC) {
        return None;
    }
    if let Some(answered) = &read.answered {
        let ([result], [named]) = (&*answered.rows, answered.topics.as_slice()) else {
            return None;
        };
        if named != topic || result.partition != of.partition || result.values[0] != 0 {
            return None;
        }
    }
    Some(Some((topic, of.partition, batch)))
}

/// `Producers.passes` of a row.
fn produce(
    sequences: &mut Sequences,
    stored: Option<PyRefMut<'_, StoredBatches>>,
    py: Python<'_>,
    info: &Py<PyAny>,
    row: &Row,
    read: &Reading<'_>,
) -> PyResult<bool> {
    let (topic, partition, batch) = match produced(read) {
        None => return Ok(false),
        Some(None) => return Ok(true),
        Some(Some(found)) => found,
    };
    let base_offset =
        read.answered.as_ref().and_then(|answered| answered.rows.first()).map(|row| row.values[1]);
    let who = sequences.numbers(info, row.request.client_id.bind(py))?;
    let is_taken = sequences.take_next(py, who, row, &Placed { topic, partition, batch, base_offset })?;
    if let (true, Some(mut stored), Some(base_offset)) = (is_taken, stored, base_offset) {
        stored.take(py, info, row, (topic, partition, base_offset), batch)?;
    }
    Ok(is_taken)
}

/// `FetchSessions.passes` of a row.
fn fetch(
    sessions: &mut Sessions,
    py: Python<'_>,
    info: &Py<PyAny>,
    row: &Row,
    read: &Reading<'_>,
) -> PyResult<bool> {
    let Some(answered) = &read.answered else { return Ok(false) };
    let connection = sessions.number(py, info)?;
    let passing = sessions.look(py, connection, row, (&read.asked, answered), &read.batches)?;
    sessions.take_in(connection, row, answered, &passing);
    Ok(!matches!(passing, Passing::Left))
}
