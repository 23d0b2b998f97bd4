//! Which guards of rules mark an exchange: one visit of each body's bytes. Rows and meaning are
//! defined in `kdissect.rules.judging.body_guards`, whose reference is `reference_marks`.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};

use crate::bodies::plan::{Field, Kind, Layout};
use crate::bodies::visitor::{Look, Program, What};

/// The length of a classic string is an int16.
const LONGEST_STRING: usize = 0x7FFF;
/// Number of values and sums that a walk stores.
const SLOTS: usize = 16;
const NS_PER_MS: i128 = 1_000_000;
/// Sets of a body's keys that are compared with the other body's, and sets of keys that a list may
/// contain once.
const KINDS: usize = 2;
const COMPARED: usize = 0;
const ONCE: usize = 1;
/// Number of keys that are compared with each other. More keys are sorted.
const FEW: usize = 8;
/// Keys of a list for which there is room at once.
const MOST_RESERVED: usize = 256;

/// Number of the struct, of the field in it, the test, numbers and ids for that, and the condition.
type TestRow = (usize, usize, PyBackedStr, Vec<i64>, Vec<PyBackedBytes>, u32);
/// Test of slots, numbers for it, and the condition.
type LateRow = (PyBackedStr, Vec<i64>, u32);
/// The guard (a bit), which conditions it needs and which must not hold, whether it is about the response, and asks
/// something of the request.
type TermRow = (u32, u128, u128, bool, bool);

enum Ask {
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
    /// Below 0, and the slot is not.
    Lacks(usize),
    /// 0 or more, and the slot is not.
    Demands(usize),
    Sum(usize),
    /// Of these keys (`KINDS`) it is one.
    Key(usize),
    /// For arrays: it distinguishes numbers among these keys.
    List(usize),
}

struct Test {
    ask: Ask,
    condition: u128,
}

/// Ask is known when both bodies were visited.
enum Late {
    /// The response came later than a slot says in milliseconds, and this number of nanoseconds.
    Later(usize, i64),
    /// It came after the request, and before half of the time that a slot says in milliseconds.
    Sooner(usize),
    /// One slot is less than another one.
    Fewer(usize, usize),
    /// The request names something twice.
    Repeats,
    /// The response names other things, or in another order.
    Differs,
    /// It has something twice that stands once in its list.
    Twice,
}

/// A body: its program, and the tests of its fields' values by slot.
struct Side {
    program: Program,
    tests: Vec<Vec<Test>>,
}

/// A key, in the order of the wire.
#[derive(PartialEq, Clone, Copy)]
enum Key<'a> {
    Name(Option<&'a [u8]>),
    Number(i64),
    /// A list begins whose entries have numbers.
    List,
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
    /// Raises ValueError for rows that do not fit the layouts.
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
        self.marked(request, response, latency_ns).0
    }
}

impl Guards {
    /// `marks` for bodies of frames, each with its offset, and whether all of them are canonical.
    pub fn marked(
        &self,
        request: Option<(&[u8], usize)>,
        response: Option<(&[u8], usize)>,
        latency_ns: i64,
    ) -> (u64, bool) {
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
        (found, !is_lost.0 && !is_lost.1)
    }
}

impl Side {
    fn of((layout, rows): (Py<Layout>, Vec<TestRow>)) -> Option<Side> {
        let structs = &layout.get().structs;
        let mut fields: Vec<(usize, usize)> = Vec::new();
        let mut tests: Vec<Vec<Test>> = Vec::from([Vec::new()]); // that of fields without any
        for (structure, index, what, numbers, ids, condition) in rows {
            let of = structs.get(structure)?;
            let field = of.fields.iter().chain(&of.tagged).nth(index)?; // numbered so
            let ask = Ask::of(&what, numbers, ids, field)?;
            let slot = fields.iter().position(|of| *of == (structure, index)).unwrap_or_else(|| {
                fields.push((structure, index));
                tests.push(Vec::new());
                fields.len() - 1
            });
            tests.get_mut(slot + 1)?.push(Test { ask, condition: bit(condition)? });
        }
        let slot = |part: What| {
            let before = if part.is_tag { structs[part.structure].fields.len() } else { 0 };
            let found = fields.iter().position(|of| *of == (part.structure, before + part.index));
            // A text or a truth may have no canonical form.
            let is_seen = matches!(part.kind, Kind::String | Kind::Bool);
            found.map(|at| at + 1).or(is_seen.then_some(0))
        };
        Some(Side { program: Program::to(layout.get(), &slot), tests })
    }

    fn look<'a, 's>(&'s self, (data, at): (&'a [u8], usize), slots: [i64; SLOTS]) -> Option<Reading<'a, 's>> {
        Reading { side: self, data, slots, holds: 0, keys: [Vec::new(), Vec::new()] }.of(at)
    }
}

impl Ask {
    fn of(name: &str, numbers: Vec<i64>, ids: Vec<PyBackedBytes>, field: &Field) -> Option<Ask> {
        let first = numbers.first().copied();
        let size = || usize::try_from(first?).ok();
        let slot = || size().filter(|slot| *slot < SLOTS);
        let is_number = matches!(field.kind, Kind::Number(_));
        let is_sized = matches!(field.kind, Kind::String | Kind::Bytes | Kind::Records);
        Some(match name {
            "below" if is_number => Ask::Below(first?),
            "above" if is_number => Ask::Above(first?),
            "among" if is_number => Ask::Among(sorted(numbers)),
            "other" if is_number => Ask::Other(sorted(numbers)),
            "ids" if field.kind == Kind::Uuid => Ask::Ids(ids),
            "longer" if field.is_array => Ask::More(size()?),
            "longer" if is_sized => Ask::Longer(size()?),
            "empty" if is_sized || field.is_array => Ask::Empty,
            "keep" if is_number => Ask::Keep(slot()?),
            "over" if is_number => Ask::Over(slot()?),
            "under" if is_number => Ask::Under(slot()?),
            "lacks" if is_number => Ask::Lacks(slot()?),
            "demands" if is_number => Ask::Demands(slot()?),
            "sum" if is_sized => Ask::Sum(slot()?),
            "key" if is_number || matches!(field.kind, Kind::String | Kind::Uuid) => {
                Ask::Key(size().filter(|kind| *kind < KINDS)?)
            }
            "list" if field.is_array => Ask::List(size().filter(|kind| *kind < KINDS)?),
            _ => return None,
        })
    }
}

impl Late {
    fn holds(&self, asked: &Reading<'_, '_>, answered: Option<&Reading<'_, '_>>, latency_ns: i64) -> bool {
        let Some(answered) = answered else {
            return matches!(self, Late::Repeats) && has_repeats(&asked.keys[COMPARED]);
        };
        let slots = &answered.slots;
        let ns = |slot: usize| i128::from(slots[slot]) * NS_PER_MS;
        match self {
            Late::Repeats => has_repeats(&asked.keys[COMPARED]),
            Late::Later(slot, slack) => i128::from(latency_ns) > ns(*slot) + i128::from(*slack),
            Late::Sooner(slot) => latency_ns > 0 && i128::from(latency_ns) * 2 < ns(*slot),
            Late::Fewer(one, other) => slots[*one] < slots[*other],
            Late::Differs => asked.keys[COMPARED] != answered.keys[COMPARED],
            Late::Twice => has_repeats(&answered.keys[ONCE]),
        }
    }
}

/// A walk through one body, with the stored values of the one before.
struct Reading<'a, 's> {
    side: &'s Side,
    data: &'a [u8],
    slots: [i64; SLOTS],
    holds: u128,
    keys: [Vec<Key<'a>>; KINDS],
}

impl<'s> Reading<'_, 's> {
    /// To the last byte of the frame.
    fn of(mut self, at: usize) -> Option<Self> {
        let end = self.side.program.walk(self.data, at, &mut self)?;
        (end == self.data.len()).then_some(self)
    }

    fn tests(&self, what: What) -> &'s [Test] {
        let side = self.side;
        what.slot.and_then(|slot| side.tests.get(slot)).map_or(&[], Vec::as_slice)
    }

    fn number(&mut self, what: What, value: i64) {
        for test in self.tests(what) {
            let holds = match &test.ask {
                Ask::Below(least) => value < *least,
                Ask::Above(most) => value > *most,
                Ask::Among(known) => known.binary_search(&value).is_ok(),
                Ask::Other(known) => known.binary_search(&value).is_err(),
                Ask::Over(slot) => value > self.slots[*slot],
                Ask::Under(slot) => value < self.slots[*slot],
                Ask::Lacks(slot) => value < 0 && self.slots[*slot] >= 0,
                Ask::Demands(slot) => value >= 0 && self.slots[*slot] < 0,
                Ask::Keep(slot) => {
                    self.slots[*slot] = value;
                    false
                }
                Ask::Key(kind) => {
                    self.keys[*kind].push(Key::Number(value));
                    false
                }
                _ => false,
            };
            if holds {
                self.holds |= test.condition;
            }
        }
    }

    fn sized(&mut self, what: What, place: Range<usize>) -> Option<()> {
        let value = self.data.get(place)?;
        for test in self.tests(what) {
            let holds = match &test.ask {
                Ask::Longer(most) => value.len() > *most,
                Ask::Empty => value.is_empty() && !what.is_array,
                Ask::Ids(ids) => ids.iter().any(|id| id[..] == *value),
                Ask::Key(kind) => {
                    self.keys[*kind].push(Key::Name(Some(value)));
                    false
                }
                Ask::Sum(slot) => {
                    self.slots[*slot] = self.slots[*slot].saturating_add_unsigned(value.len() as u64);
                    false
                }
                _ => false,
            };
            if holds {
                self.holds |= test.condition;
            }
        }
        Some(())
    }
}

impl Look for Reading<'_, '_> {
    const CANONICAL: bool = true;

    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        let raw = data.get(place.clone())?;
        match what.kind {
            Kind::Bool => return matches!(raw, [0 | 1]).then_some(()),
            Kind::Number(kind) => self.number(what, kind.of(raw)?),
            Kind::String => {
                (raw.len() <= LONGEST_STRING && std::str::from_utf8(raw).is_ok()).then_some(())?;
                self.sized(what, place)?;
            }
            _ => self.sized(what, place)?,
        }
        Some(())
    }

    fn null(&mut self, what: What) {
        for test in self.tests(what) {
            match test.ask {
                Ask::Empty => self.holds |= test.condition,
                Ask::Key(kind) => self.keys[kind].push(Key::Name(None)),
                _ => {}
            }
        }
    }

    fn count(&mut self, what: What, count: Option<usize>) -> Option<()> {
        let Some(count) = count else {
            self.null(what);
            return Some(());
        };
        for test in self.tests(what) {
            let holds = match test.ask {
                Ask::More(most) => what.is_array && count > most,
                Ask::Empty => what.is_array && count == 0,
                Ask::List(kind) => {
                    self.keys[kind].reserve(count.min(MOST_RESERVED) + 1);
                    self.keys[kind].push(Key::List);
                    false
                }
                _ => false,
            };
            if holds {
                self.holds |= test.condition;
            }
        }
        Some(())
    }
}

/// Whether a name stands twice, or a number among those behind one name or in one list.
fn has_repeats(keys: &[Key<'_>]) -> bool {
    if keys.len() <= FEW {
        return (1..keys.len()).any(|at| stands_before(&keys[..at], &keys[at]));
    }
    let mut names: Vec<Option<&[u8]>> = Vec::new();
    let mut numbers: Vec<i64> = Vec::new();
    let mut found = false;
    for key in keys {
        match key {
            Key::Number(number) => numbers.push(*number),
            Key::Name(_) | Key::List => {
                found |= repeats(&mut numbers);
                numbers.clear();
                if let Key::Name(name) = key {
                    names.push(*name);
                }
            }
        }
    }
    found || repeats(&mut numbers) || repeats(&mut names)
}

/// The same for few keys, without memory.
fn stands_before(before: &[Key<'_>], key: &Key<'_>) -> bool {
    let mut earlier = before.iter().rev();
    match key {
        Key::Name(_) => earlier.any(|one| one == key),
        Key::List => false,
        Key::Number(_) => earlier.take_while(|one| matches!(one, Key::Number(_))).any(|one| one == key),
    }
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
        "twice" => Late::Twice,
        _ => return None,
    };
    Some((late, bit(condition)?))
}
