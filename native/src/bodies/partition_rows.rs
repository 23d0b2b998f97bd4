//! Bodies that name topics and their partitions, as rows of numbers: for who counts by partition.
//!
//! What the lists and their fields are called comes from Python (`kdissect.history.listed_partitions`).

use std::ops::Range;

use crc32c::crc32c;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::bodies::plan::{Kind, Layout, Role};
use crate::bodies::visitor::{Look, Program, What};
use crate::records::batch::{batches, Batch, ATTRIBUTES_AT};

/// Numbers of a row, and facts of a body, that can be asked for.
const MOST_VALUES: usize = 3;
const MOST_FACTS: usize = 6;

/// What a field is wanted for.
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
}

/// A field that is wanted: the number of its struct, its index there, whether that is among the tags.
type Wanted = ((usize, usize, bool), Want);

/// One version of a message: the way to the fields that are wanted, by the index of each.
#[pyclass(frozen, module = "kdissect._native")]
pub struct PartitionRows {
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

/// A partition in a topic's list. `topic` is an index into the topics.
#[derive(Clone, Default)]
pub struct Row {
    pub topic: usize,
    pub partition: i64,
    pub values: [i64; MOST_VALUES],
    /// Where its records stand; None for null.
    pub records: Option<Range<usize>>,
}

/// A body. Its facts are numbers, of a text how long it is, of a list how many are in it; None for what is null or not
/// there.
#[derive(Default)]
pub struct Body<'a> {
    pub facts: [Option<i64>; MOST_FACTS],
    pub topics: Vec<Topic<'a>>,
    pub rows: Vec<Row>,
    /// Whether an error code is set that is none of a row's numbers.
    pub has_other_errors: bool,
}

#[pymethods]
impl PartitionRows {
    /// `lists` are the names of the list of topics, of a topic's name, its list of partitions and their number;
    /// `values` those of numbers beside a partition's, `facts` of fields of the body (`struct.field`), empty
    /// where there is none. Raises ValueError for fields that the message does not have.
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

    /// The facts of a body that fills a frame from `offset` on; how many topics; whether an error code is set that is
    /// none of a row's numbers, a row's first number is not 0, a row has records. None where it is Python's.
    #[pyo3(name = "facts")]
    fn facts_of(&self, frame: &Bound<'_, PyBytes>, offset: usize) -> Option<Facts> {
        let body = self.read(frame, offset)?;
        let has_number = body.rows.iter().any(|row| row.values[0] != 0);
        let facts = body.facts[..self.facts].to_vec();
        Some((facts, body.topics.len(), body.has_other_errors, has_number, body.has_records()))
    }

    /// The topics of such a body with their partitions, and of each its numbers (0 for those that nobody asked for).
    /// None where it is Python's.
    fn topics<'py>(&self, frame: &Bound<'py, PyBytes>, offset: usize) -> Option<Vec<Listed<'py>>> {
        self.read(frame, offset)?.listed(frame.py())
    }

    /// The facts of such a body, and the headers of its batches with their partitions. None where it is Python's, or
    /// has anything else than batches whose checksum is right.
    fn batches<'py>(
        &self,
        frame: &Bound<'py, PyBytes>,
        offset: usize,
    ) -> Option<(Vec<Option<i64>>, Vec<Batched<'py>>)> {
        let (body, data) = (self.read(frame, offset)?, frame.as_bytes());
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
/// Topic and partition; attributes, last offset delta, producer id and epoch, base sequence, count.
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

    /// An empty body with the memory of this one.
    pub fn emptied<'b>(mut self) -> Body<'b> {
        self.topics.clear();
        self.rows.clear();
        let topics = self.topics.into_iter().map(|_| Topic::Name(b"")).collect();
        Body { topics, rows: self.rows, ..Body::default() }
    }

    /// Whether a row has records.
    pub fn has_records(&self) -> bool {
        self.rows.iter().any(|row| row.records.as_ref().is_some_and(|at| !at.is_empty()))
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
        for row in &self.rows {
            let [one, two, three] = row.values;
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
        Some(PartitionRows { program: Program::to(layout, &slot), wants, facts: facts.len() })
    }

    /// The body that fills a frame from `offset` on; None where it is Python's.
    pub fn read<'a>(&self, frame: &'a Bound<'_, PyBytes>, offset: usize) -> Option<Body<'a>> {
        self.read_into(frame.as_bytes(), offset, Body::default())
    }

    /// The same of bytes, into an empty body.
    pub fn read_into<'a>(&self, data: &'a [u8], offset: usize, body: Body<'a>) -> Option<Body<'a>> {
        if offset == 0 || offset > data.len() {
            return None; // also of a body whose header does not fit
        }
        let mut reading = Reading { wants: &self.wants, data, body };
        let end = self.program.walk(data, offset, &mut reading)?;
        (end == data.len()).then_some(reading.body)
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
                let is_error = field.role == Role::Error;
                if (is_error || field.kind == Kind::Records) && index_of(&found, at).is_none() {
                    found.push((at, if is_error { Want::Error } else { Want::Records }));
                }
            }
        }
    }
    Some(found)
}

fn index_of(wants: &[Wanted], at: (usize, usize, bool)) -> Option<usize> {
    wants.iter().position(|of| of.0 == at)
}

/// Note what a field of a struct is wanted for; the number of the struct that it has.
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

struct Reading<'a, 'l> {
    wants: &'l [Wanted],
    data: &'a [u8],
    body: Body<'a>,
}

impl Reading<'_, '_> {
    fn want(&self, what: What) -> Option<Want> {
        self.wants.get(what.slot?).map(|of| of.1)
    }

    fn number(&mut self, want: Want, value: i64) {
        match (want, self.body.rows.last_mut()) {
            (Want::Partition, Some(row)) => row.partition = value,
            (Want::Value(at), Some(row)) => row.values[at] = value,
            (Want::Fact(at), _) => self.body.facts[at] = Some(value),
            _ => self.body.has_other_errors |= want == Want::Error && value != 0,
        }
    }
}

impl Look for Reading<'_, '_> {
    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        let want = self.want(what)?;
        match what.kind {
            _ if what.is_array && matches!(want, Want::Fact(_)) => {} // that is how many
            Kind::Number(kind) => self.number(want, kind.of(data.get(place)?)?),
            Kind::Records => {
                if let Some(row) = self.body.rows.last_mut() {
                    row.records = Some(place);
                }
            }
            Kind::Uuid if want == Want::Name => {
                *self.body.topics.last_mut()? = Topic::Id(self.data.get(place)?.try_into().ok()?);
            }
            Kind::String => match want {
                Want::Name => *self.body.topics.last_mut()? = Topic::Name(self.data.get(place)?),
                Want::Fact(at) => self.body.facts[at] = i64::try_from(place.len()).ok(),
                _ => {}
            },
            _ => {}
        }
        Some(())
    }

    fn count(&mut self, what: What, count: Option<usize>) -> Option<()> {
        if let Some(Want::Fact(at)) = self.want(what) {
            self.body.facts[at] = count.and_then(|count| i64::try_from(count).ok());
        }
        Some(())
    }

    fn element(&mut self, what: What, _index: usize, _at: usize) {
        match self.want(what) {
            Some(Want::Topics) => self.body.topics.push(Topic::Name(b"")),
            Some(Want::Rows) => {
                let topic = self.body.topics.len().saturating_sub(1);
                self.body.rows.push(Row { topic, ..Row::default() });
            }
            _ => {}
        }
    }
}
