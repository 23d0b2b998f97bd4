//! Chosen fields of many bodies as columns: `kdissect.decoders.generated.body_columns`, by a walk of each body.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBool, PyBytes, PyList, PyString, PyTuple};

use crate::bodies::plan::{Field, Kind, Layout};
use crate::bodies::visit::Spot;
use crate::bodies::visitor::{Look, Program, What};
use crate::wire::Wire;

/// The length of a value, or the count of a list, that is null.
pub const NULL: i32 = -1;

/// What a field has in each body, one behind the other.
pub enum Cells {
    /// Nothing but its count: an array of structs, or a struct that may be null.
    Lists,
    Numbers(Vec<i64>),
    Floats(Vec<f64>),
    Uuids(Vec<[u8; 16]>),
    /// Texts, which are UTF-8, and bytes: their lengths and all that stands in them.
    Sized {
        lengths: Vec<i32>,
        bytes: Vec<u8>,
    },
    /// Records, and what only the size is wanted of: where each begins in the data of its body, and its length.
    Places {
        starts: Vec<usize>,
        lengths: Vec<i32>,
    },
}

/// A chosen field, or a list that one is in.
pub struct Column {
    spot: (usize, usize),
    kind: Kind,
    /// Of an array how many elements it has in each place; of a struct that may be null 1. `NULL` for null.
    pub counts: Vec<i32>,
    pub cells: Cells,
}

/// A position in a column: in its counts, its cells and the bytes of those.
#[derive(Clone, Copy, Default)]
struct At {
    count: usize,
    cell: usize,
    byte: usize,
}

impl Column {
    fn new(spot: (usize, usize), field: &Field, only_size: bool) -> Column {
        let cells = match field.kind {
            Kind::Struct(_) => Cells::Lists,
            Kind::Bool | Kind::Number(_) => Cells::Numbers(Vec::new()),
            Kind::Float64 => Cells::Floats(Vec::new()),
            Kind::Uuid => Cells::Uuids(Vec::new()),
            Kind::String | Kind::Bytes if !only_size => {
                Cells::Sized { lengths: Vec::new(), bytes: Vec::new() }
            }
            _ => Cells::Places { starts: Vec::new(), lengths: Vec::new() },
        };
        Column { spot, kind: field.kind, counts: Vec::new(), cells }
    }

    /// Take the value that stands there; None for a text that is not UTF-8.
    fn push(&mut self, data: &[u8], place: Range<usize>) -> Option<()> {
        let raw = data.get(place.clone())?;
        match &mut self.cells {
            Cells::Lists => (),
            Cells::Numbers(found) => found.push(match self.kind {
                Kind::Number(number) => number.read(&mut Wire { data: raw, at: 0 })?,
                _ => i64::from(*raw.first()? != 0),
            }),
            Cells::Floats(found) => found.push(f64::from_be_bytes(raw.try_into().ok()?)),
            Cells::Uuids(found) => found.push(raw.try_into().ok()?),
            Cells::Sized { lengths, bytes } => {
                if self.kind == Kind::String {
                    std::str::from_utf8(raw).ok()?;
                }
                lengths.push(i32::try_from(raw.len()).ok()?);
                bytes.extend_from_slice(raw);
            }
            Cells::Places { starts, lengths } => {
                lengths.push(i32::try_from(raw.len()).ok()?);
                starts.push(place.start);
            }
        }
        Some(())
    }

    fn push_null(&mut self) {
        match &mut self.cells {
            Cells::Sized { lengths, .. } => lengths.push(NULL),
            Cells::Places { starts, lengths } => {
                starts.push(0);
                lengths.push(NULL);
            }
            _ => (), // may not be null
        }
    }

    fn end(&self) -> At {
        let (cell, byte) = match &self.cells {
            Cells::Lists => (0, 0),
            Cells::Numbers(found) => (found.len(), 0),
            Cells::Floats(found) => (found.len(), 0),
            Cells::Uuids(found) => (found.len(), 0),
            Cells::Sized { lengths, bytes } => (lengths.len(), bytes.len()),
            Cells::Places { lengths, .. } => (lengths.len(), 0),
        };
        At { count: self.counts.len(), cell, byte }
    }

    fn cut(&mut self, at: At) {
        self.counts.truncate(at.count);
        match &mut self.cells {
            Cells::Lists => (),
            Cells::Numbers(found) => found.truncate(at.cell),
            Cells::Floats(found) => found.truncate(at.cell),
            Cells::Uuids(found) => found.truncate(at.cell),
            Cells::Sized { lengths, bytes } => {
                lengths.truncate(at.cell);
                bytes.truncate(at.byte);
            }
            Cells::Places { starts, lengths } => {
                starts.truncate(at.cell);
                lengths.truncate(at.cell);
            }
        }
    }

    /// The value at a position, as Python has it; the position is then behind it.
    fn value<'py>(&self, py: Python<'py>, at: &mut At) -> PyResult<Bound<'py, PyAny>> {
        let cell = at.cell;
        at.cell += 1;
        let none = || Ok(py.None().into_bound(py));
        match &self.cells {
            Cells::Lists => none(),
            Cells::Numbers(found) => match (found.get(cell), self.kind) {
                (Some(value), Kind::Bool) => Ok(PyBool::new(py, *value != 0).to_owned().into_any()),
                (value, _) => Ok(value.into_pyobject(py)?),
            },
            Cells::Floats(found) => Ok(found.get(cell).into_pyobject(py)?),
            Cells::Uuids(found) => match found.get(cell) {
                Some(value) => Ok(PyBytes::new(py, value).into_any()),
                None => none(),
            },
            Cells::Sized { lengths, bytes } => {
                let Some(size) = lengths.get(cell).and_then(|size| usize::try_from(*size).ok()) else {
                    return none();
                };
                let start = at.byte;
                at.byte += size;
                let raw = bytes.get(start..at.byte).unwrap_or_default();
                match self.kind {
                    Kind::String => Ok(PyString::new(py, std::str::from_utf8(raw)?).into_any()),
                    _ => Ok(PyBytes::new(py, raw).into_any()),
                }
            }
            Cells::Places { lengths, .. } => match lengths.get(cell) {
                Some(size) if *size >= 0 => Ok(size.into_pyobject(py)?.into_any()),
                _ => none(),
            },
        }
    }
}

/// The counts of a field's lists, and its values.
type Taken<'py> = (Vec<Bound<'py, PyList>>, Bound<'py, PyList>);

/// Takes what a walk finds: a slot is the number of a column.
struct Columns(Vec<Column>);

impl Look for Columns {
    const LEAVES_TAGS: bool = true; // what stands in them may not fit

    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        self.0.get_mut(what.slot)?.push(data, place)
    }

    fn null(&mut self, what: What) {
        if let Some(column) = self.0.get_mut(what.slot) {
            column.push_null();
        }
    }

    fn count(&mut self, what: What, count: Option<usize>) -> Option<()> {
        let count = count.map_or(Some(NULL), |count| i32::try_from(count).ok())?;
        self.0.get_mut(what.slot)?.counts.push(count);
        Some(())
    }
}

/// Where a chosen field is: its column, and those of the lists that it is in, the outermost first. Its own is
/// among them, if it is an array.
struct Chosen {
    lists: Vec<usize>,
    column: usize,
}

/// Chosen fields of the bodies of one version of a message, as columns. Those that the version does not have, or
/// has as a tag, have none.
#[pyclass(module = "kdissect._native")]
pub struct Projection {
    program: Program,
    columns: Columns,
    chosen: Vec<Option<Chosen>>,
    bodies: usize,
    ends: Vec<At>,
}

impl Projection {
    /// Paths are names of fields from the root on, with whether only the size is wanted of a text or of bytes. None
    /// for one that ends at a struct, or is there twice.
    pub fn of<S: AsRef<str>>(layout: &Layout, paths: &[(Vec<S>, bool)]) -> Option<Projection> {
        let mut columns = Vec::new();
        let mut chosen = Vec::with_capacity(paths.len());
        for (path, only_size) in paths {
            chosen.push(choose(layout, path, *only_size, &mut columns)?);
        }
        let slot = |spot: Spot<'_>| {
            let is_there = |column: &Column| !spot.is_tag && column.spot == (spot.structure, spot.index);
            columns.iter().position(is_there)
        };
        let program = Program::to::<Columns>(layout, &slot);
        Some(Projection { program, columns: Columns(columns), chosen, bodies: 0, ends: Vec::new() })
    }

    /// Take the body at `offset`. False, and nothing is taken, of one that does not fit, or does not end with the
    /// data, has a tag that the schema knows, or a chosen text that is not UTF-8.
    pub fn add(&mut self, data: &[u8], offset: usize) -> bool {
        self.ends.clear();
        self.ends.extend(self.columns.0.iter().map(Column::end));
        let fits = self.program.walk(data, offset, &mut self.columns) == Some(data.len());
        match fits {
            true => self.bodies += 1,
            false => self.cut(),
        }
        fits
    }

    /// Give back what came behind `ends`.
    fn cut(&mut self) {
        for (column, end) in self.columns.0.iter_mut().zip(&self.ends) {
            column.cut(*end);
        }
    }

    /// How many bodies were taken.
    pub fn bodies(&self) -> usize {
        self.bodies
    }

    /// The column of a path, by its number among those chosen.
    pub fn column(&self, path: usize) -> Option<&Column> {
        let chosen = self.chosen.get(path)?.as_ref()?;
        self.columns.0.get(chosen.column)
    }

    /// The counts of the lists that it is in, the outermost first.
    pub fn lists(&self, path: usize) -> impl Iterator<Item = &[i32]> {
        let lists = self.chosen.get(path).and_then(Option::as_ref).map(|chosen| chosen.lists.as_slice());
        let columns = &self.columns.0;
        lists.unwrap_or_default().iter().filter_map(|at| columns.get(*at).map(|of| of.counts.as_slice()))
    }

    /// Forget what was taken.
    pub fn clear(&mut self) {
        for column in &mut self.columns.0 {
            column.cut(At::default());
        }
        self.bodies = 0;
    }

    /// The lists of the path that is in the most of them. None where another is in one that this one is not.
    fn levels(&self) -> Option<&[usize]> {
        let chosen = || self.chosen.iter().flatten().map(|chosen| chosen.lists.as_slice());
        let deepest = chosen().max_by_key(|lists| lists.len()).unwrap_or_default();
        chosen().all(|lists| deepest.starts_with(lists)).then_some(deepest)
    }
}

/// The field at a path; its columns are added. Some(None) where the version has no such field.
fn choose<S: AsRef<str>>(
    layout: &Layout,
    path: &[S],
    only_size: bool,
    columns: &mut Vec<Column>,
) -> Option<Option<Chosen>> {
    let (mut lists, mut structure) = (Vec::new(), 0);
    for (step, name) in path.iter().enumerate() {
        let fields = &layout.structs.get(structure)?.fields;
        let Some(index) = fields.iter().position(|field| field.name() == name.as_ref()) else {
            return Some(None);
        };
        let (field, spot, is_last) = (fields.get(index)?, (structure, index), step + 1 == path.len());
        let known = columns.iter().position(|column| column.spot == spot);
        let is_list = field.is_array || matches!(field.kind, Kind::Struct(_)) && field.nullable;
        if is_list || is_last {
            let at = known.unwrap_or(columns.len());
            if at == columns.len() {
                columns.push(Column::new(spot, field, only_size));
            }
            if is_list {
                lists.push(at);
            }
        }
        match field.kind {
            Kind::Struct(number) if !is_last => structure = number,
            Kind::Struct(_) => return None,
            _ if is_last && known.is_none() => {
                return Some(Some(Chosen { lists, column: columns.len() - 1 }))
            }
            _ => return None,
        }
    }
    None
}

/// Makes the rows of one body: positions in all columns, and the values that the next row has.
struct Rows<'a, 'py> {
    of: &'a Projection,
    levels: &'a [usize],
    at: Vec<At>,
    row: Vec<Bound<'py, PyAny>>,
    rows: Bound<'py, PyList>,
}

impl Rows<'_, '_> {
    /// Those of an element of a list that is in so many others.
    fn fill(&mut self, depth: usize) -> PyResult<()> {
        let (of, py) = (self.of, self.rows.py());
        for (index, chosen) in of.chosen.iter().enumerate() {
            let Some(chosen) = chosen.as_ref().filter(|chosen| chosen.lists.len() == depth) else { continue };
            if let (Some(column), Some(at)) =
                (of.columns.0.get(chosen.column), self.at.get_mut(chosen.column))
            {
                self.row[index] = column.value(py, at)?;
            }
        }
        let Some(list) = self.levels.get(depth) else {
            return self.rows.append(PyTuple::new(py, &self.row)?);
        };
        let at = self.at[*list].count;
        self.at[*list].count += 1;
        for _ in 0..of.columns.0[*list].counts.get(at).copied().unwrap_or(0) {
            self.fill(depth + 1)?;
        }
        Ok(())
    }
}

#[pymethods]
impl Projection {
    /// As `of`. Raises ValueError where that gives nothing.
    #[new]
    fn new(layout: &Layout, paths: Vec<(Vec<PyBackedStr>, bool)>) -> PyResult<Projection> {
        let made = Projection::of(layout, &paths);
        made.ok_or_else(|| PyValueError::new_err("a path ends at a struct, or is there twice"))
    }

    fn __len__(&self) -> usize {
        self.bodies
    }

    #[pyo3(name = "add")]
    fn add_body(&mut self, data: &[u8], offset: usize) -> bool {
        self.add(data, offset)
    }

    /// Of each path the counts of its lists and its values, None for null; None for one without a column. All are
    /// forgotten then.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Option<Taken<'py>>>> {
        let mut all = Vec::with_capacity(self.chosen.len());
        for path in 0..self.chosen.len() {
            let Some(column) = self.column(path) else {
                all.push(None);
                continue;
            };
            let mut at = At::default();
            let values = (0..column.end().cell).map(|_| column.value(py, &mut at));
            let values = PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?;
            let list = |counts: &[i32]| {
                PyList::new(py, counts.iter().map(|count| (*count != NULL).then_some(*count)))
            };
            all.push(Some((self.lists(path).map(list).collect::<PyResult<_>>()?, values)));
        }
        self.clear();
        Ok(all)
    }

    /// The body at `offset` as rows: one for each element of the innermost list, with the values of what that one is
    /// in; None where a path has no column. None where `add` is False. Raises ValueError where lists stand beside
    /// each other.
    fn rows<'py>(
        &mut self,
        py: Python<'py>,
        data: &[u8],
        offset: usize,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        if !self.add(data, offset) {
            return Ok(None);
        }
        self.bodies -= 1;
        let none = py.None().into_bound(py);
        let Some(levels) = self.levels() else {
            self.cut();
            return Err(PyValueError::new_err("lists stand beside each other"));
        };
        let row = vec![none; self.chosen.len()];
        let mut rows = Rows { of: self, levels, at: self.ends.clone(), row, rows: PyList::empty(py) };
        let done = rows.fill(0);
        let found = rows.rows;
        self.cut();
        done.map(|()| Some(found))
    }
}
