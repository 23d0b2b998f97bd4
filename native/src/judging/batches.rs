//! Batches that need no rule: `kdissect.rules.judging.batch_judge`, for fields with whole batches
//! of magic 2.

use std::collections::{HashMap, HashSet};

use crc32c::crc32c;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bodies::partition_rows::{Body, Topic};
use crate::records::batch::{batches, Batch, Found, ATTRIBUTES_AT, LOG_APPEND_TIME};
use crate::records::canonical_records::latest_delta;
use crate::records::content::Contents;
use crate::records::quick::QuickMap;

/// Batches remembered as canonical, by what their checksum covers.
pub const MOST_CANONICAL: usize = 1024;
/// Members of `rules.guards.BatchFact` that do not follow from attributes alone.
const OTHER_COUNT: u32 = 256;
const BASE_OFFSET: u32 = 512;
const BEHIND_ANOTHER: u32 = 1024;
const OFFSET_NOT_HIGHER: u32 = 2048;
const BEFORE_ASKED: u32 = 4096;
const EPOCH_LOWER: u32 = 32768;
const EPOCH_HIGHER: u32 = 65536;

/// Whether batches are produced, whether they are fetched by offset, the facts that mark a batch
/// for a rule, and the facts from attributes.
pub type CarriageRow = (bool, bool, u32, Py<PyAny>);

/// Checksum, size, latest timestamp and number of records.
type Content = (u32, usize, i64, i32);

/// Names of topics, `(connection, id) -> bool`, `() -> int`.
pub type Topics = (Vec<Vec<u8>>, Py<PyAny>, Py<PyAny>);

/// The batches of a body, all of whose checksums are right; None if the body has other records.
pub fn batches_of(data: &[u8], body: &Body<'_>) -> Option<Vec<Found>> {
    let mut found = Vec::new();
    for (number, row) in body.rows.iter().enumerate() {
        for batch in batches(data, row.records.clone().unwrap_or_default())? {
            if crc32c(data.get(batch.start + ATTRIBUTES_AT..batch.end)?) != batch.crc {
                return None;
            }
            found.push((number, batch));
        }
    }
    Some(found)
}

/// The batches that rules need.
pub enum Needed {
    Nothing,
    /// Those of topics whose records have formats, for these formats alone.
    Formats,
    Marked,
}

/// Decides whether batches need a rule.
pub struct Batches {
    contents: Contents,
    /// Topics whose records have formats, by name; `(connection, id) -> bool` recognizes them by
    /// id.
    own_topics: Vec<Vec<u8>>,
    is_own: Py<PyAny>,
    /// Its results, with the connection, by whose address they are stored. Then the number of
    /// changes to names at that time.
    told: QuickMap<(usize, [u8; 16]), (Py<PyAny>, bool)>,
    changes: i64,
    changes_of: Py<PyAny>,
    facts: HashMap<(u32, i16), u32>,
    canonical: HashSet<Content>,
    /// Batches of topics whose records have formats, by topic and content, in which no rule found a fault: all
    /// followers fetch the same ones.
    fitting: HashSet<(bool, Vec<u8>, Content)>,
}

impl Batches {
    /// `topics` are the topics whose records have formats, the function that recognizes them by id,
    /// and the function that counts changes to names.
    pub fn new(contents: Contents, topics: Topics) -> Self {
        let (own_topics, is_own, changes_of) = topics;
        Batches {
            contents,
            own_topics,
            is_own,
            told: QuickMap::default(),
            changes: 0,
            changes_of,
            facts: HashMap::new(),
            canonical: HashSet::new(),
            fitting: HashSet::new(),
        }
    }

    /// Which of these batches rules need, which are in `body` of `data`. `kind` is the number of the
    /// exchange's kind, `asked` the request of a Fetch.
    #[allow(clippy::too_many_arguments)]
    pub fn needed(
        &mut self,
        py: Python<'_>,
        (kind, (is_produce, is_fetch, mask, facts_of)): (u32, &CarriageRow),
        info: &Py<PyAny>,
        data: &[u8],
        body: &Body<'_>,
        found: &[Found],
        asked: &Body<'_>,
    ) -> PyResult<Needed> {
        let mut before: Option<&Found> = None;
        let (mut place, mut needed) = (None, Needed::Nothing);
        for one in found {
            let (number, batch) = one;
            let Some(row) = body.rows.get(*number) else { return Ok(Needed::Marked) };
            let Some(topic) = body.topics.get(row.topic) else { return Ok(Needed::Marked) };
            let behind = before.filter(|before| before.0 == *number).map(|before| &before.1);
            let mut facts =
                self.facts_of(py, kind, batch.attributes, facts_of)? | counted(*is_produce, batch);
            if let Some(behind) = behind {
                facts |= BEHIND_ANOTHER;
                if batch.base_offset <= behind.base_offset.saturating_add(behind.last_offset_delta.into()) {
                    facts |= OFFSET_NOT_HIGHER;
                }
                if 0 <= batch.leader_epoch && batch.leader_epoch < behind.leader_epoch {
                    facts |= EPOCH_LOWER;
                }
            } else {
                place = if *is_fetch { asked_place(asked, topic, row.partition) } else { None };
                if place.is_some_and(|(offset, _)| is_before(batch, offset)) {
                    facts |= BEFORE_ASKED;
                }
            }
            if place.is_some_and(|(_, epoch)| 0 <= epoch && epoch < i64::from(batch.leader_epoch)) {
                facts |= EPOCH_HIGHER;
            }
            if facts & mask != 0 || !self.is_canonical(py, data, batch, *is_produce)? {
                return Ok(Needed::Marked);
            }
            if self.is_own_topic(py, info, topic)? && !self.fitting.contains(&fitting_key(topic, batch)) {
                needed = Needed::Formats;
            }
            before = Some(one);
        }
        Ok(needed)
    }

    /// Note that no rule found a fault in these batches of `body`, all of topics whose records have formats or
    /// without a mark.
    pub fn fit(&mut self, body: &Body<'_>, found: &[Found]) {
        for (number, batch) in found {
            let topic = body.rows.get(*number).and_then(|row| body.topics.get(row.topic));
            if self.fitting.len() >= MOST_CANONICAL {
                self.fitting.clear();
            }
            self.fitting.extend(topic.map(|topic| fitting_key(topic, batch)));
        }
    }

    fn facts_of(&mut self, py: Python<'_>, kind: u32, attributes: i16, of: &Py<PyAny>) -> PyResult<u32> {
        if let Some(known) = self.facts.get(&(kind, attributes)) {
            return Ok(*known);
        }
        let found = of.call1(py, (attributes,))?.extract(py)?;
        if self.facts.len() >= MOST_CANONICAL {
            self.facts.clear();
        }
        self.facts.insert((kind, attributes), found);
        Ok(found)
    }

    fn is_own_topic(&mut self, py: Python<'_>, info: &Py<PyAny>, topic: &Topic<'_>) -> PyResult<bool> {
        let id: &[u8; 16] = match topic {
            Topic::Name(name) => return Ok(self.own_topics.iter().any(|own| own == name)),
            Topic::Id(id) => id,
        };
        let key = (info.as_ptr() as usize, *id);
        if let Some((_, is_own)) = self.told.get(&key) {
            return Ok(*is_own);
        }
        let is_own = self.is_own.call1(py, (info, PyBytes::new(py, id)))?.extract(py)?;
        if self.told.len() >= MOST_CANONICAL {
            self.told.clear();
        }
        self.told.insert(key, (info.clone_ref(py), is_own));
        Ok(is_own)
    }

    fn is_canonical(&mut self, py: Python<'_>, data: &[u8], batch: &Batch, dense: bool) -> PyResult<bool> {
        let key = content_of(batch);
        if !dense && self.canonical.contains(&key) {
            return Ok(true);
        }
        let Some(content) = self.contents.of(py, data, batch)? else { return Ok(false) };
        let (content, count) = (content.bytes(py, data), Some(i64::from(batch.count)));
        let last = i64::from(batch.last_offset_delta);
        let latest = latest_delta(count, last, content, 0, content.len(), dense);
        let is_latest = |latest: i64| {
            batch.base_timestamp.checked_add(latest) == Some(batch.max_timestamp)
                || batch.attributes & LOG_APPEND_TIME != 0
                || batch.count == 0
        };
        let is_canonical = latest.is_some_and(is_latest);
        if is_canonical {
            if self.canonical.len() >= MOST_CANONICAL {
                self.canonical.clear();
            }
            self.canonical.insert(key);
        }
        Ok(is_canonical)
    }

    /// Look which limits hold, and whether names are others now.
    pub fn look(&mut self, py: Python<'_>) -> PyResult<()> {
        let changes = self.changes_of.bind(py).call0()?.extract()?;
        if changes != self.changes {
            self.changes = changes;
            self.told.clear();
            self.fitting.clear();
        }
        self.contents.look(py)
    }
}

fn content_of(batch: &Batch) -> Content {
    (batch.crc, batch.end - batch.start, batch.max_timestamp, batch.count)
}

fn fitting_key(topic: &Topic<'_>, batch: &Batch) -> (bool, Vec<u8>, Content) {
    let (is_id, name) = topic.key();
    (is_id, name.to_vec(), content_of(batch))
}

/// Those of offsets and counts (`batch_facts.header_facts`).
fn counted(is_produce: bool, batch: &Batch) -> u32 {
    let (count, last) = (i64::from(batch.count), i64::from(batch.last_offset_delta));
    let mut facts = 0;
    if is_produce && batch.base_offset != 0 {
        facts |= BASE_OFFSET;
    }
    let is_other = match is_produce {
        true => count < 1 || last != count - 1,
        false => count < 0 || last < 0 || last < count - 1,
    };
    if is_other {
        facts |= OTHER_COUNT;
    }
    facts
}

/// The requested offset and leader epoch, for a repeated partition the last ones.
fn asked_place(asked: &Body<'_>, topic: &Topic<'_>, partition: i64) -> Option<(i64, i64)> {
    let is_it =
        |topic_at: usize, number: i64| number == partition && asked.topics.get(topic_at) == Some(topic);
    asked
        .rows
        .iter()
        .rev()
        .find(|row| is_it(row.topic, row.partition))
        .map(|row| (row.values[0], row.values[1]))
}

fn is_before(batch: &Batch, asked: i64) -> bool {
    batch.base_offset.saturating_add(batch.last_offset_delta.into()) < asked
}
