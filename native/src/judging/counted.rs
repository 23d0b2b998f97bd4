//! Counts of rows that passed, until Python needs them: bodies by kind and software, latencies,
//! times.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::engine::completed::{Content, Row};
use crate::records::quick::QuickMap;
use crate::stats::distribution::{bin_of, Distribution, DistributionRow};

/// Number of time line slots that are handed over at once: some 64 KB.
const MANY_SLOTS: usize = 4096;

/// Bodies of a kind for one software, `judging.body_kind.BodyPair`, and what passed of it.
struct Kind {
    object: Py<PyAny>,
    /// For its place in memory, by which it is known.
    _exercise: Py<PyAny>,
    /// One that came no later may stand first.
    first_ns: i64,
    is_watched: bool,
    exchanges: u64,
    batches: u64,
}

/// Faults of rows with equal marks on a connection.
pub struct Repeated {
    /// The time of a response after which they only increase counts.
    after_ns: i64,
    /// What counts them, by their number and the time of the last one.
    count: Py<PyAny>,
}

impl Repeated {
    pub fn of((after_ns, count): (i64, Py<PyAny>)) -> Self {
        Repeated { after_ns, count }
    }

    pub fn is_after(&self, response: &Content) -> bool {
        response.span.first_time > self.after_ns
    }
}

/// Where one stands.
pub struct Pair {
    at: usize,
    pub is_watched: bool,
}

/// Pairs with exchanges and batches, latencies by API key and version, and times of slots with
/// exchanges.
pub type Settled = (Vec<(Py<PyAny>, u64, u64)>, Vec<((i16, i16), DistributionRow)>, Vec<(i64, u64)>);

pub struct Counted {
    places: QuickMap<(usize, u64, u64), usize>,
    kinds: Vec<Kind>,
    latencies: QuickMap<u64, ((i16, i16), Distribution)>,
    /// Faults of the rows of a block: how many, and the time of the last response. By their addresses.
    repeated: QuickMap<usize, (Arc<Repeated>, u64, i64)>,
    multiplier: f64,
    /// Slots of the time line, in the order of rows; 0: their width is not known.
    slots: Vec<(i64, u64)>,
    width: i64,
}

impl Counted {
    /// The multiplier with which `sketches.distribution` computes bins.
    pub fn of(multiplier: f64) -> Counted {
        Counted {
            places: QuickMap::default(),
            kinds: Vec::new(),
            latencies: QuickMap::default(),
            repeated: QuickMap::default(),
            multiplier,
            slots: Vec::new(),
            width: 0,
        }
    }

    /// The bodies of a row that came after the first ones of their kinds, with equal `marks`. None
    /// for other rows, and for rows that Python did not see before, which `pair_of` decides.
    pub fn pair(
        &mut self,
        py: Python<'_>,
        exercise: &Py<PyAny>,
        row: &Row,
        marks: u64,
        pair_of: &Py<PyAny>,
    ) -> PyResult<Option<Pair>> {
        let (kind, is_answered) = (&row.request.kind, row.response.is_some());
        let kind_key = u64::from(kind.number()) << 1 | u64::from(is_answered);
        let key = (exercise.as_ptr() as usize, kind_key, marks);
        let sent = row.request.content.span.first_time;
        let known = self.places.get(&key).copied();
        if let Some((at, of)) = known.and_then(|at| Some((at, self.kinds.get(at)?))) {
            if sent > of.first_ns {
                return Ok(Some(Pair { at, is_watched: of.is_watched }));
            }
        }
        // Another one may stand first by now.
        let asked = (exercise, kind.api_key, kind.version, is_answered, marks);
        let found: Option<(Py<PyAny>, i64, bool)> = pair_of.bind(py).call1(asked)?.extract()?;
        let Some((object, first_ns, is_watched)) = found else { return Ok(None) };
        let at = match known {
            Some(at) => at,
            None => {
                let _exercise = exercise.clone_ref(py);
                self.kinds.push(Kind { object, _exercise, first_ns, is_watched, exchanges: 0, batches: 0 });
                self.places.insert(key, self.kinds.len() - 1);
                self.kinds.len() - 1
            }
        };
        if let Some(of) = self.kinds.get_mut(at) {
            of.first_ns = first_ns;
        }
        Ok((sent > first_ns).then_some(Pair { at, is_watched }))
    }

    /// Count a row.
    pub fn add(&mut self, pair: &Pair, row: &Row, batches: u64, latency: i64) {
        let Some(of) = self.kinds.get_mut(pair.at) else { return };
        of.exchanges += 1;
        of.batches += batches;
        if row.response.is_some() {
            let (kind, value) = (&row.request.kind, latency.max(0));
            let of = self.latencies.entry(kind.number().into());
            let (_, latencies) =
                of.or_insert_with(|| ((kind.api_key, kind.version), Distribution::default()));
            latencies.add(value, bin_of(value, self.multiplier));
        }
        let sent = row.request.content.span.first_time;
        let slot = sent.saturating_sub(sent.rem_euclid(self.width.max(1)));
        match self.slots.last_mut() {
            Some((last, count)) if *last == slot => *count += 1,
            _ => self.slots.push((slot, 1)),
        }
    }

    /// Count the faults of a response.
    pub fn repeat(&mut self, repeated: Arc<Repeated>, response: &Content) {
        let (_, times, last_ns) =
            self.repeated.entry(Arc::as_ptr(&repeated) as usize).or_insert((repeated, 0, i64::MIN));
        *times += 1;
        *last_ns = (*last_ns).max(response.span.first_time);
    }

    /// Have the faults of a block counted.
    pub fn count_repeated(&mut self, py: Python<'_>) -> PyResult<()> {
        for (_, (repeated, times, last_ns)) in self.repeated.drain() {
            repeated.count.bind(py).call1((times, last_ns))?;
        }
        Ok(())
    }

    /// Whether slots should be handed over, after slots with equal times were merged.
    pub fn has_many(&mut self) -> bool {
        if self.slots.len() < MANY_SLOTS {
            return self.width == 0 && !self.slots.is_empty();
        }
        self.join_slots();
        self.slots.len() >= MANY_SLOTS / 2
    }

    fn join_slots(&mut self) {
        self.slots.sort_unstable();
        self.slots.dedup_by(|(time, more), (before, count)| {
            *count += if time == before { *more } else { 0 };
            time == before
        });
    }

    /// The slots alone.
    pub fn take_slots(&mut self) -> Settled {
        (Vec::new(), Vec::new(), std::mem::take(&mut self.slots))
    }

    /// Return all counts, and start again.
    pub fn take(&mut self) -> Settled {
        self.places.clear();
        let kinds = std::mem::take(&mut self.kinds).into_iter().filter(|of| of.exchanges > 0);
        let pairs = kinds.map(|of| (of.object, of.exchanges, of.batches)).collect();
        let latencies = self.latencies.drain().filter_map(|(_, (kind, mut of))| Some((kind, of.take()?)));
        (pairs, latencies.collect(), std::mem::take(&mut self.slots))
    }

    /// How wide a slot is from now on.
    pub fn width(&mut self, width: i64) {
        self.width = width;
    }
}
