//! Which guards of rules mark an exchange: one visit of each body's bytes. Rows and meaning are those of
//! `kdissect.rules.judging.body_guards`, whose reference is `reference_marks`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

use crate::bodies::plan::{Field, Kind, Layout};
use crate::bodies::visit::{fit, visit, Done, Spot, Visitor};

/// The length of a classic string is an int16.
const LONGEST_STRING: usize = 0x7FFF;
/// Values and sums that are kept on the way.
const SLOTS: usize = 16;
const NS_PER_MS: i128 = 1_000_000;

/// Number of the struct, of the field in it, what is asked of it, numbers and ids for that, and the condition.
type TestRow = (usize, usize, PyBackedStr, Vec<i64>, Vec<PyBackedBytes>, u32);
/// What is asked of slots, numbers for that, and the condition.
type LateRow = (PyBackedStr, Vec<i64>, u32);
/// The guard (a bit), which conditions it needs and which must not hold, whether it is about the response, and asks
/// something of the request.
type TermRow = (u32, u128, u128, bool, bool);

enum What {
    Below(i64),
    Above(i64),
    Among(Vec<i64>),
    Other(Vec<i64>),
    Ids(Vec<PyBackedBytes>),
    Longer(usize),
    Empty,
    /// Of arrays: elements.
    More(usize),
    Keep(usize),
    Over(usize),
    Under(usize),
    Sum(usize),
    Topic,
    Partition,
}

struct Test {
    what: What,
    condition: u128,
}

/// What is known when both bodies were visited.
enum Late {
    /// The answer came later than a slot says in milliseconds, and so many nanoseconds.
    Later(usize, i64),
    /// It came before half of the time that a slot says in milliseconds.
    Sooner(usize),
    /// One slot is less than another.
    Fewer(usize, usize),
    /// The request names a topic or a partition of it twice.
    Repeats,
    /// The response names other topics and partitions, or in another order.
    Differs,
}

/// A body: its layout, and of each struct for each field the tests of its values.
struct Side {
    layout: Py<Layout>,
    tests: Vec<Vec<Vec<Test>>>,
}

/// What bodies name, in the order of the wire.
#[derive(PartialEq, Clone, Copy)]
enum Named<'a> {
    Topic(&'a [u8]),
    Partition(i64),
}

/// The guards for both bodies of one API in one version.
#[pyclass(frozen, module = "kdissect._native")]
pub struct Guards {
    request: Side,
    response: Side,
    late: Vec<(Late, u128)>,
    terms: Vec<TermRow>,
    /// Those about the request, and those about the response.
    bits: (u64, u64),
}

#[pymethods]
impl Guards {
    /// Raises ValueError for rows that are not those of the layouts.
    #[new]
    fn new(
        request: (Py<Layout>, Vec<TestRow>),
        response: (Py<Layout>, Vec<TestRow>),
        late: Vec<LateRow>,
        terms: Vec<TermRow>,
        bits: (u64, u64),
    ) -> PyResult<Self> {
        let late: Option<_> = late.into_iter().map(late_of).collect();
        let fits = terms.iter().all(|(guard, ..)| *guard < u64::BITS);
        let made = (|| Some((Side::of(request)?, Side::of(response)?, late.filter(|_| fits)?)))();
        let unknown = || PyValueError::new_err("these are the rows of other layouts");
        let (request, response, late) = made.ok_or_else(unknown)?;
        Ok(Guards { request, response, late, terms, bits })
    }

    /// The guards that mark the bodies at these offsets, a bit for each: all about a body that does not fit or is
    /// not canonical. None for a request of which that is known, or which is not there.
    fn marks(
        &self,
        request: Option<&[u8]>,
        request_at: usize,
        response: Option<&[u8]>,
        response_at: usize,
        latency_ns: i64,
    ) -> u64 {
        let (request, response) =
            (request.map(|data| (data, request_at)), response.map(|data| (data, response_at)));
        self.marked(request, response, latency_ns)
    }
}

impl Guards {
    /// `marks` for bodies of frames, each with the offset at which it begins.
    pub fn marked(
        &self,
        request: Option<(&[u8], usize)>,
        response: Option<(&[u8], usize)>,
        latency_ns: i64,
    ) -> u64 {
        let asked = request.and_then(|body| self.request.look(body, [0; SLOTS]));
        let slots = asked.as_ref().map_or([0; SLOTS], |asked| asked.slots);
        let answered = response.and_then(|body| self.response.look(body, slots));
        let is_lost = (request.is_some() && asked.is_none(), response.is_some() && answered.is_none());
        let mut holds = asked.as_ref().map_or(0, |look| look.holds);
        holds |= answered.as_ref().map_or(0, |look| look.holds);
        for (late, condition) in &self.late {
            if asked.as_ref().is_some_and(|asked| late.holds(asked, answered.as_ref(), latency_ns)) {
                holds |= condition;
            }
        }
        let mut found = if is_lost.0 { self.bits.0 } else { 0 };
        found |= if is_lost.1 { self.bits.1 } else { 0 };
        for (guard, needed, barred, is_response, asks) in &self.terms {
            let is_there = if *is_response { answered.is_some() } else { asked.is_some() };
            let is_blind = *asks && asked.is_none();
            if is_there && (is_blind || (holds & needed == *needed && holds & barred == 0)) {
                found |= 1 << guard;
            }
        }
        found
    }
}

impl Side {
    fn of((layout, rows): (Py<Layout>, Vec<TestRow>)) -> Option<Side> {
        let structs = &layout.get().structs;
        let mut tests: Vec<Vec<Vec<Test>>> =
            structs.iter().map(|of| of.fields.iter().map(|_| Vec::new()).collect()).collect();
        for (structure, index, what, numbers, ids, condition) in rows {
            let field = structs.get(structure)?.fields.get(index)?;
            let what = What::of(&what, numbers, ids, field)?;
            tests[structure][index].push(Test { what, condition: bit(condition)? });
        }
        Some(Side { layout, tests })
    }

    fn look<'a, 's>(&'s self, body: (&'a [u8], usize), slots: [i64; SLOTS]) -> Option<Look<'a, 's>> {
        Look { side: self, slots, holds: 0, named: Vec::new(), is_null_topic: false, array: (0, 0) }.of(body)
    }
}

impl What {
    fn of(name: &str, numbers: Vec<i64>, ids: Vec<PyBackedBytes>, field: &Field) -> Option<What> {
        let first = numbers.first().copied();
        let size = || usize::try_from(first?).ok();
        let slot = || size().filter(|slot| *slot < SLOTS);
        let is_number = matches!(field.kind, Kind::Number(_));
        let is_sized = matches!(field.kind, Kind::String | Kind::Bytes | Kind::Records);
        Some(match name {
            "below" if is_number => What::Below(first?),
            "above" if is_number => What::Above(first?),
            "among" if is_number => What::Among(sorted(numbers)),
            "other" if is_number => What::Other(sorted(numbers)),
            "ids" if field.kind == Kind::Uuid => What::Ids(ids),
            "longer" if field.is_array => What::More(size()?),
            "longer" if is_sized => What::Longer(size()?),
            "empty" if is_sized || field.is_array => What::Empty,
            "keep" if is_number => What::Keep(slot()?),
            "over" if is_number => What::Over(slot()?),
            "under" if is_number => What::Under(slot()?),
            "sum" if is_sized => What::Sum(slot()?),
            "topic" if matches!(field.kind, Kind::String | Kind::Uuid) => What::Topic,
            "partition" if is_number => What::Partition,
            _ => return None,
        })
    }
}

impl Late {
    fn holds(&self, asked: &Look<'_, '_>, answered: Option<&Look<'_, '_>>, latency_ns: i64) -> bool {
        let Some(answered) = answered else {
            return matches!(self, Late::Repeats) && has_repeats(&asked.named);
        };
        let slots = &answered.slots;
        let ns = |slot: usize| i128::from(slots[slot]) * NS_PER_MS;
        match self {
            Late::Repeats => has_repeats(&asked.named),
            Late::Later(slot, slack) => i128::from(latency_ns) > ns(*slot) + i128::from(*slack),
            Late::Sooner(slot) => i128::from(latency_ns) * 2 < ns(*slot),
            Late::Fewer(one, other) => slots[*one] < slots[*other],
            Late::Differs => asked.named != answered.named,
        }
    }
}

/// A visit of one body, and what was kept of the one before.
struct Look<'a, 's> {
    side: &'s Side,
    slots: [i64; SLOTS],
    holds: u128,
    named: Vec<Named<'a>>,
    is_null_topic: bool,
    /// The field that began last.
    array: (usize, usize),
}

impl<'a, 's> Look<'a, 's> {
    /// The body, to the last byte of its frame.
    fn of(mut self, (data, at): (&'a [u8], usize)) -> Option<Self> {
        let layout = self.side.layout.get();
        let end = visit(layout, data, at, &mut self).ok()?;
        (end == data.len() && !self.is_null_topic).then_some(self)
    }

    fn tests(&self, structure: usize, index: usize) -> &'s [Test] {
        let side = self.side;
        side.tests.get(structure).and_then(|of| of.get(index)).map_or(&[], Vec::as_slice)
    }

    fn sized(&mut self, spot: Spot<'_>, value: &'a [u8]) {
        for test in self.tests(spot.structure, spot.index) {
            let holds = match &test.what {
                What::Longer(most) => value.len() > *most,
                What::Empty => value.is_empty() && !spot.field.is_array,
                What::Ids(ids) => ids.iter().any(|id| id[..] == *value),
                What::Topic => {
                    self.named.push(Named::Topic(value));
                    false
                }
                What::Sum(slot) => {
                    self.slots[*slot] = self.slots[*slot].saturating_add_unsigned(value.len() as u64);
                    false
                }
                _ => false,
            };
            if holds {
                self.holds |= test.condition;
            }
        }
    }
}

impl<'a> Visitor<'a> for Look<'a, '_> {
    const CANONICAL: bool = true;

    fn field(&mut self, spot: Spot<'_>, _at: usize) {
        self.array = (spot.structure, spot.index);
    }

    fn array(&mut self, count: usize) {
        let (structure, index) = self.array;
        for test in self.tests(structure, index) {
            let holds = match test.what {
                What::More(most) => count > most,
                What::Empty => count == 0,
                _ => false,
            };
            if holds {
                self.holds |= test.condition;
            }
        }
    }

    fn null(&mut self, spot: Spot<'_>) {
        for test in self.tests(spot.structure, spot.index) {
            match test.what {
                What::Empty => self.holds |= test.condition,
                What::Topic => self.is_null_topic = true, // which name that is, Python knows
                _ => {}
            }
        }
    }

    fn boolean(&mut self, _spot: Spot<'_>, _value: bool) {}

    fn number(&mut self, spot: Spot<'_>, value: i64) {
        for test in self.tests(spot.structure, spot.index) {
            let holds = match &test.what {
                What::Below(least) => value < *least,
                What::Above(most) => value > *most,
                What::Among(known) => known.binary_search(&value).is_ok(),
                What::Other(known) => known.binary_search(&value).is_err(),
                What::Over(slot) => value > self.slots[*slot],
                What::Under(slot) => value < self.slots[*slot],
                What::Keep(slot) => {
                    self.slots[*slot] = value;
                    false
                }
                What::Partition => {
                    self.named.push(Named::Partition(value));
                    false
                }
                _ => false,
            };
            if holds {
                self.holds |= test.condition;
            }
        }
    }

    fn uuid(&mut self, spot: Spot<'_>, value: &'a [u8; 16]) -> Done {
        self.sized(spot, value);
        Ok(())
    }

    fn text(&mut self, spot: Spot<'_>, value: &'a [u8]) -> Done {
        fit((value.len() <= LONGEST_STRING).then_some(()))?;
        fit(std::str::from_utf8(value).ok())?;
        self.sized(spot, value);
        Ok(())
    }

    fn bytes(&mut self, spot: Spot<'_>, value: &'a [u8]) -> Done {
        self.sized(spot, value);
        Ok(())
    }

    fn records(&mut self, spot: Spot<'_>, _at: usize, value: &'a [u8]) -> Done {
        self.sized(spot, value);
        Ok(())
    }

    fn unknown_tag(&mut self, _tag: u32, _value: &'a [u8], _is_first: bool) -> Done {
        fit(None)
    }
}

/// Whether a topic, or a partition of one, stands twice.
fn has_repeats(named: &[Named<'_>]) -> bool {
    let mut topics: Vec<&[u8]> = Vec::new();
    let mut partitions: Vec<i64> = Vec::new();
    let mut found = false;
    for one in named {
        match one {
            Named::Partition(number) => partitions.push(*number),
            Named::Topic(name) => {
                found |= repeats(&mut partitions);
                partitions.clear();
                topics.push(name);
            }
        }
    }
    found || repeats(&mut partitions) || repeats(&mut topics)
}

fn repeats<T: Ord>(values: &mut [T]) -> bool {
    values.sort_unstable();
    values.windows(2).any(|pair| pair[0] == pair[1])
}

fn sorted(mut numbers: Vec<i64>) -> Vec<i64> {
    numbers.sort_unstable();
    numbers
}

fn bit(number: u32) -> Option<u128> {
    1_u128.checked_shl(number)
}

fn late_of((what, numbers, condition): LateRow) -> Option<(Late, u128)> {
    let at = |place: usize| numbers.get(place).copied();
    let slot = |place| usize::try_from(at(place)?).ok().filter(|slot| *slot < SLOTS);
    let late = match &*what {
        "later" => Late::Later(slot(0)?, at(1)?),
        "sooner" => Late::Sooner(slot(0)?),
        "fewer" => Late::Fewer(slot(0)?, slot(1)?),
        "repeats" => Late::Repeats,
        "differs" => Late::Differs,
        _ => return None,
    };
    Some((late, bit(condition)?))
}
