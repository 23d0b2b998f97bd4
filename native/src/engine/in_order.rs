//! Packets of a block that are in order, read in place: equal to the combination of
//! `SegmentParser.parse_batch` and `ConnectionAnalyzer.feed` for them.

use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::engine::exchange_block::{ExchangeBlock, Gathered, Place as PacketPlace};
use crate::engine::flows::{HeldFlows, PassedBy};
use crate::engine::framing;
use crate::engine::half_open::{Beginning, Handshake, Syns};
use crate::engine::held::Held;
use crate::engine::lent::{Segment, Turn, Work};
use crate::engine::news::{has_news, read_news};
use crate::engine::sets::Sets;
use crate::headers::{Packet, Whole};
use crate::places::{Place, FILE_SHIFT};
use crate::request_log::line_comment::{of_packet, LineComment, LINK_TYPE};
use crate::runs::PacketRuns;

/// The index of none.
const NO_FILE: i64 = -1;
/// The bits of a link type without the mark of comments.
const LINK_TYPES: u32 = 0xFFFF;

/// Yields the exchanges that packets complete, in blocks, before it takes a packet that could
/// change their connections, and a list of events for each packet that is for Python.
#[pyclass(module = "kdissect._native")]
pub struct InOrder {
    packets: Py<PacketRuns>,
    at: usize,
    sets: Sets<Lent>,
    /// The latest time of all packets so far; None unless a caller needs the order of all.
    latest_ns: Option<i64>,
    events: Py<PyList>,
    others: Option<Py<PassedBy>>,
    unusual: Py<PyAny>,
    work: Work,
    gathered: Option<Gathered>,
    /// The connection and the packet of the rows in `work` that are not gathered yet: they are news
    /// to identities, which must wait until the block before them is over.
    news: Option<(Py<Held>, (usize, PacketPlace))>,
    /// The block returned last.
    given: Option<Py<ExchangeBlock>>,
    /// Pending action after a block was returned: the last packet is for Python, or completed
    /// events, or raised this.
    is_for_python: bool,
    has_events: bool,
    error: Option<PyErr>,
}

/// The open connections of a capture set, and the taker of SYNs in unknown flows.
type Lent = (Py<HeldFlows>, Option<Syns>);

/// Result for a packet.
enum Taken {
    Unusual,
    Done,
    /// Something was completed of this connection, or is to be noted.
    Completed(Py<Held>),
    /// A connection begins.
    Begins(Box<Beginning>),
}

#[pymethods]
impl InOrder {
    /// `latest_ns` is the latest time of packets before these, where somebody asks for the order of
    /// all. Packets of the flows in `others` are passed by. `unusual` is called with the index of
    /// each packet that is for Python, and the latest time up to it. It puts the completed events
    /// into `events`, and returns the time up to which the engine may take packets of its capture
    /// set. `lend` returns, for a file (`sets.rs`), the connections of its set, and the taker of
    /// its SYNs.
    #[new]
    #[pyo3(signature = (packets, latest_ns, events, others, unusual, lend))]
    fn new(
        packets: Py<PacketRuns>,
        latest_ns: Option<i64>,
        events: Py<PyList>,
        others: Option<Py<PassedBy>>,
        unusual: Py<PyAny>,
        lend: Py<PyAny>,
    ) -> Self {
        InOrder {
            packets,
            at: 0,
            sets: Sets::new(lend),
            latest_ns,
            events,
            others,
            unusual,
            work: Work::default(),
            gathered: None,
            news: None,
            given: None,
            is_for_python: false,
            has_events: false,
            error: None,
        }
    }

    /// Index of the last packet taken.
    #[getter]
    fn index(&self) -> usize {
        self.at.saturating_sub(1)
    }

    /// The latest time of all packets up to that one; None unless a caller needs it.
    #[getter]
    fn latest_ns(&self) -> Option<i64> {
        self.latest_ns
    }

    /// Take no more packets: the results so far are still returned, except the results for some
    /// files.
    fn end(&mut self, without: Vec<i64>) {
        let is_out = |(_, (_, place)): &(Py<Held>, (usize, PacketPlace))| {
            without.contains(&(place.reference >> FILE_SHIFT))
        };
        if self.news.take_if(|news| is_out(news)).is_some() {
            self.work.rows.clear();
        }
        self.at = usize::MAX;
        (self.is_for_python, self.has_events, self.error) = (false, false, None);
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(given) = self.given.take() {
            ExchangeBlock::settle(given.bind(py))?;
        }
        loop {
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if std::mem::take(&mut self.is_for_python) {
                self.ask_python(py)?;
                self.has_events = true;
            }
            if std::mem::take(&mut self.has_events) {
                if let Some(found) = self.completed(py)? {
                    return Ok(Some(found.into_any()));
                }
            }
            let is_over = match self.take(py) {
                Ok(is_over) => is_over,
                Err(error) => {
                    self.error = Some(error);
                    false
                }
            };
            if let Some(gathered) = self.gathered.take() {
                let block = Bound::new(py, gathered.done())?;
                self.given = Some(block.clone().unbind());
                return Ok(Some(block.into_any()));
            }
            if is_over {
                return Ok(None);
            }
        }
    }
}

impl InOrder {
    /// Have Python take the packet taken last.
    fn ask_python(&mut self, py: Python<'_>) -> PyResult<()> {
        let until_ns = self.unusual.bind(py).call1((self.index(), self.latest_ns))?;
        if let Some(placed) = self.packets.get().get(self.index()) {
            self.sets.go_on_to(placed.file(), &until_ns);
        }
        Ok(())
    }

    /// The events that the packet taken last completed, if any.
    fn completed<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let events = self.events.bind(py);
        if events.is_empty() {
            return Ok(None);
        }
        let found = events.get_slice(0, events.len());
        events.del_slice(0, events.len())?; // connections hold this very list
        Ok(Some(found))
    }

    /// Gather the results of packets up to one that is for Python, or until there are enough.
    /// Whether these were all packets.
    fn take(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.gather_news(py)?;
        let others = self.others.as_ref().map(|others| others.bind(py).try_borrow()).transpose()?;
        let mut flows: Vec<PyRef<'_, HeldFlows>> = Vec::new(); // of the sets, which stay as they are here
        let mut here = (NO_FILE, None);
        while let Some(placed) = self.packets.get().get(self.at) {
            let (index, reference) = (self.at, placed.reference);
            self.at += 1;
            self.latest_ns = self.latest_ns.map(|latest_ns| latest_ns.max(placed.place.time_ns));
            let now_ns = self.latest_ns.unwrap_or(placed.place.time_ns);
            let stands = PacketPlace { latest_ns: now_ns, reference };
            if here.0 != placed.file() {
                here = (placed.file(), self.sets.number_of(py, placed.file())?);
                while let Some(of) =
                    here.1.filter(|&number| number >= flows.len()).and(self.sets.get(flows.len()))
                {
                    flows.push(of.lent.0.bind(py).try_borrow()?);
                }
            }
            let of = here.1.and_then(|number| Some((self.sets.get(number)?, flows.get(number)?)));
            let taken = match of {
                None => Taken::Unusual, // the first packet of its capture set
                Some((of, flows)) => {
                    let block = Block {
                        data: placed.data.as_bytes(py),
                        until_ns: of.until_ns,
                        flows,
                        others: others.as_deref(),
                        syns: of.lent.1.as_ref(),
                    };
                    block.take(py, placed.place, &stands, self.latest_ns.is_some(), &mut self.work)?
                }
            };
            match taken {
                Taken::Done => {}
                Taken::Completed(taken) => {
                    let mut held = taken.bind(py).try_borrow_mut()?;
                    self.note(py, &held, (index, stands))?;
                    if self.work.rows.is_empty() {
                        continue;
                    }
                    if has_news(held.engine.get(), py, &held.info, &self.work.rows)? {
                        drop(held);
                        self.news = Some((taken, (index, stands)));
                        if self.gathered.is_some() {
                            return Ok(false);
                        }
                        self.gather_news(py)?;
                    } else if self.gather(py, &mut held, (index, stands)) {
                        return Ok(false);
                    }
                }
                Taken::Begins(begun) => {
                    flows.clear(); // the connection is put among them
                    here = (NO_FILE, None);
                    let begin = {
                        let of = self.sets.number_of(py, placed.file())?.and_then(|of| self.sets.get(of));
                        of.and_then(|of| of.lent.1.as_ref()).and_then(|syns| syns.begin.as_ref())
                    };
                    let Some(begin) = begin else { continue };
                    let held = begun.of_python(py, begin, (self.latest_ns, reference))?;
                    let mut held = held.bind(py).try_borrow_mut()?;
                    held.begin(begun.lent);
                    self.note(py, &held, (index, stands))?;
                    if !self.events.bind(py).is_empty() {
                        self.has_events = true;
                        return Ok(false);
                    }
                }
                Taken::Unusual => {
                    self.is_for_python = true;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Put the rows of `work` into the block, and return whether it is full.
    fn gather(&mut self, py: Python<'_>, held: &mut Held, at: (usize, PacketPlace)) -> bool {
        let gathered = self.gathered.get_or_insert_with(|| Gathered::of(held.engine.clone_ref(py)));
        gathered.add(py, held, at, &mut self.work.rows);
        gathered.is_full()
    }

    /// Have identities read the rows that are news, and put them into the block.
    fn gather_news(&mut self, py: Python<'_>) -> PyResult<()> {
        if let Some((held, at)) = self.news.take() {
            let mut held = held.bind(py).try_borrow_mut()?;
            read_news(held.engine.get(), py, &held.info, &self.work.rows)?;
            self.gather(py, &mut held, at);
        }
        Ok(())
    }

    /// Note a packet's facts about its connection, at once or after the rows before it.
    fn note(&mut self, py: Python<'_>, held: &Held, at: (usize, PacketPlace)) -> PyResult<()> {
        if let Some(gathered) = &mut self.gathered {
            gathered.note(py, &held.info, at, &mut self.work.notes);
        }
        for note in self.work.notes.drain(..) {
            held.engine.get().note(py, &held.info, &note)?;
        }
        Ok(())
    }
}

/// Common state of the packets in a block and a capture set.
struct Block<'a> {
    data: &'a [u8],
    until_ns: i64,
    flows: &'a HeldFlows,
    others: Option<&'a PassedBy>,
    syns: Option<&'a Syns>,
}

impl Block<'_> {
    fn take(
        &self,
        py: Python<'_>,
        place: &Place,
        stands: &PacketPlace,
        is_placed: bool,
        work: &mut Work,
    ) -> PyResult<Taken> {
        // The key of an event after the last possible time belongs to an end, which is Python's.
        if stands.latest_ns > self.until_ns || (is_placed && stands.latest_ns == i64::MAX) {
            return Ok(Taken::Unusual);
        }
        let is_logged = place.link_type == LINK_TYPE;
        let logged = if is_logged { of_packet(self.data, place) } else { None };
        let found = match &logged {
            Some((at, _)) => Packet::read(self.data, at.start, at.end, LINK_TYPE & LINK_TYPES),
            None => Packet::read(self.data, place.start, place.end, place.link_type),
        };
        let Some(packet) = found else { return Ok(Taken::Unusual) };
        let Some(whole) = packet.whole() else { return Ok(Taken::Unusual) };
        let Some(payload) = self.data.get(whole.begin..whole.end) else { return Ok(Taken::Unusual) };
        let Whole { seq, ack, flags, window, .. } = whole;
        let packet_of = framing::Packet { payload, reference: stands.reference, time_ns: place.time_ns };
        let segment = Segment { seq, ack, flags, window, ip_id: packet.ip_id, packet: packet_of };
        if let Some((held, is_turned)) = self.flows.get(&packet.flow) {
            return give(py, held, is_turned, (&segment, logged.as_ref().map(|(_, line)| line)), work);
        }
        let is_passed = self.others.is_some_and(|others| others.by_flow.get(&packet.flow).is_some());
        if is_passed && !packet.is_syn() {
            return Ok(Taken::Done);
        }
        let opened_at = is_placed.then_some(stands.latest_ns);
        let Some(syns) = self.syns else { return Ok(Taken::Unusual) };
        let flags = packet.flags(self.data, &whole);
        let segment = Segment { flags, ..segment };
        let taken = match &logged {
            Some((_, line)) => syns.take_logged(py, &packet.flow, (&segment, line), opened_at, work)?,
            None if is_logged => Handshake::Unusual,
            None => syns.take(py, &packet.flow, &segment, opened_at, work)?,
        };
        Ok(match taken {
            Handshake::Unusual => Taken::Unusual,
            Handshake::Done => Taken::Done,
            Handshake::Begins(beginning) => Taken::Begins(beginning),
        })
    }
}

fn give(
    py: Python<'_>,
    held: &Py<Held>,
    is_turned: bool,
    (segment, line): (&Segment<'_>, Option<&LineComment<'_>>),
    work: &mut Work,
) -> PyResult<Taken> {
    let mut there = held.bind(py).try_borrow_mut()?;
    let there = &mut *there;
    let direction = usize::from(is_turned != there.is_turned);
    let engine = there.engine.get();
    let turn = match (&mut there.lent, line) {
        (Some(lent), Some(line)) => lent.take_logged(py, engine, direction, (segment, line), work)?,
        (Some(lent), None) => lent.take(py, engine, direction, segment, work)?,
        (None, _) => Turn::Unusual,
    };
    Ok(match turn {
        Turn::Unusual => Taken::Unusual,
        Turn::Taken if work.rows.is_empty() && work.notes.is_empty() => Taken::Done,
        Turn::Taken => Taken::Completed(held.clone_ref(py)),
    })
}
