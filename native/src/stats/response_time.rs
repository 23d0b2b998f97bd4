//! `kdissect.stats.response_time`: where the time of an exchange went, and the errors in its answer.

use std::ops::Range;

use crate::bodies::plan::{Kind, Layout, Role};
use crate::bodies::visitor::{Look, Program, What};
use crate::engine::completed::{Content, Span};
use crate::stats::watermarks::{Reader, Watermarks};

const MS: i64 = 1_000_000;
/// As `response_time._GRACE_NS` and `_EARLY`.
const GRACE_NS: i64 = 5 * MS;
const EARLY: i128 = 10;
const READ_COMMITTED: i64 = 1; // KIP-98
/// Error codes of an answer that are told apart; one with more of them is Python's.
const MOST_ERRORS: usize = 64;

/// What is read of bodies.
const ERROR: usize = 0;
const THROTTLE: usize = 1;
const TOP_ERROR: usize = 2;
const SESSION: usize = 3;
const TOPICS: usize = 4;
const NAME: usize = 5;
const ID: usize = 6;
const PARTITION: usize = 7;
const ROW_ERROR: usize = 8;
const HIGH_WATERMARK: usize = 9;
const STABLE_OFFSET: usize = 10;
const RECORDS: usize = 11;
const MAX_WAIT: usize = 12;
const MIN_BYTES: usize = 13;
const ISOLATION: usize = 14;
const FETCH_OFFSET: usize = 15;

/// Nanoseconds; as `ResponseTime`.
pub struct Times {
    pub latency: i64,
    pub broker: Option<i64>,
    pub throttle: i64,
    pub wait: i64,
    pub is_empty_early: bool,
}

/// What says whether a Fetch that was answered waited: nanoseconds, milliseconds, and of the answer the session, how
/// many topics, and whether a partition has records or an error.
pub struct Poll {
    pub latency: i128,
    pub max_wait: i64,
    pub min_bytes: i64,
    pub is_refused: bool,
    pub throttle: i64,
    pub session: i64,
    pub topics: usize,
    pub has_anything: bool,
}

impl Poll {
    /// `response_time.is_empty_early`.
    pub fn is_empty_early(&self) -> bool {
        let is_early = self.latency * EARLY < i128::from(self.max_wait) * i128::from(MS);
        if self.min_bytes < 1 || !is_early || self.is_refused || self.throttle > 0 {
            return false;
        }
        match self.topics {
            0 => self.session != 0,
            _ => !self.has_anything,
        }
    }
}

/// How the answers of a kind are read; `asked` is for requests of Fetch.
pub struct Reading {
    answered: Program,
    asked: Option<Program>,
    client_waits: bool,
}

/// A partition of a Fetch or of its answer.
#[derive(Default)]
struct Part {
    is_id: bool,
    topic: Range<usize>,
    partition: i64,
    fetch_offset: i64,
    error: i64,
    high_watermark: i64,
    stable_offset: i64,
    has_records: bool,
}

/// What is found in a body.
#[derive(Default)]
pub struct Found {
    /// Each once, in the order of the body.
    pub errors: Vec<i16>,
    throttle: i64,
    error: i64,
    session: i64,
    topics: usize,
    is_id: bool,
    topic: Range<usize>,
    parts: Vec<Part>,
    max_wait: i64,
    min_bytes: i64,
    isolation: i64,
}

impl Found {
    fn clear(&mut self) {
        let (mut errors, mut parts) = (std::mem::take(&mut self.errors), std::mem::take(&mut self.parts));
        errors.clear();
        parts.clear();
        *self = Found { errors, parts, ..Found::default() };
    }

    fn note(&mut self, error: i64) -> Option<()> {
        let error = i16::try_from(error).ok()?;
        if error != 0 && !self.errors.contains(&error) {
            if self.errors.len() >= MOST_ERRORS {
                return None;
            }
            self.errors.push(error);
        }
        Some(())
    }

    fn has_records(&self) -> bool {
        self.parts.iter().any(|part| part.has_records)
    }

    fn is_committed(&self) -> bool {
        self.isolation == READ_COMMITTED
    }
}

/// A number of any width.
fn number(raw: &[u8]) -> Option<i64> {
    Some(match raw.len() {
        1 => i8::from_be_bytes(raw.try_into().ok()?).into(),
        2 => i16::from_be_bytes(raw.try_into().ok()?).into(),
        4 => i32::from_be_bytes(raw.try_into().ok()?).into(),
        _ => i64::from_be_bytes(raw.try_into().ok()?),
    })
}

impl Look for Found {
    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        let raw = data.get(place.clone())?;
        match what.slot? {
            NAME => {
                std::str::from_utf8(raw).ok()?;
                (self.is_id, self.topic) = (false, place);
            }
            ID => (self.is_id, self.topic) = (true, place),
            RECORDS => self.parts.last_mut()?.has_records = !raw.is_empty(),
            PARTITION => {
                let (is_id, topic) = (self.is_id, self.topic.clone());
                self.parts.push(Part { is_id, topic, partition: number(raw)?, ..Part::default() });
            }
            slot => self.number(slot, number(raw)?)?,
        }
        Some(())
    }

    fn count(&mut self, what: What, count: Option<usize>) -> Option<()> {
        if what.slot == Some(TOPICS) {
            self.topics = count.unwrap_or(0);
        }
        Some(())
    }
}

impl Found {
    fn number(&mut self, slot: usize, value: i64) -> Option<()> {
        match slot {
            ERROR => self.note(value)?,
            TOP_ERROR => {
                self.note(value)?;
                self.error = value;
            }
            ROW_ERROR => {
                self.note(value)?;
                self.parts.last_mut()?.error = value;
            }
            THROTTLE => self.throttle = value,
            SESSION => self.session = value,
            HIGH_WATERMARK => self.parts.last_mut()?.high_watermark = value,
            STABLE_OFFSET => self.parts.last_mut()?.stable_offset = value,
            MAX_WAIT => self.max_wait = value,
            MIN_BYTES => self.min_bytes = value,
            ISOLATION => self.isolation = value,
            FETCH_OFFSET => self.parts.last_mut()?.fetch_offset = value,
            _ => return None,
        }
        Some(())
    }
}

/// The struct of an array by its name, in another struct.
fn inner(layout: &Layout, structure: usize, name: &str) -> Option<usize> {
    let field = layout.structs.get(structure)?.fields.iter().find(|field| field.name() == name)?;
    match field.kind {
        Kind::Struct(number) => Some(number),
        _ => None,
    }
}

/// What a field of Fetch is, by its struct and its name; `topics` is the array of topics.
fn of_fetch(layout: &Layout, topics: &str, structure: usize, name: &str) -> Option<usize> {
    let topic = inner(layout, 0, topics)?;
    let part = inner(layout, topic, "partitions")?;
    match name {
        "session_id" if structure == 0 => Some(SESSION),
        "max_wait_ms" if structure == 0 => Some(MAX_WAIT),
        "min_bytes" if structure == 0 => Some(MIN_BYTES),
        "isolation_level" if structure == 0 => Some(ISOLATION),
        "topic" if structure == topic => Some(NAME),
        "topic_id" if structure == topic => Some(ID),
        "partition" | "partition_index" if structure == part => Some(PARTITION),
        "fetch_offset" if structure == part => Some(FETCH_OFFSET),
        "error_code" if structure == part => Some(ROW_ERROR),
        "high_watermark" if structure == part => Some(HIGH_WATERMARK),
        "last_stable_offset" if structure == part => Some(STABLE_OFFSET),
        "records" if structure == part => Some(RECORDS),
        _ if structure == 0 && name == topics => Some(TOPICS),
        _ => None,
    }
}

impl Reading {
    /// Of a response, and for Fetch a request, with these layouts.
    pub fn of(answered: &Layout, asked: Option<&Layout>, client_waits: bool) -> Reading {
        let slot = |part: What| {
            let is_root = part.structure == 0 && !part.is_tag;
            let fetched = asked.and_then(|_| of_fetch(answered, "responses", part.structure, part.name()));
            match part.name() {
                "throttle_time_ms" if is_root => Some(THROTTLE),
                "error_code" if is_root && part.role == Role::Error => Some(TOP_ERROR),
                _ if fetched.is_some() => fetched,
                _ => (part.role == Role::Error).then_some(ERROR),
            }
        };
        let answered = Program::to(answered, &slot);
        let asked = asked.map(|layout| {
            Program::to(layout, &|part: What| of_fetch(layout, "topics", part.structure, part.name()))
        });
        Reading { answered, asked, client_waits }
    }
}

/// Room for both bodies of an exchange.
#[derive(Default)]
pub struct Room {
    request: Found,
    pub answer: Found,
}

/// A body with where its frame lies.
pub struct Body<'a> {
    pub data: &'a [u8],
    pub at: usize,
    pub span: Span,
}

impl<'a> Body<'a> {
    pub fn of(content: &'a Content, data: &'a [u8]) -> Body<'a> {
        Body { data, at: content.body, span: content.span }
    }
}

impl Room {
    /// The times of an exchange, whose errors are in `answer` then; learns high watermarks. None, and nothing is
    /// learned, where a body does not fit.
    pub fn times(
        &mut self,
        reading: &Reading,
        request: &Body<'_>,
        response: &Body<'_>,
        capture_set: u32,
        watermarks: &mut Watermarks,
    ) -> Option<Times> {
        self.answer.clear();
        let end = reading.answered.walk(response.data, response.at, &mut self.answer)?;
        if end != response.data.len() {
            return None;
        }
        let between = response.span.first_time.checked_sub(request.span.last_time)?;
        let latency = between.max(0);
        let throttle = self.answer.throttle.max(0) * MS;
        let owed = if throttle != 0 && !reading.client_waits { throttle } else { 0 };
        let broker = (latency - owed).max(0);
        let Some(asked) = &reading.asked else {
            return Some(Times { latency, broker: Some(broker), throttle, wait: 0, is_empty_early: false });
        };
        self.request.clear();
        if asked.walk(request.data, request.at, &mut self.request)? != request.data.len() {
            return None;
        }
        let is_committed = self.request.is_committed();
        let reader = Reader { capture_set, is_committed };
        let is_ready = self.found_data(request, reader, watermarks);
        self.learn(response, reader, watermarks);
        let (broker, wait) = self.held(broker, is_ready);
        Some(Times { latency, broker, throttle, wait, is_empty_early: self.is_empty_early(between) })
    }

    fn held(&self, time: i64, is_ready: bool) -> (Option<i64>, i64) {
        let max_wait = self.request.max_wait * MS;
        if max_wait <= 0 || self.answer.error != 0 {
            return (Some(time), 0);
        }
        if !self.answer.has_records() && time >= max_wait - GRACE_NS {
            let wait = time.min(max_wait);
            return (Some(time - wait), wait);
        }
        (is_ready.then_some(time), 0)
    }

    fn is_empty_early(&self, latency: i64) -> bool {
        let (request, answer) = (&self.request, &self.answer);
        let poll = Poll {
            latency: latency.into(),
            max_wait: request.max_wait,
            min_bytes: request.min_bytes,
            is_refused: answer.error != 0,
            throttle: answer.throttle,
            session: answer.session,
            topics: answer.topics,
            has_anything: answer.parts.iter().any(|part| part.error != 0 || part.has_records),
        };
        poll.is_empty_early()
    }

    fn found_data(&self, body: &Body<'_>, reader: Reader, watermarks: &mut Watermarks) -> bool {
        if self.request.min_bytes > 1 {
            return false; // one record may be too few
        }
        self.request.parts.iter().any(|part| {
            let topic = (part.is_id, body.data.get(part.topic.clone()).unwrap_or_default());
            let known = watermarks.at(reader, topic, part.partition, body.span.first_time);
            known.is_some_and(|known| 0 <= part.fetch_offset && part.fetch_offset < known)
        })
    }

    fn learn(&self, body: &Body<'_>, reader: Reader, watermarks: &mut Watermarks) {
        for part in self.answer.parts.iter().filter(|part| part.error == 0) {
            let topic = (part.is_id, body.data.get(part.topic.clone()).unwrap_or_default());
            let offset = if reader.is_committed { part.stable_offset } else { part.high_watermark };
            watermarks.learn(reader, topic, part.partition, body.span.last_time, offset);
        }
    }
}
