//! `kdissect.stats.times.response_time`: where the time of an exchange went, and the errors in its answer.

use std::ops::Range;

use crate::bodies::partition_rows::{Body as Rows, Found as InBody, PartitionRows, Topic};
use crate::bodies::plan::{Kind, Layout, Role};
use crate::bodies::visitor::{Look, Program, What};
use crate::engine::completed::{Content, Span};
use crate::stats::watermarks::{Reader, Watermarks};

const MS: i64 = 1_000_000;
/// As `response_time._GRACE_NS` and `_EARLY`.
const GRACE_NS: i64 = 5 * MS;
const EARLY: i128 = 10;
const READ_COMMITTED: i64 = 1; // KIP-98
/// Maximum number of different error codes in a response. A response with more is Python's.
const MOST_ERRORS: usize = 64;

/// Fields of any response.
const ERROR: usize = 0;
const THROTTLE: usize = 1;
/// Facts of a Fetch, of its answer, and numbers of partitions (`fetches`).
const MAX_WAIT: usize = 0;
const MIN_BYTES: usize = 1;
const ISOLATION: usize = 2;
const SESSION: usize = 1;
const TOP_ERROR: usize = 2;
const HIGH_WATERMARK: usize = 1;
const STABLE_OFFSET: usize = 2;

/// Nanoseconds, as in `ResponseTime`.
pub struct Times {
    pub latency: i64,
    pub broker: Option<i64>,
    pub throttle: i64,
    pub wait: i64,
    pub is_empty_early: bool,
}

/// What says whether a Fetch that was answered brought anything, and waited: nanoseconds, milliseconds, and of the
/// answer the session, how many topics, and whether a partition has records, an error or a preferred replica.
pub struct Poll {
    pub held: i128,
    pub max_wait: i64,
    pub min_bytes: i64,
    pub is_refused: bool,
    pub throttle: i64,
    pub session: i64,
    pub topics: usize,
    pub has_anything: bool,
}

impl Poll {
    /// `response_time.is_empty`.
    pub fn is_empty(&self) -> bool {
        match self.topics {
            _ if self.is_refused => false,
            0 => self.session != 0,
            _ => !self.has_anything,
        }
    }

    /// `response_time._did_not_wait`.
    fn did_not_wait(&self) -> bool {
        let is_early = self.held * EARLY < i128::from(self.max_wait) * i128::from(MS);
        is_early && self.throttle <= 0 && self.is_empty()
    }

    /// `response_time.is_empty_early`.
    pub fn is_empty_early(&self) -> bool {
        self.min_bytes >= 1 && self.did_not_wait()
    }
}

/// How the bodies of a kind are read.
pub struct Reading {
    of: Bodies,
    client_waits: bool,
    leaves_errors: bool,
}

enum Bodies {
    Any(Program),
    /// Request and response, and whether they have offsets and high watermarks: not those of a ShareFetch.
    Fetch {
        asked: PartitionRows,
        answered: PartitionRows,
        has_offsets: bool,
    },
    /// Of a Fetch without the fields that there should be: it is Python's.
    Unknown,
}

/// Findings in a response.
#[derive(Default)]
pub struct Found {
    /// Each once, in the order of the body.
    pub errors: Vec<i16>,
    throttle: i64,
}

impl Found {
    fn clear(&mut self) {
        self.errors.clear();
        self.throttle = 0;
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
}

impl Look for Found {
    fn see(&mut self, data: &[u8], place: Range<usize>, what: What) -> Option<()> {
        let Kind::Number(kind) = what.kind else { return None };
        let value = kind.of(data.get(place)?)?;
        match what.slot? {
            THROTTLE => self.throttle = value,
            _ => self.note(value)?,
        }
        Some(())
    }
}

/// How both bodies of a Fetch or ShareFetch are read; None for a version without what there should be.
fn fetches(asked: &Layout, answered: &Layout) -> Option<Bodies> {
    let has = |layout: &Layout, name: &str| {
        layout.structs.iter().any(|of| of.fields.iter().any(|field| field.name() == name))
    };
    let name = |layout: &Layout| if has(layout, "topic_id") { "topic_id" } else { "topic" };
    let known = |layout: &Layout, name: &'static str| if has(layout, name) { name } else { "" };
    let has_offsets = has(asked, "fetch_offset");
    let (number, offsets) = if has_offsets { ("partition", 1) } else { ("partition_index", 0) };
    let lists = ["topics", name(asked), "partitions", number];
    let facts = ["max_wait_ms", "min_bytes", known(asked, "isolation_level")];
    let request = PartitionRows::of(asked, lists, &["fetch_offset"][..offsets], &facts)?;
    let root_has_error = answered.structs.first()?.fields.iter().any(|field| field.name() == "error_code");
    let facts = [
        known(answered, "throttle_time_ms"),
        known(answered, "session_id"),
        if root_has_error { "error_code" } else { "" },
    ];
    let lists = ["responses", name(answered), "partitions", "partition_index"];
    let all = ["error_code", "high_watermark", "last_stable_offset"];
    let values = match has(answered, all[STABLE_OFFSET]) {
        _ if !has_offsets => &all[..HIGH_WATERMARK],
        true => &all[..],
        false => &all[..STABLE_OFFSET],
    };
    Some(Bodies::Fetch {
        asked: request,
        answered: PartitionRows::of(answered, lists, values, &facts)?,
        has_offsets,
    })
}

impl Reading {
    /// Of a response, and for Fetch a request, with these layouts. Answers with errors are Python's where it
    /// `leaves_errors`.
    pub fn of(answered: &Layout, asked: Option<&Layout>, client_waits: bool, leaves_errors: bool) -> Reading {
        let slot = |part: What| match part.name() {
            "throttle_time_ms" if part.structure == 0 && !part.is_tag => Some(THROTTLE),
            _ => (part.role == Role::Error).then_some(ERROR),
        };
        let of = match asked {
            Some(asked) => fetches(asked, answered).unwrap_or(Bodies::Unknown),
            None => Bodies::Any(Program::to(answered, &slot)),
        };
        Reading { of, client_waits, leaves_errors }
    }
}

/// Room for an answer, and for the bodies of a Fetch.
#[derive(Default)]
pub struct Room {
    pub answer: Found,
    bodies: (InBody, InBody),
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
    /// The times of an exchange, whose errors are in `answer` then. Records high watermarks. None,
    /// without recording any, if a body does not fit. `in_line` is how long the request waited for
    /// the response before. `remote` is how long the broker waited, if a request log has that.
    pub fn times(
        &mut self,
        reading: &Reading,
        (request, response, in_line): (&Body<'_>, &Body<'_>, i64),
        remote: Option<i64>,
        capture_set: u32,
        watermarks: &mut Watermarks,
    ) -> Option<Times> {
        let between = response.span.first_time.checked_sub(request.span.last_time)?;
        let latency = between.max(0);
        self.answer.clear();
        let mut bodies = std::mem::take(&mut self.bodies);
        let fetch = match &reading.of {
            Bodies::Unknown => return None,
            Bodies::Any(program) => {
                let end = program.walk(response.data, response.at, &mut self.answer)?;
                (end == response.data.len()).then_some(None)?
            }
            Bodies::Fetch { asked, answered, has_offsets } => {
                let (one, other) = std::mem::take(&mut self.bodies);
                bodies.0 = asked.find(request.data, request.at, one)?;
                bodies.1 = answered.find(response.data, response.at, other)?;
                Some((self.fetch(bodies.0.body(request.data)?, bodies.1.body(response.data)?)?, *has_offsets))
            }
        };
        if reading.leaves_errors && !self.answer.errors.is_empty() {
            return None;
        }
        let throttle = self.answer.throttle.max(0) * MS;
        let owed = if throttle != 0 && !reading.client_waits { throttle } else { 0 };
        let broker = (latency - in_line - owed).max(0);
        if let Some(remote) = remote {
            let wait = if fetch.is_some() { remote.min(latency) } else { 0 };
            let poll = fetch.filter(|(_, has_offsets)| *has_offsets);
            let poll = poll.map(|(fetch, _)| fetch.poll(between - in_line, self.answer.throttle));
            let is_empty_early = poll.is_some_and(|poll| poll.is_empty_early());
            self.bodies = bodies;
            return Some(Times { latency, broker: Some(latency - wait), throttle, wait, is_empty_early });
        }
        let Some((fetch, has_offsets)) = fetch else {
            self.bodies = bodies;
            let (broker, wait, is_empty_early) = (Some(broker), 0, false);
            return Some(Times { latency, broker, throttle, wait, is_empty_early });
        };
        if !has_offsets {
            let (broker, wait) = fetch.held(broker, false);
            self.bodies = bodies;
            return Some(Times { latency, broker, throttle, wait, is_empty_early: false });
        }
        let reader = Reader { capture_set, is_committed: fetch.fact(ISOLATION) == READ_COMMITTED };
        let is_ready = fetch.found_data(request, reader, watermarks);
        fetch.learn(response, reader, watermarks);
        let poll = fetch.poll(between - in_line, self.answer.throttle);
        let (broker, wait) = fetch.held(broker, is_ready || poll.did_not_wait());
        let is_empty_early = poll.is_empty_early();
        self.bodies = bodies;
        Some(Times { latency, broker, throttle, wait, is_empty_early })
    }

    /// Note the errors of a Fetch and its throttle time; None for one that is Python's.
    fn fetch<'a>(&mut self, asked: Rows<'a>, answered: Rows<'a>) -> Option<Fetch<'a>> {
        let named = asked.topics.iter().chain(&answered.topics);
        if answered.has_other_errors || !named.into_iter().all(Topic::is_text) {
            return None;
        }
        self.answer.throttle = answered.facts[0].unwrap_or(0);
        self.answer.note(answered.facts[TOP_ERROR].unwrap_or(0))?;
        for row in answered.rows.iter() {
            self.answer.note(row.values[0])?;
        }
        Some(Fetch { asked, answered })
    }
}

/// A Fetch and its answer.
struct Fetch<'a> {
    asked: Rows<'a>,
    answered: Rows<'a>,
}

impl Fetch<'_> {
    /// A number of the request.
    fn fact(&self, at: usize) -> i64 {
        self.asked.facts[at].unwrap_or(0)
    }

    fn has_error(&self) -> bool {
        self.answered.facts[TOP_ERROR].unwrap_or(0) != 0
    }

    fn held(&self, time: i64, is_ready: bool) -> (Option<i64>, i64) {
        let max_wait = self.fact(MAX_WAIT) * MS;
        if max_wait <= 0 || self.has_error() {
            return (Some(time), 0);
        }
        if !self.answered.has_records() && time >= max_wait - GRACE_NS {
            let wait = time.min(max_wait);
            return (Some(time - wait), wait);
        }
        (is_ready.then_some(time), 0)
    }

    fn poll(&self, held: i64, throttle: i64) -> Poll {
        Poll {
            held: held.into(),
            max_wait: self.fact(MAX_WAIT),
            min_bytes: self.fact(MIN_BYTES),
            is_refused: self.has_error(),
            throttle,
            session: self.answered.facts[SESSION].unwrap_or(0),
            topics: self.answered.topics.len(),
            has_anything: self.answered.has_records() || self.answered.tells_anything(),
        }
    }

    fn found_data(&self, body: &Body<'_>, reader: Reader, watermarks: &mut Watermarks) -> bool {
        if self.fact(MIN_BYTES) > 1 {
            return false; // one record may be too few
        }
        self.asked.rows.iter().any(|row| {
            let Some(topic) = self.asked.topics.get(row.topic) else { return false };
            let known = watermarks.at(reader, topic.key(), row.partition, body.span.first_time);
            known.is_some_and(|known| 0 <= row.values[0] && row.values[0] < known)
        })
    }

    fn learn(&self, body: &Body<'_>, reader: Reader, watermarks: &mut Watermarks) {
        for row in self.answered.rows.iter().filter(|row| row.values[0] == 0) {
            let Some(topic) = self.answered.topics.get(row.topic) else { continue };
            let offset = row.values[if reader.is_committed { STABLE_OFFSET } else { HIGH_WATERMARK }];
            watermarks.learn(reader, topic.key(), row.partition, body.span.last_time, offset);
        }
    }
}
