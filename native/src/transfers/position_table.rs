//! `kdissect.stats.by_group.position_table.PositionTable`: the last position of each client in each partition.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::recent_table::RecentTable;

/// What Fetches tell of a position: the requested offset and its time, the offset behind records that came since then,
/// the high watermark, and whether records came since then whose end is not known.
pub struct News {
    pub asked: Option<(i64, i64)>,
    pub behind: Option<i64>,
    pub high_watermark: Option<i64>,
    pub is_lost: bool,
}

/// Fetch offset, high watermark, and when the offset was requested.
type State = (Option<i64>, Option<i64>, i64);
/// Client and topic by number, and partition.
type Key = (u32, u32, i64);
/// Client, topic and partition, and the state.
type Item<'py> = ((Bound<'py, PyAny>, (Bound<'py, PyAny>, i64)), State);

/// Objects of Python by number, as long as positions name them.
pub struct Numbered {
    numbers: Py<PyDict>,
    /// Each with the number of positions.
    objects: Vec<Option<(Py<PyAny>, usize)>>,
    free: Vec<u32>,
    /// Numbers that may have no position.
    unused: Vec<u32>,
}

#[pyclass(module = "kdissect._native")]
pub struct PositionTable {
    pub clients: Numbered,
    pub topics: Numbered,
    states: RecentTable<Key, State>,
}

#[pymethods]
impl PositionTable {
    /// Stores this number of positions, the most recently used ones.
    #[new]
    fn new(most: usize, py: Python<'_>) -> Self {
        PositionTable { clients: Numbered::of(py), topics: Numbered::of(py), states: RecentTable::of(most) }
    }

    fn __len__(&self) -> usize {
        self.states.len()
    }

    /// As in Python, as the others.
    fn learn(
        &mut self,
        client: Bound<'_, PyAny>,
        partition: (Bound<'_, PyAny>, i64),
        asked: Option<(i64, i64)>,
        behind: Option<i64>,
        high_watermark: Option<i64>,
        is_lost: bool,
    ) -> PyResult<()> {
        let py = client.py();
        let key = (self.clients.number(client)?, self.topics.number(partition.0)?, partition.1);
        self.take_in(key, &News { asked, behind, high_watermark, is_lost });
        self.clean(py)
    }

    fn put(
        &mut self,
        client: Bound<'_, PyAny>,
        partition: (Bound<'_, PyAny>, i64),
        state: State,
    ) -> PyResult<()> {
        let py = client.py();
        let key = (self.clients.number(client)?, self.topics.number(partition.0)?, partition.1);
        if let Some(place) = self.state(key) {
            *place = state;
        }
        self.clean(py)
    }

    fn get(&self, client: &Bound<'_, PyAny>, partition: (Bound<'_, PyAny>, i64)) -> PyResult<Option<State>> {
        let (client, topic) = (self.clients.known(client)?, self.topics.known(&partition.0)?);
        let key = client.zip(topic).map(|(client, topic)| (client, topic, partition.1));
        Ok(key.and_then(|key| self.states.peek(&key)).copied())
    }

    fn items<'py>(&self, py: Python<'py>) -> Vec<Item<'py>> {
        let item = |((client, topic, partition), state): (&Key, &State)| {
            let of = (self.clients.object(py, *client)?, (self.topics.object(py, *topic)?, *partition));
            Some((of, *state))
        };
        self.states.iter().filter_map(item).collect()
    }
}

impl PositionTable {
    pub fn take_in(&mut self, key: Key, news: &News) {
        let Some(state) = self.state(key) else { return };
        if let Some((offset, time_ns)) = news.asked {
            (state.0, state.2) = (Some(offset), time_ns);
        }
        if news.is_lost {
            state.0 = None;
        } else if news.behind.is_some_and(|behind| behind > state.0.unwrap_or_default()) {
            state.0 = news.behind;
        }
        state.1 = news.high_watermark.or(state.1);
    }

    /// The state of a position, which is used now.
    fn state(&mut self, key: Key) -> Option<&mut State> {
        if self.states.used(&key).is_none() {
            self.clients.count(key.0);
            self.topics.count(key.1);
            if let Some(((client, topic, _), _)) = self.states.begin(key, (None, None, 0)) {
                self.clients.release(client);
                self.topics.release(topic);
            }
        }
        self.states.newest()
    }

    /// Forget clients and topics without a position.
    pub fn clean(&mut self, py: Python<'_>) -> PyResult<()> {
        self.clients.clean(py)?;
        self.topics.clean(py)
    }
}

impl Numbered {
    fn of(py: Python<'_>) -> Self {
        let numbers = PyDict::new(py).unbind();
        Numbered { numbers, objects: Vec::new(), free: Vec::new(), unused: Vec::new() }
    }

    /// The numbers of objects, which stay theirs until the next `clean`.
    pub fn numbers(&mut self, objects: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<u32>> {
        objects.into_iter().map(|object| self.number(object)).collect()
    }

    fn number(&mut self, object: Bound<'_, PyAny>) -> PyResult<u32> {
        if let Some(number) = self.known(&object)? {
            return Ok(number);
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.objects.push(None);
                u32::try_from(self.objects.len() - 1)?
            }
        };
        self.numbers.bind(object.py()).set_item(&object, number)?;
        if let Some(place) = self.objects.get_mut(number as usize) {
            *place = Some((object.unbind(), 0));
        }
        self.unused.push(number);
        Ok(number)
    }

    fn known(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        self.numbers.bind(object.py()).get_item(object)?.map(|number| number.extract()).transpose()
    }

    fn object<'py>(&self, py: Python<'py>, number: u32) -> Option<Bound<'py, PyAny>> {
        self.objects.get(number as usize)?.as_ref().map(|(object, _)| object.bind(py).clone())
    }

    fn count(&mut self, number: u32) {
        if let Some(Some((_, positions))) = self.objects.get_mut(number as usize) {
            *positions += 1;
        }
    }

    fn release(&mut self, number: u32) {
        if let Some(Some((_, positions))) = self.objects.get_mut(number as usize) {
            *positions = positions.saturating_sub(1);
            if *positions == 0 {
                self.unused.push(number);
            }
        }
    }

    fn clean(&mut self, py: Python<'_>) -> PyResult<()> {
        for number in std::mem::take(&mut self.unused) {
            let Some(place) = self.objects.get_mut(number as usize) else { continue };
            if let Some((object, _)) = place.take_if(|(_, positions)| *positions == 0) {
                self.numbers.bind(py).del_item(object)?;
                self.free.push(number);
            }
        }
        Ok(())
    }
}
