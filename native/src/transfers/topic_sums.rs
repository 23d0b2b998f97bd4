//! `kdissect.stats.by_topic.topic_traffic`: Produces and Fetches counted by client and topic.

use std::collections::HashSet;

use pyo3::prelude::*;

use super::block::{self, part_of, Counts, Known, Part};
use super::members::MemberRequests;
use super::topics::{ByKey, Named, Topics};
use super::{counted, part, read, Place, COUNTED, LEFT, NEW_CODECS};
use crate::bodies::partition_rows::{Body, PartitionRows, Row as PartitionRow};
use crate::engine::completed::{Content, Row};
use crate::engine::exchange_block::ExchangeBlock;
use crate::records::batch::{batches, Batch, CONTROL};
use crate::stats::distribution::{bin_of, Distribution, DistributionRow};

/// `topic_sums.ROLES` of Python.
const WRITE: u8 = 0;
const READ: u8 = 1;
const FOLLOW: u8 = 2;
const SHARE: u8 = 3;

/// Number of partitions, or bins of distributions, after which the sums should be taken: some MB.
const MOST_HELD: usize = 1 << 16;

/// Clients with groups that are remembered, some 100 bytes each.
const MOST_LINKS: usize = 1 << 14;

/// `Use` of a client and a topic: requests, batches, records, bytes, unconfirmed and refused records.
type Sums = (i64, i64, i64, i64, i64, i64, i64, i64);

/// Of one client in one role, and one topic.
#[derive(Clone, Copy)]
struct Use {
    user: u32,
    role: u8,
    topic: u32,
    requests: i64,
    batches: i64,
    records: i64,
    bytes: i64,
    unconfirmed: i64,
    refused: i64,
    unlogged: i64,
    unsized_fields: i64,
}

/// A partition, whether Python knows that it takes part, and an exchange's values for it: its
/// number, the error.
#[derive(Clone, Copy)]
struct Partition {
    topic: u32,
    number: i64,
    is_seen: bool,
    answer: (u64, i64),
}

/// The batches of a topic with records of applications, their bytes and records, and the number of
/// other batches.
#[derive(Default)]
struct Batches {
    topic: u32,
    control: i64,
    count: i64,
    bytes: Distribution,
    records: Distribution,
}

impl Batches {
    /// Of both distributions.
    fn bins(&self) -> usize {
        self.bytes.width() + self.records.width()
    }
}

/// A records field of an exchange, and its partition.
struct Field {
    use_place: usize,
    partition: usize,
    content: Records,
}

/// Records, or in a request log their size, 0 if it is not known.
enum Records {
    Batches(Vec<Batch>),
    OfLine(i64),
}

/// Result of `take`: sums for each client, role and topic, then for topics each partition that
/// takes part, for the sums errors with counts, for topics codecs with counts, and for topics
/// control batches, other batches, and their bytes and records. All in the order in which they
/// came.
type Taken = (
    Vec<((u32, u8, u32), Sums)>,
    Vec<(u32, i64)>,
    Vec<(usize, i64, i64)>,
    Vec<(u32, i16, i64)>,
    Vec<(u32, i64, i64, Option<DistributionRow>, Option<DistributionRow>)>,
);

#[pyclass(module = "kdissect._native")]
#[derive(Default)]
pub struct TopicSums {
    topics: Topics,
    uses: ByKey<(u32, u8, u32), Use>,
    partitions: ByKey<(u32, i64), Partition>,
    seen: Vec<(u32, i64)>,
    errors: ByKey<(usize, i64), (usize, i64, i64)>,
    codecs: ByKey<(u32, i16), (u32, i16, i64)>,
    /// The topic and the codec of entries of `codecs` that Python does not know yet.
    new_codecs: Vec<(u32, i16)>,
    batches: ByKey<u32, Batches>,
    /// The multiplier that computes the bins of a distribution, and the total number of bins.
    multiplier: f64,
    held: usize,
    exchanges: u64,
    known: Known,
    /// Groups that Python knows clients to act in.
    links: HashSet<(u32, Box<str>)>,
}

#[pymethods]
impl TopicSums {
    #[new]
    fn new(multiplier: f64) -> Self {
        TopicSums { multiplier, ..TopicSums::default() }
    }

    /// Count a Produce (`writes`) or a Fetch of a client at a broker, both by number. LEFT, or
    /// COUNTED and what goes with it.
    fn count(
        &mut self,
        user: u32,
        broker: u32,
        writes: bool,
        request: Place<'_>,
        response: Option<Place<'_>>,
    ) -> u8 {
        let role = if writes { WRITE } else { READ };
        self.parts((user, broker), role, part(&request), response.as_ref().map(part))
    }

    /// The same with the exchanges of a block, from one on (`block::count`). `take_again` is called
    /// with each response that repeats its names: whether it was taken. `link` is called with a connection, a client
    /// id and a group in which the client acts.
    fn count_block(
        &mut self,
        block: &Bound<'_, ExchangeBlock>,
        start: usize,
        way_of: &Bound<'_, PyAny>,
        numbers_of: &Bound<'_, PyAny>,
        take_again: Bound<'_, PyAny>,
        link: Bound<'_, PyAny>,
    ) -> PyResult<(usize, u8)> {
        let mut known = std::mem::take(&mut self.known);
        let mut counting = Counting { sums: self, take_again, link };
        let done = block::count(&mut counting, &mut known, block, start, way_of, numbers_of);
        self.known = known;
        done
    }

    /// Topics that are new, by number: the broker's number, and the name or the id.
    fn new_topics(&mut self, py: Python<'_>) -> Vec<Named> {
        self.topics.take_new(py)
    }

    /// Topics with codecs that none of their batches had before, since the last `take`.
    fn new_codecs(&mut self) -> Vec<(u32, i16)> {
        std::mem::take(&mut self.new_codecs)
    }

    /// Everything counted, which is forgotten then, topics too.
    fn take(&mut self) -> Taken {
        self.topics.clear();
        self.known.forget_senders();
        self.links.clear();
        self.partitions.take();
        self.held = 0;
        let uses = self.uses.take().into_iter().map(|of| {
            let Use { requests, batches, records, bytes, unconfirmed, refused, .. } = of;
            let sums =
                (requests, batches, records, bytes, unconfirmed, refused, of.unlogged, of.unsized_fields);
            ((of.user, of.role, of.topic), sums)
        });
        let batches = self.batches.take().into_iter().map(|mut of| {
            let Batches { topic, control, count, bytes, records } = &mut of;
            (*topic, *control, *count, bytes.take(), records.take())
        });
        (
            uses.collect(),
            std::mem::take(&mut self.seen),
            self.errors.take(),
            self.codecs.take(),
            batches.collect(),
        )
    }
}

struct Counting<'a, 'py> {
    sums: &'a mut TopicSums,
    take_again: Bound<'py, PyAny>,
    link: Bound<'py, PyAny>,
}

impl Counts for Counting<'_, '_> {
    fn pass_told(&mut self, _: (u32, u32), (info, row): (&Bound<'_, PyAny>, &Row)) -> PyResult<u8> {
        let Some(answer) = &row.response else { return Ok(LEFT) };
        let asked = (info, row.request.kind.version, answer.of_body(info.py()));
        let is_taken: bool = self.take_again.call1(asked)?.extract()?;
        Ok(if is_taken { COUNTED } else { LEFT })
    }

    fn of_member(
        &mut self,
        who: (u32, u32),
        (info, _, row): (&Bound<'_, PyAny>, u64, &Row),
        requests: &MemberRequests,
    ) -> PyResult<u8> {
        let (py, (client, _)) = (info.py(), who);
        let sender = requests.sender(py, row);
        let Some(group) = sender.and_then(|sender| sender.group) else { return Ok(LEFT) };
        let fetched = requests.fetched.as_ref().zip(row.response.as_ref());
        // Which records a member acquired is Python's.
        let has_records = |(rows, answer): (&(_, Py<PartitionRows>), &Content)| {
            answer.partitions(py, rows.1.get()).is_none_or(|body| body.has_records())
        };
        if fetched.is_some_and(has_records) {
            return Ok(LEFT);
        }
        let link = (client, Box::from(group));
        if !self.sums.links.contains(&link) {
            self.link.call1((info, &row.request.client_id, group))?;
            if self.sums.links.len() >= MOST_LINKS {
                self.sums.links.clear();
            }
            self.sums.links.insert(link);
        }
        let Some(((asked, answered), answer)) = fetched else { return Ok(COUNTED) };
        let request = part_of(py, asked.get(), &row.request.content);
        Ok(self.sums.parts(who, SHARE, request, Some(part_of(py, answered.get(), answer))))
    }

    fn count(
        &mut self,
        who: (u32, u32),
        (_, row): (&Bound<'_, PyAny>, &Row),
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> PyResult<u8> {
        let role = if row.request.kind.api_key == PRODUCE { WRITE } else { READ };
        Ok(self.sums.parts(who, role, request, response))
    }
}

impl TopicSums {
    fn parts(
        &mut self,
        (user, broker): (u32, u32),
        role: u8,
        request: Part<'_>,
        response: Option<Part<'_>>,
    ) -> u8 {
        let Some((frame, asked)) = read(request) else { return LEFT };
        let done = match response {
            None => self.exchange(user, broker, role, (frame, &asked), None),
            Some(response) => read(response).and_then(|(back, answered)| {
                self.exchange(user, broker, role, (frame, &asked), Some((back, &answered)))
            }),
        };
        match done {
            None => LEFT,
            Some(()) => {
                let new = if self.new_codecs.is_empty() { 0 } else { NEW_CODECS };
                counted(self.held + self.partitions.found.len(), MOST_HELD, &self.topics) | new
            }
        }
    }

    /// None, without counting, for one that is Python's.
    fn exchange(
        &mut self,
        user: u32,
        broker: u32,
        role: u8,
        (asked_in, asked): (&[u8], &Body<'_>),
        answer: Option<(&[u8], &Body<'_>)>,
    ) -> Option<()> {
        let nothing = Body::default();
        let (answered_in, answered) = answer.unwrap_or((&[], &nothing));
        if asked.has_other_errors || answered.has_other_errors {
            return None;
        }
        self.exchanges += 1;
        let named = self.topics.numbers(broker, asked)?;
        let answering = self.topics.numbers(broker, answered)?;
        let (writes, is_follower) = (role == WRITE, asked.facts[0].is_some_and(|replica| replica >= 0));
        let role = if role == READ && is_follower { FOLLOW } else { role };
        let answers = self.answers(&answering, &answered.rows)?;
        let (rows, numbers, data) = match writes {
            true => (&asked.rows, &named, asked_in),
            false => (&answered.rows, &answering, answered_in),
        };
        let fields = self.fields(rows, numbers, data)?;

        // From here on everything is counted.
        let mut uses: Vec<(u32, usize)> = Vec::with_capacity(named.len());
        for &topic in named.iter().chain(&answering) {
            if uses.iter().all(|&(known, _)| known != topic) {
                let place = self.place(user, role, topic);
                self.uses.found[place].requests += 1;
                uses.push((topic, place));
            }
        }
        for (row, &partition) in answered.rows.iter().zip(&answers) {
            self.see(partition);
            if row.values[0] != 0 {
                let place = self.place(user, role, answering[row.topic]);
                let error = self.errors.place((place, row.values[0]), || (place, row.values[0], 0));
                self.errors.found[error].2 += 1;
            }
        }
        for mut field in fields {
            let topic = self.partitions.found[field.partition].topic;
            field.use_place = self.place(user, role, topic);
            self.field(&field, writes);
        }
        Some(())
    }

    fn place(&mut self, user: u32, role: u8, topic: u32) -> usize {
        self.uses.place((user, role, topic), || Use {
            user,
            role,
            topic,
            requests: 0,
            batches: 0,
            records: 0,
            bytes: 0,
            unconfirmed: 0,
            refused: 0,
            unlogged: 0,
            unsized_fields: 0,
        })
    }

    fn partition(&mut self, topic: u32, number: i64) -> usize {
        let made = Partition { topic, number, is_seen: false, answer: (0, 0) };
        self.partitions.place((topic, number), || made)
    }

    /// The partitions of an answer, each with its error. None if one appears twice.
    fn answers(&mut self, topics: &[u32], rows: &[PartitionRow]) -> Option<Vec<usize>> {
        let mut found = Vec::with_capacity(rows.len());
        for row in rows {
            let place = self.partition(*topics.get(row.topic)?, row.partition);
            let partition = &mut self.partitions.found[place];
            if partition.answer.0 == self.exchanges || row.values[0] == TOPIC_AUTHORIZATION_FAILED {
                return None;
            }
            partition.answer = (self.exchanges, row.values[0]);
            found.push(place);
        }
        Some(found)
    }

    /// The records fields with their batches. None if one has other bytes.
    fn fields(&mut self, rows: &[PartitionRow], topics: &[u32], data: &[u8]) -> Option<Vec<Field>> {
        let mut found = Vec::new();
        for row in rows {
            let content = match (row.omitted, row.records.clone()) {
                (Some(size), _) => Records::OfLine(size),
                (None, None) => continue,
                (None, Some(records)) => {
                    let batches = batches(data, records)?;
                    if batches.iter().any(|batch| batch.count < 0) {
                        return None;
                    }
                    Records::Batches(batches)
                }
            };
            let partition = self.partition(*topics.get(row.topic)?, row.partition);
            found.push(Field { use_place: 0, partition, content });
        }
        Some(found)
    }

    fn see(&mut self, place: usize) {
        let partition = &mut self.partitions.found[place];
        if !partition.is_seen {
            partition.is_seen = true;
            self.seen.push((partition.topic, partition.number));
        }
    }

    fn field(&mut self, field: &Field, writes: bool) {
        self.see(field.partition);
        let partition = self.partitions.found[field.partition];
        let error = (partition.answer.0 == self.exchanges).then_some(partition.answer.1);
        let of = &mut self.uses.found[field.use_place];
        let is_refused = writes && error.is_some_and(|error| error != 0);
        let batches = match &field.content {
            Records::Batches(batches) => batches,
            Records::OfLine(size) => {
                of.unlogged += 1;
                match size {
                    _ if is_refused => {}
                    0 => of.unsized_fields += 1,
                    size => of.bytes += size,
                }
                return;
            }
        };
        if is_refused {
            of.refused += batches.iter().map(|batch| i64::from(batch.count).max(1)).sum::<i64>();
            return;
        }
        for batch in batches {
            let (size, topic) = ((batch.end - batch.start) as i64, partition.topic);
            let of = &mut self.uses.found[field.use_place];
            of.batches += 1;
            of.bytes += size;
            let place = self.batches.place(topic, || Batches { topic, ..Batches::default() });
            let batches = &mut self.batches.found[place];
            if batch.attributes & CONTROL != 0 {
                batches.control += 1;
                continue;
            }
            let records = i64::from(batch.count);
            of.records += records;
            if writes && error.is_none() {
                of.unconfirmed += records;
            }
            let before = batches.bins();
            batches.count += 1;
            batches.bytes.add(size, bin_of(size, self.multiplier));
            batches.records.add(records, bin_of(records, self.multiplier));
            self.held += batches.bins() - before;
            let codec = self.codecs.place((topic, batch.codec()), || (topic, batch.codec(), 0));
            let codec = &mut self.codecs.found[codec];
            if codec.2 == 0 {
                self.new_codecs.push((codec.0, codec.1));
            }
            codec.2 += 1;
        }
    }
}

/// org.apache.kafka.common.protocol.ApiKeys
const PRODUCE: i16 = 0;
/// org.apache.kafka.common.protocol.Errors: whom it concerns takes a closer look.
const TOPIC_AUTHORIZATION_FAILED: i64 = 29;
