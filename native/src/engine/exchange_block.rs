//! Exchanges that packets completed, as rows. Code that counts or writes them reads the rows. A row
//! becomes an object (`kdissect.session.exchange.Exchange`) on access.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::engine::completed::{counted, Row};
use crate::engine::held::Held;
use crate::engine::shared::{Engine, Note};
use crate::places::FILE_SHIFT;

/// Number of rows, or of bytes in their frames, after which a block is handed on, even if packets
/// remain.
const MOST_ROWS: usize = 4096;
const MOST_BYTES: usize = 1 << 18;

/// Blocks that were begun, of all analyses: 0 is the number of none.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Of `response_times`: first byte, last byte, and how long the first response was waited for.
type Responding = (i64, i64, i64);
type OfConnections = Vec<(Py<PyAny>, Vec<Responding>)>;

/// The name of a capture set, and where runs of its exchanges begin and end.
type OfSet = (String, Vec<(usize, usize)>);

/// One exchange of a block.
pub struct BlockRow {
    pub row: Row,
    /// Index among the block's connections.
    pub connection: u32,
    /// Index of the packet that completed it.
    packet: usize,
    place: Place,
    /// How many the same packet completed before it.
    behind: u32,
    made: Option<Py<PyAny>>,
}

/// The place of a packet in the order of all (`kdissect.engine.event_order`): the latest time of
/// all packets so far, its reference.
#[derive(Clone, Copy)]
pub struct Place {
    pub latest_ns: i64,
    pub reference: i64,
}

impl BlockRow {
    /// The index of that packet, and how many exchanges of it are before this one.
    pub fn at_packet(&self) -> (usize, u32) {
        (self.packet, self.behind)
    }

    /// Where the packet stands, and how many exchanges of it are before this one.
    pub fn place(&self) -> (Place, u32) {
        (self.place, self.behind)
    }
}

/// Facts about a connection from a packet.
struct Noted {
    info: Py<PyAny>,
    packet: usize,
    reference: i64,
    note: Note,
}

/// A block while rows are added to it.
pub struct Gathered {
    number: u64,
    engine: Py<Engine>,
    connections: Vec<Py<PyAny>>,
    loans: Vec<u64>,
    rows: Vec<BlockRow>,
    notes: Vec<Noted>,
    bytes: usize,
}

impl Gathered {
    pub fn of(engine: Py<Engine>) -> Gathered {
        let number = BEGUN.fetch_add(1, Relaxed) + 1;
        let (connections, loans, rows) = (Vec::new(), Vec::new(), Vec::new());
        Gathered { number, engine, connections, loans, rows, notes: Vec::new(), bytes: 0 }
    }

    /// Store a packet's facts about a connection until a caller has read the rows before it.
    pub fn note(
        &mut self,
        py: Python<'_>,
        info: &Py<PyAny>,
        (packet, place): (usize, Place),
        notes: &mut Vec<Note>,
    ) {
        let reference = place.reference;
        let noted = |note| Noted { info: info.clone_ref(py), packet, reference, note };
        self.notes.extend(notes.drain(..).map(noted));
    }

    /// Take what a packet completed of a connection.
    pub fn add(
        &mut self,
        py: Python<'_>,
        held: &mut Held,
        (packet, place): (usize, Place),
        rows: &mut Vec<Row>,
    ) {
        if held.in_block.0 != self.number {
            held.in_block = (self.number, self.connections.len() as u32);
            self.connections.push(held.info.clone_ref(py));
            self.loans.push(held.loan);
        }
        let connection = held.in_block.1;
        for (behind, row) in (0..).zip(rows.drain(..)) {
            self.bytes += row.bytes(py);
            self.rows.push(BlockRow { row, connection, packet, place, behind, made: None });
        }
    }

    pub fn is_full(&self) -> bool {
        self.rows.len() >= MOST_ROWS || self.bytes >= MOST_BYTES
    }

    pub fn done(self) -> ExchangeBlock {
        let Gathered { engine, connections, loans, rows, notes, .. } = self;
        ExchangeBlock::of(engine, connections, loans, rows, notes)
    }
}

/// Some exchanges in the order of their completion. Their connections have the state after the last
/// of them, except that they count an exchange only on access, or when the block is over.
#[pyclass(module = "kdissect._native")]
pub struct ExchangeBlock {
    pub engine: Py<Engine>,
    pub connections: Vec<Py<PyAny>>,
    /// Numbers of their handovers (`by_loan.rs`).
    pub loans: Vec<u64>,
    rows: Vec<BlockRow>,
    /// Rows from here on are not there for who asks.
    stop: usize,
    /// The current row.
    at: AtomicUsize,
    /// Rows that their connections have counted.
    counted: usize,
    /// Facts that connections are yet to receive, in the order of the packets.
    notes: VecDeque<Noted>,
    /// The block after the rows that were left out, and whether a caller took it.
    rest: Option<Py<ExchangeBlock>>,
    is_over: bool,
}

#[pymethods]
impl ExchangeBlock {
    fn __len__(&self) -> usize {
        self.rows().len()
    }

    fn __iter__(slf: Py<Self>) -> BlockIterator {
        BlockIterator { block: slf, next: 0 }
    }

    /// Raises IndexError.
    fn __getitem__<'py>(slf: &Bound<'py, Self>, at: isize) -> PyResult<Bound<'py, PyAny>> {
        let rows = slf.borrow().rows().len();
        let at = if at < 0 { rows.checked_add_signed(at) } else { Some(at.unsigned_abs()) };
        let found = at.map(|at| ExchangeBlock::exchange(slf, at)).transpose()?.flatten();
        found.ok_or_else(|| PyIndexError::new_err("no exchange of this number"))
    }

    /// Index of the packet that completed the current exchange, which is the one accessed last.
    #[getter]
    fn index(&self, py: Python<'_>) -> usize {
        match &self.rest {
            Some(rest) if self.is_over => rest.borrow(py).index(py),
            _ => self.rows.get(self.at.load(Relaxed)).or(self.rows.last()).map_or(0, |row| row.packet),
        }
    }

    /// Of the packet that completed an exchange the latest time of all packets so far and its reference, and how many
    /// exchanges it completed before. Raises IndexError.
    fn place(&self, at: usize) -> PyResult<(i64, i64, u32)> {
        let row = self.rows.get(at).ok_or_else(|| PyIndexError::new_err("no exchange of this number"))?;
        Ok((row.place.latest_ns, row.place.reference, row.behind))
    }

    /// Leave out what packets of a file behind that one completed. The block ends before the first
    /// of these. Later exchanges of other files become a separate block.
    fn cut(&mut self, py: Python<'_>, file: i64) -> PyResult<()> {
        let packet = self.index(py);
        if let Some(rest) = self.rest.as_ref().filter(|_| self.is_over) {
            return rest.borrow_mut(py).cut(py, file);
        }
        let is_out = |row: &BlockRow| row.packet > packet && row.place.reference >> FILE_SHIFT == file;
        let end = self.rows.iter().position(is_out).unwrap_or(self.rows.len());
        let mut behind = self.rows.split_off(end);
        let until = self.rows.last().map_or(packet, |row| row.packet.max(packet));
        let kept = self.notes.iter().take_while(|noted| noted.packet <= until).count();
        let mut notes: Vec<Noted> = self.notes.split_off(kept).into();
        if let Some(rest) = self.rest.take() {
            let mut rest = rest.borrow_mut(py);
            behind.append(&mut rest.rows);
            notes.extend(rest.notes.drain(..));
        }
        behind.retain(|row| !is_out(row));
        notes.retain(|noted| noted.packet <= packet || noted.reference >> FILE_SHIFT != file);
        if behind.is_empty() {
            self.notes.extend(notes);
        } else {
            let connections = self.connections.iter().map(|info| info.clone_ref(py)).collect();
            let engine = self.engine.clone_ref(py);
            let rest = ExchangeBlock::of(engine, connections, self.loans.clone(), behind, notes);
            self.rest = Some(Py::new(py, rest)?);
        }
        Ok(())
    }

    /// The block after the rows that were left out, once this one is over, or None.
    fn take_rest(&mut self, py: Python<'_>) -> Option<Py<ExchangeBlock>> {
        self.is_over = true;
        Some(self.rest.as_ref()?.clone_ref(py))
    }

    /// The capture sets of the exchanges, which `set_of` gives for a connection, each with its runs: where they begin and
    /// end.
    fn runs_by_set(&self, set_of: &Bound<'_, PyAny>) -> PyResult<Vec<OfSet>> {
        let mut found: Vec<OfSet> = Vec::new();
        let mut sets = Vec::with_capacity(self.connections.len());
        for info in &self.connections {
            let name: String = set_of.call1((info,))?.extract()?;
            let number = found.iter().position(|(known, _)| *known == name).unwrap_or(found.len());
            if number == found.len() {
                found.push((name, Vec::new()));
            }
            sets.push(number);
        }
        for (at, row) in self.rows.iter().enumerate() {
            let number = sets.get(row.connection as usize).copied().unwrap_or_default();
            let Some((_, runs)) = found.get_mut(number) else { continue };
            match runs.last_mut() {
                Some((_, stop)) if *stop == at => *stop += 1,
                _ => runs.push((at, at + 1)),
            }
        }
        Ok(found)
    }

    /// Times of responses, by connection, of the exchanges from one on: from the first byte of one
    /// to the last byte of one, without `gap` ns between them, with the time from the request to
    /// the first of them. It stops at the first exchange whose response was as late as `gap`, and
    /// returns the exchange's number as well, or the block's length.
    fn response_times(&self, py: Python<'_>, start: usize, gap: i64) -> (OfConnections, usize) {
        let mut found: Vec<Vec<Responding>> = vec![Vec::new(); self.connections.len()];
        let mut stop = self.rows().len();
        for (at, row) in self.rows().iter().enumerate().skip(start) {
            let Some(response) = &row.row.response else { continue };
            let (span, asked) = (response.span, row.row.request.content.span.last_time);
            let waited = span.first_time.saturating_sub(asked);
            if waited >= gap {
                stop = at;
                break;
            }
            let Some(times) = found.get_mut(row.connection as usize) else { continue };
            match times.last_mut() {
                Some((_, last, _)) if span.first_time.saturating_sub(*last) < gap => {
                    *last = span.last_time.max(*last)
                }
                _ => times.push((span.first_time, span.last_time, waited)),
            }
        }
        let of_connections = self.connections.iter().zip(found).filter(|(_, times)| !times.is_empty());
        (of_connections.map(|(info, times)| (info.clone_ref(py), times)).collect(), stop)
    }

    /// Hide the exchanges from one on, until the next call.
    fn stop_at(&mut self, stop: usize) {
        self.stop = stop;
    }
}

impl ExchangeBlock {
    fn of(
        engine: Py<Engine>,
        connections: Vec<Py<PyAny>>,
        loans: Vec<u64>,
        rows: Vec<BlockRow>,
        notes: Vec<Noted>,
    ) -> ExchangeBlock {
        let (stop, at, counted, rest, is_over) = (usize::MAX, AtomicUsize::new(0), 0, None, false);
        let notes = notes.into();
        ExchangeBlock { engine, connections, loans, rows, stop, at, counted, notes, rest, is_over }
    }

    /// Those that are there.
    pub fn rows(&self) -> &[BlockRow] {
        self.rows.get(..self.stop).unwrap_or(&self.rows)
    }

    /// The number of a connection's handover.
    pub fn loan(&self, connection: usize) -> u64 {
        self.loans.get(connection).copied().unwrap_or_default()
    }

    /// The row at an index, which becomes the current one.
    pub fn row(&self, at: usize) -> Option<&BlockRow> {
        let row = self.rows().get(at)?;
        self.at.store(at, Relaxed);
        Some(row)
    }

    /// The exchange of a row, which becomes the current one; None after the last row.
    pub fn exchange<'py>(slf: &Bound<'py, Self>, at: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = slf.py();
        let Some(stop) = slf.borrow().go_to(at) else { return Ok(None) };
        ExchangeBlock::count(slf, stop)?;
        let block = slf.borrow();
        let Some(row) = block.rows.get(at) else { return Ok(None) };
        if let Some(made) = &row.made {
            return Ok(Some(made.bind(py).clone()));
        }
        let Some(info) = block.connections.get(row.connection as usize) else { return Ok(None) };
        let made = row.row.exchange(py, block.engine.get(), info)?;
        drop(block);
        if let Some(row) = slf.borrow_mut().rows.get_mut(at) {
            row.made = Some(made.clone().unbind());
        }
        Ok(Some(made))
    }

    /// Make a row current, and return the first row that its packet did not complete.
    fn go_to(&self, at: usize) -> Option<usize> {
        let packet = self.row(at)?.packet;
        let behind = self.rows.iter().skip(at).take_while(|row| row.packet == packet);
        Some(at + behind.count())
    }

    /// The block is over: connections count exchanges without access.
    pub fn settle(slf: &Bound<'_, Self>) -> PyResult<()> {
        let stop = slf.borrow().rows.len();
        ExchangeBlock::count(slf, stop)?;
        ExchangeBlock::note(slf, usize::MAX)?;
        let rest = slf.borrow().rest.as_ref().map(|rest| rest.clone_ref(slf.py()));
        rest.map_or(Ok(()), |rest| ExchangeBlock::settle(rest.bind(slf.py())))
    }

    /// Hand connections the facts from packets up to this one.
    fn note(slf: &Bound<'_, Self>, packet: usize) -> PyResult<()> {
        while slf.borrow().notes.front().is_some_and(|noted| noted.packet <= packet) {
            let Some(noted) = slf.borrow_mut().notes.pop_front() else { break };
            slf.borrow().engine.get().note(slf.py(), &noted.info, &noted.note)?;
        }
        Ok(())
    }

    /// Have connections count their rows up to this one.
    fn count(slf: &Bound<'_, Self>, stop: usize) -> PyResult<()> {
        let start = slf.borrow().counted;
        if start >= stop {
            return Ok(());
        }
        let last = slf.borrow().rows.get(stop - 1).map_or(0, |row| row.packet);
        ExchangeBlock::note(slf, last)?;
        slf.borrow_mut().counted = stop;
        let block = slf.borrow();
        let mut rows: Vec<&BlockRow> = block.rows.get(start..stop).unwrap_or_default().iter().collect();
        rows.sort_by_key(|row| row.connection);
        let of_connections = rows.chunk_by(|one, other| one.connection == other.connection);
        let found = of_connections.filter_map(|of_one| {
            let info = block.connections.get(of_one.first()?.connection as usize)?;
            Some(counted(info, of_one.iter().map(|row| &row.row)))
        });
        block.engine.get().count(slf.py(), found.collect())
    }
}

/// Goes through a block.
#[pyclass(module = "kdissect._native")]
pub struct BlockIterator {
    block: Py<ExchangeBlock>,
    next: usize,
}

#[pymethods]
impl BlockIterator {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let at = self.next;
        self.next += 1;
        ExchangeBlock::exchange(self.block.bind(py), at)
    }
}
