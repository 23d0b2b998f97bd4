//! Bodies that name topics and their partitions, as rows of numbers: for who counts by partition.
//!
//! What the lists and their fields are called comes from Python (`kdissect.decoders.listed_partitions`).

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::OnceLock;

use crc32c::crc32c;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::bodies::plan::{Kind, Layout, Role};
use crate::bodies::visitor::{Look, Program, What};
use crate::records::batch::{batches, Batch, ATTRIBUTES_AT};

/// Maximum numbers in a row, and maximum facts of a body.
const MOST_VALUES: usize = 4;
const MOST_FACTS: usize = 6;
/// Maximum rows of a body that is stored for the next reader: 16 KB.
const MOST_KEPT: usize = 256;

/// Number of readers created so far.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Purpose of a field.
#[derive(Clone, Copy, PartialEq)]
enum Want {
    Fact(usize),
    Topics,
    Name,
    Rows,
    Partition,
    Value(usize),
    Records,
    Error,
    PreferredReplica,
    LeaderId,
    LeaderEpoch,
}

/// A field that is wanted: the number of its struct, its index there, whether that is among the tags.
type Wanted = ((usize, usize, bool), Want);

/// One version of a message: the way to the fields that are wanted, by the index of each.
#[pyclass(frozen, module = "kdissect._native")]
pub struct PartitionRows {
    number: u64,
    program: Program,
    wants: Vec<Wanted>,
    facts: usize,
}

/// A topic by its name or its id.
#[derive(Clone, Copy, PartialEq)]
pub enum Topic<'a> {
    Name(&'a [u8]),
    Id(&'a [u8; 16]),
}

/// A partition in a topic's list. `topic` is an index into the topics. A list counts by its length in `values`.
#[derive(Clone, Default)]
pub struct Row {
    pub topic: usize,
    pub partition: i64,
    pub values: [i64; MOST_VALUES],
    /// Where its records stand; None for null, and in a line of a request log.
    pub records: Option<Range<usize>>,
    /// The size of the records that a request log omits, 0 if it is not known. None without such records.
    pub omitted: Option<i64>,
    /// The current leader and its epoch, if the body names them.
    pub leader: Option<(i64, i64)>,
}

/// A body. Its facts are numbers, of a text how long it is, of a list how many are in it; None for what is null or not
/// there.
#[derive(Default)]
pub struct Body<'a> {
    pub facts: [Option<i64>; MOST_FACTS],
    pub topics: Vec<Topic<'a>>,
    pub rows: Cow<'a, [Row]>,
    /// Whether an error code is set outside of the rows' numbers.
    pub has_other_errors: bool,
    /// Whether a partition is to be read from another replica (KIP-392).
    pub has_preferred_replicas: bool,
}

/// Whether an id identifies a topic, and the position of the id or the name.
type TopicAt = (bool, Range<usize>);

/// Contents of a body.
#[derive(Default)]
pub struct Found {
    facts: [Option<i64>; MOST_FACTS],
    topics: Vec<TopicAt>,
    rows: Vec<Row>,
    has_other_errors: bool,
    has_preferred_replicas: bool,
}

/// Result of the first reader of a body, by the reader's number. Several read the same one.
#[derive(Default)]
pub struct ReadOnce {
    first: OnceLock<Box<(u64, Read)>>,
    /// Whether the body was built from a line of a request log.
    is_of_line: bool,
}

enum Read {
    Found(Found),
    IsPythons,
    /// It has more rows than the limit.
    IsLarge,
}

#[pymethods]
impl PartitionRows {
    /// `lists` are the names of the list of topics, of a topic's name, its list of partitions and
    /// their number. `values` name further numbers of a partition, `facts` fields of the body by
    /// struct and name, with an empty text for a missing one. Raises ValueError for fields that the
    /// message does not have.
    #[new]
    fn new(
        layout: &Layout,
        lists: (String, String, String, String),
        values: Vec<String>,
        facts: Vec<String>,
    ) -> PyResult<PartitionRows> {
        let (topics, name, rows, number) = &lists;
        let made = PartitionRows::of(layout, [topics, name, rows, number], &values, &facts);
        made.ok_or_else(|| PyValueError::new_err("these are the fields of another message"))
    }

    /// The facts of a body that fills a frame from `offset` on, the number of topics, and whether
    /// an error code is set outside of the rows' numbers, whether a row's first number is not 0 or
    /// it names a preferred replica, and whether a row has records. None if it is Python's.
    #[pyo3(name = "facts")]
    fn facts_of(&self, frame: &Bound<'_, PyBytes>, offset: usize) -> Option<Facts> {
        let body = self.read(frame.as_bytes(), offset)?;
        let has_number = body.tells_anything();
        let facts = body.facts[..self.facts].to_vec();
        Some((facts, body.topics.len(), body.has_other_errors, has_number, body.has_records()))
    }

    /// The topics of such a body with their partitions, and the numbers of each partition (0 for
    /// unwanted numbers). None if it is Python's.
    fn topics<'py>(&self, frame: &Bound<'py, PyBytes>, offset: usize) -> Option<Vec<Listed<'py>>> {
        self.read(frame.as_bytes(), offset)?.listed(frame.py())
    }

    /// The facts of such a body, and the headers of its batches with their partitions. None if it
    /// is Python's, or has anything else than batches whose checksum is right.
    fn batches<'py>(
        &self,
        frame: &Bound<'py, PyBytes>,
        offset: usize,
    ) -> Option<(Vec<Option<i64>>, Vec<Batched<'py>>)> {
        let (body, data) = (self.read(frame.as_bytes(), offset)?, frame.as_bytes());
        let header = |(row, batch): &(usize, Batch)| {
            let row = body.rows.get(*row)?;
            Some((
                (body.topics.get(row.topic)?.object(frame.py())?, row.partition),
                batch.attributes,
                batch.last_offset_delta,
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence,
                batch.count,
            ))
        };
        let found = body.sound_batches(data)?.iter().map(header).collect::<Option<_>>()?;
        Some((body.facts[..self.facts].to_vec(), found))
    }
}

type Facts = (Vec<Option<i64>>, usize, bool, bool, bool);
/// A topic, and its partitions each with its numbers.
pub type Listed<'py> = (Bound<'py, PyAny>, Vec<Told>);
/// A partition and its numbers.
pub type Told = (i64, i64, i64, i64);
/// Topic and partition, then attributes, last offset delta, producer id and epoch, base sequence,
/// count.
type Batched<'py> = ((Bound<'py, PyAny>, i64), i16, i32, i64, i16, i32, i32);

impl Body<'_> {
    /// The headers of its batches, each with the number of its row. None where something else stands among the records,
    /// or a checksum is wrong.
    pub fn sound_batches(&self, data: &[u8]) -> Option<Vec<(usize, Batch)>> {
        let mut found = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            for batch in batches(data, row.records.clone().unwrap_or_default())? {
                if crc32c(data.get(batch.start + ATTRIBUTES_AT..batch.end)?) != batch.crc {
                    return None;
                }
                found.push((number, batch));
            }
        }
        Some(found)
    }

    /// Whether a row's first number is not 0, which is its error, or one is to be read from another replica.
    pub fn tells_anything(&self) -> bool {
        self.has_preferred_replicas || self.rows.iter().any(|row| row.values[0] != 0)
    }

    /// Whether a row has records.
    pub fn has_records(&self) -> bool {
        let has = |row: &Row| row.omitted.is_some() || row.records.as_ref().is_some_and(|at| !at.is_empty());
        self.rows.iter().any(has)
    }
}

impl ReadOnce {
    /// That of a body that was built from a line of a request log.
    pub fn of_line() -> ReadOnce {
        ReadOnce { is_of_line: true, ..ReadOnce::default() }
    }

    /// Store the first result, and return its contents, if it has some.
    fn keep(&self, reader: u64, read: Read) -> Option<&Found> {
        self.first.get_or_init(|| Box::new((reader, read))).1.found()
    }
}

impl Read {
    fn found(&self) -> Option<&Found> {
        match self {
            Read::Found(found) => Some(found),
            Read::IsPythons | Read::IsLarge => None,
        }
    }
}

impl Found {
    /// The rows that have records, each with those and its topic.
    pub fn with_records(&self) -> impl Iterator<Item = (&Row, Range<usize>, Option<&TopicAt>)> {
        let of = |row: &'_ Row| row.records.clone();
        self.rows.iter().filter_map(move |row| Some((row, of(row)?, self.topics.get(row.topic))))
    }

    /// Have the sizes of records in place of their placeholders (`kdissect.decoders.logged_bodies.placeholder`).
    fn omit_records(&mut self, data: &[u8]) {
        for row in &mut self.rows {
            let placeholder = row.records.take().and_then(|at| data.get(at)?.try_into().ok());
            row.omitted = placeholder.map(i64::from_be_bytes);
        }
    }

    /// Without what was found, with its memory.
    pub fn emptied(mut self) -> Found {
        self.topics.clear();
        self.rows.clear();
        Found { topics: self.topics, rows: self.rows, ..Found::default() }
    }

    /// In the same bytes in which it was found.
    pub fn body<'a>(&'a self, data: &'a [u8]) -> Option<Body<'a>> {
        self.body_with(data, Cow::Borrowed(&self.rows))
    }

    fn into_body(mut self, data: &[u8]) -> Option<Body<'_>> {
        let rows = Cow::Owned(std::mem::take(&mut self.rows));
        self.body_with(data, rows)
    }

    fn body_with<'a>(&self, data: &'a [u8], rows: Cow<'a, [Row]>) -> Option<Body<'a>> {
        let topic = |(is_id, place): &TopicAt| {
            let bytes = data.get(place.clone())?;
            Some(if *is_id { Topic::Id(bytes.try_into().ok()?) } else { Topic::Name(bytes) })
        };
        let topics = self.topics.iter().map(topic).collect::<Option<_>>()?;
        let (has_other_errors, has_preferred_replicas) = (self.has_other_errors, self.has_preferred_replicas);
        Some(Body { facts: self.facts, topics, rows, has_other_errors, has_preferred_replicas })
    }
}

impl Topic<'_> {
    /// Whether it is an id, and its bytes.
    pub fn key(&self) -> (bool, &[u8]) {
        match self {
            Topic::Name(name) => (false, name),
            Topic::Id(id) => (true, *id),
        }
    }

    /// Whether it is an id, or a name that is a text.
    pub fn is_text(&self) -> bool {
        match self {
            Topic::Name(name) => std::str::from_utf8(name).is_ok(),
            Topic::Id(_) => true,
        }
    }

    /// As Python has it; None for a name that is no text.
    pub fn object<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        match self {
            Topic::Name(name) => Some(PyString::new(py, std::str::from_utf8(name).ok()?).into_any()),
            Topic::Id(id) => Some(PyBytes::new(py, *id).into_any()),
        }
    }
}

impl Body<'_> {
    /// The topics with their partitions, and of each its numbers. None for a name that is no text.
    pub fn listed<'py>(&self, py: Python<'py>) -> Option<Vec<Listed<'py>>> {
        let named = |topic: &Topic<'_>| Some((topic.object(py)?, Vec::new()));
        let mut found = self.topics.iter().map(named).collect::<Option<Vec<Listed<'py>>>>()?;
        for row in self.rows.iter() {
            let [one, two, three, _] = row.values;
            found.get_mut(row.topic)?.1.push((row.partition, one, two, three));
        }
        Some(found)
    }
}

impl PartitionRows {
    /// As `new`; None for fields that the message does not have.
    pub fn of<S: AsRef<str>>(
        layout: &Layout,
        lists: [&str; 4],
        values: &[S],
        facts: &[S],
    ) -> Option<PartitionRows> {
        let wants = wants(layout, lists, values, facts)?;
        let slot = |part: What| index_of(&wants, (part.structure, part.index, part.is_tag));
        let number = MADE.fetch_add(1, Relaxed);
        Some(PartitionRows { number, program: Program::to(layout, &slot), wants, facts: facts.len() })
    }

    /// The body that fills a frame from `offset` on; None if it is Python's.
    pub fn read<'a>(&self, data: &'a [u8], offset: usize) -> Option<Body<'a>> {
        self.find(data, offset, Found::default())?.into_body(data)
    }

    /// Reads a body like `read`, but reuses the earlier result in `once`.
    pub fn read_once<'a>(&self, once: &'a ReadOnce, data: &'a [u8], offset: usize) -> Option<Body<'a>> {
        match once.first.get() {
            Some(known) if known.0 == self.number => match &known.1 {
                Read::Found(found) => return found.body(data),
                Read::IsPythons => return None,
                Read::IsLarge => {}
            },
            Some(_) => {}
            None => {
                let Some(found) = self.found(once, data, offset) else {
                    once.keep(self.number, Read::IsPythons);
                    return None;
                };
                if found.rows.len() <= MOST_KEPT {
                    return once.keep(self.number, Read::Found(found))?.body(data);
                }
                once.keep(self.number, Read::IsLarge);
                return found.into_body(data);
            }
        }
        self.found(once, data, offset)?.into_body(data)
    }

    fn found(&self, once: &ReadOnce, data: &[u8], offset: usize) -> Option<Found> {
        let mut found = self.find(data, offset, Found::default())?;
        if once.is_of_line {
            found.omit_records(data);
        }
        Some(found)
    }

    /// The stored contents of such a body; None without them.
    pub fn found_once<'a>(&self, once: &'a ReadOnce, data: &[u8], offset: usize) -> Option<&'a Found> {
        if once.first.get().is_none() {
            self.read_once(once, data, offset)?;
        }
        once.first.get().filter(|known| known.0 == self.number)?.1.found()
    }

    /// The contents of such a body, in the memory of `room`, which is empty.
    pub fn find(&self, data: &[u8], offset: usize, room: Found) -> Option<Found> {
        if offset == 0 || offset > data.len() {
            return None; // also of a body whose header does not fit
        }
        let mut reading = Reading { wants: &self.wants, found: room };
        let end = self.program.walk(data, offset, &mut reading)?;
        (end == data.len()).then_some(reading.found)
    }
}

fn wants<S: AsRef<str>>(
    layout: &Layout,
    [topics, name, rows, number]: [&str; 4],
    values: &[S],
    facts: &[S],
) -> Option<Vec<Wanted>> {
    if values.len() > MOST_VALUES || facts.len() > MOST_FACTS {
        return None;
    }
    let mut found = Vec::new();
    let listed = want(layout, &mut found, 0, topics, Want::Topics)?;
    want(layout, &mut found, listed, name, Want::Name)?;
    let row = want(layout, &mut found, listed, rows, Want::Rows)?;
    want(layout, &mut found, row, number, Want::Partition)?;
    for (at, value) in values.iter().enumerate() {
        want(layout, &mut found, row, value.as_ref(), Want::Value(at))?;
    }
    if let Some((_, leader)) = find(layout, row, "current_leader") {
        want(layout, &mut found, leader, "leader_id", Want::LeaderId)?;
        want(layout, &mut found, leader, "leader_epoch", Want::LeaderEpoch)?;
    }
    for (at, fact) in facts.iter().map(AsRef::as_ref).enumerate() {
        if fact.is_empty() {
            continue;
        }
        let (of, field) = match fact.split_once('.') {
            Some((of, field)) => (find(layout, 0, of)?.1, field),
            None => (0, fact),
        };
        want(layout, &mut found, of, field, Want::Fact(at))?;
    }
    for (structure, of) in layout.structs.iter().enumerate() {
        for (fields, is_tag) in [(&of.fields, false), (&of.tagged, true)] {
            for (index, field) in fields.iter().enumerate() {
                let at = (structure, index, is_tag);
                let want = match (field.role, field.name()) {
                    (Role::Error, _) => Want::Error,
                    (_, "preferred_read_replica") => Want::PreferredReplica,
                    _ if field.kind == Kind::Records => Want::Records,
                    _ => continue,
                };
                if index_of(&found, at).is_none() {
                    found.push((at, want));
                }
            }
        }
    }
    Some(found)
}

fn index_of(wants: &[Wanted], at: (usize, usize, bool)) -> Option<usize> {
    wants.iter().position(|of| of.0 == at)
}

/// Note the purpose of a struct's field, and return the number of the struct that it has.
fn want(layout: &Layout, found: &mut Vec<Wanted>, of: usize, name: &str, want: Want) -> Option<usize> {
    let (at, number) = find(layout, of, name)?;
    found.push((at, want));
    Some(number)
}

/// Where a field of a struct is, and the number of the struct that it has.
fn find(layout: &Layout, of: usize, name: &str) -> Option<((usize, usize, bool), usize)> {
    let structure = layout.structs.get(of)?;
    let in_fields = structure.fields.iter().enumerate().map(|(index, field)| (index, false, field));
    let mut all =
        in_fields.chain(structure.tagged.iter().enumerate().map(|(index, field)| (index, true, field)));
    let (index, is_tag, field) = all.find(|(_, _, field)| field.name() == name)?;
    let number = match field.kind {
        Kind::Struct(number) => number,
        _ => of,
    };
    Some(((of, index, is_tag), number))
}

struct Reading<'l> {
    wants: &'l [Wanted],
    found: Found,
}

impl Reading<'_> {
    fn want(&self, what: What) -> Option<Want> {
        self.wants.get(what.slot?).map(|of| of.1)
    }

    fn number(&mut self, want: Want, value: i64) {
        match (want, self.found.rows.last_mut()) {
            (Want::Partition, Some(row)) => row.partition = value,
            (Want::Value(at), Some(row)) => row.values[at] = value,
            (Want::LeaderId, Some(row)) => row.leader.get_or_insert_default().0 = value,
            (Want::LeaderEpoch, Some(row)) => row.leader.get_or_insert_default().1 = value,
            (Want::Fact(at), _) => self.found.facts[at] = Some(value),
            (Want::PreferredReplica, _) => self.found.has_preferred_replicas |= value >= 0,
            _ => self.found.has_other_errors |= want == Want::Error && value != 0,
        }
    }
}

impl Look for Reading<'_> {
    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        let want = self.want(what)?;
        match what.kind {
            _ if what.is_array && matches!(want, Want::Fact(_)) => {} // that is how many
            Kind::Number(kind) => self.number(want, kind.of(data.get(place)?)?),
            Kind::Records => {
                if let Some(row) = self.found.rows.last_mut() {
                    row.records = Some(place);
                }
            }
            Kind::Uuid if want == Want::Name => {
                *self.found.topics.last_mut()? = (true, place);
            }
            Kind::String => match want {
                Want::Name => *self.found.topics.last_mut()? = (false, place),
                Want::Fact(at) => self.found.facts[at] = i64::try_from(place.len()).ok(),
                _ => {}
            },
            _ => {}
        }
        Some(())
    }

    fn count(&mut self, what: What, count: Option<usize>) -> Option<()> {
        match self.want(what) {
            Some(Want::Fact(at)) => {
                self.found.facts[at] = count.and_then(|count| i64::try_from(count).ok());
            }
            Some(Want::Value(at)) => {
                if let Some(row) = self.found.rows.last_mut() {
                    row.values[at] = count.and_then(|count| i64::try_from(count).ok()).unwrap_or_default();
                }
            }
            Some(Want::Rows) => self.found.rows.reserve(count.unwrap_or(0).min(MOST_KEPT)),
            _ => {}
        }
        Some(())
    }

    fn element(&mut self, what: What, _index: usize, _at: usize) {
        match self.want(what) {
            Some(Want::Topics) => self.found.topics.push((false, 0..0)),
            Some(Want::Rows) => {
                let topic = self.found.topics.len().saturating_sub(1);
                self.found.rows.push(Row { topic, ..Row::default() });
            }
            _ => {}
        }
    }
}
