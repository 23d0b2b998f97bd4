//! What rows share, asked of Python once a row group: connections, directions, files, topics.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::HashMap;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::frame::first_ref_and_time;
use super::quick::QuickMap;
use super::table::Table;

/// `model.packet`: a packet reference is the number of its file, and that of the packet in it.
const FILE_SHIFT: u32 = 40;
const NUMBER_MASK: i64 = (1 << FILE_SHIFT) - 1;

/// What all records of a frame share.
pub struct Facts {
    /// Where the object of its connection is.
    connection: usize,
    codes: [u32; 5],
    /// A text or None. It has a number only once there are rows: dictionaries hold nothing else.
    client_id: Py<PyAny>,
    ordinal: i64,
    packet: i64,
    time_ns: i64,
}

type Names = HashMap<(usize, [u8; 16]), Option<Vec<u8>>>;

/// Numbers are those of texts in the columns of this row group.
#[derive(Default)]
pub struct Known {
    /// By the place of the object, which is kept alive.
    connections: QuickMap<usize, (Py<PyAny>, [u32; 3])>,
    directions: QuickMap<i16, u32>,
    files: QuickMap<i64, u32>,
    names: Names,
    ids: HashMap<[u8; 16], Vec<u8>>,
    own: HashMap<Vec<u8>, bool>,
    /// The topic that was asked for last, and is none of Kafka's own.
    users: Vec<u8>,
}

impl Known {
    /// Those of an exchange whose records stand in a frame; `help` knows the rest.
    pub fn facts(
        &mut self,
        table: &mut Table,
        help: &Bound<'_, PyAny>,
        exchange: &Bound<'_, PyAny>,
        frame: &Bound<'_, PyAny>,
    ) -> PyResult<Facts> {
        let py = help.py();
        let connection = exchange.getattr(intern!(py, "connection"))?;
        let [id, client, broker] = self.connection(table, &connection)?;
        let client_id = exchange.getattr(intern!(py, "client_id"))?;
        let (first, time_ns) = first_ref_and_time(frame)?;
        let api_key: i16 = exchange.getattr(intern!(py, "api_key"))?.extract()?;
        let direction = match self.directions.get(&api_key) {
            Some(&code) => code,
            None => {
                let text = help.call_method1("direction", (api_key,))?;
                *self.directions.entry(api_key).or_insert(table.direction.code(&utf8(&text)?))
            }
        };
        Ok(Facts {
            connection: connection.as_ptr() as usize,
            codes: [id, client, broker, direction, self.file(table, help, first >> FILE_SHIFT)?],
            client_id: client_id.unbind(),
            ordinal: exchange.getattr(intern!(py, "ordinal"))?.extract()?,
            packet: first & NUMBER_MASK,
            time_ns,
        })
    }

    fn connection(&mut self, table: &mut Table, connection: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
        let place = connection.as_ptr() as usize;
        if let Some((_, codes)) = self.connections.get(&place) {
            return Ok(*codes);
        }
        let py = connection.py();
        let codes = [
            table.connection.code(&utf8(&connection.getattr(intern!(py, "id"))?)?),
            table.client.code(&utf8(&connection.getattr(intern!(py, "client_text"))?)?),
            table.broker.code(&utf8(&connection.getattr(intern!(py, "broker_text"))?)?),
        ];
        self.connections.insert(place, (connection.clone().unbind(), codes));
        Ok(codes)
    }

    fn file(&mut self, table: &mut Table, help: &Bound<'_, PyAny>, number: i64) -> PyResult<u32> {
        if let Some(&code) = self.files.get(&number) {
            return Ok(code);
        }
        let text = help.call_method1("file", (number,))?;
        Ok(*self.files.entry(number).or_insert(table.file.code(&utf8(&text)?)))
    }

    /// The name of a topic id in a frame of an exchange, None where nobody knows it.
    pub fn name(
        &mut self,
        help: &Bound<'_, PyAny>,
        facts: &Facts,
        (exchange, frame): (&Py<PyAny>, &Py<PyAny>),
        id: [u8; 16],
    ) -> PyResult<Option<Vec<u8>>> {
        let key = (facts.connection, id);
        if let Some(name) = self.names.get(&key) {
            return Ok(name.clone());
        }
        let found = help.call_method1("name", (exchange, frame, PyBytes::new(help.py(), &id)))?;
        let name = if found.is_none() { None } else { Some(utf8(&found)?.into_owned()) };
        self.names.insert(key, name.clone());
        Ok(name)
    }

    /// Whether a topic is one of Kafka's own, whose records are told otherwise.
    pub fn is_own(&mut self, help: &Bound<'_, PyAny>, topic: &[u8]) -> PyResult<bool> {
        if self.users == topic && !topic.is_empty() {
            return Ok(false);
        }
        let is_own = match self.own.get(topic) {
            Some(&is_own) => is_own,
            None => {
                let is_own = help.call_method1("is_own", (String::from_utf8_lossy(topic),))?.extract()?;
                *self.own.entry(topic.to_vec()).or_insert(is_own)
            }
        };
        if !is_own {
            self.users.clear();
            self.users.extend_from_slice(topic);
        }
        Ok(is_own)
    }

    /// The columns of `count` rows that their exchange, frame and field decide.
    pub fn rows(
        &mut self,
        table: &mut Table,
        help: &Bound<'_, PyAny>,
        facts: &Facts,
        place: (Option<&[u8]>, Option<[u8; 16]>, Option<i32>),
        count: u32,
    ) -> PyResult<()> {
        let [connection, client, broker, direction, file] = facts.codes;
        table.connection.coded(Some(connection), count);
        table.client.coded(Some(client), count);
        table.broker.coded(Some(broker), count);
        table.direction.coded(Some(direction), count);
        table.file.coded(Some(file), count);
        table.exchange.push(Some(facts.ordinal), count);
        table.packet.push(Some(facts.packet), count);
        table.time_ns.push(Some(facts.time_ns), count);
        let (topic, id, partition) = place;
        let client_id = facts.client_id.bind(help.py());
        match client_id.is_none() {
            true => table.client_id.push(None, count),
            false => table.client_id.push(Some(&utf8(client_id)?), count),
        }
        table.topic.push(topic, count);
        table.partition.push(partition.map(i64::from), count);
        let Some(id) = id else {
            table.topic_id.push(None, count);
            return Ok(());
        };
        let text = match self.ids.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let text = help.call_method1("topic_id_text", (PyBytes::new(help.py(), &id),))?;
                place.insert(utf8(&text)?.into_owned())
            }
        };
        table.topic_id.push(Some(text), count);
        Ok(())
    }
}

/// A text as UTF-8, with `?` for what is none.
pub fn utf8<'a>(text: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    let text = text.downcast::<PyString>()?;
    if let Ok(found) = text.to_str() {
        return Ok(Cow::Borrowed(found.as_bytes()));
    }
    let encoded = text.call_method1("encode", ("utf-8", "replace"))?;
    Ok(Cow::Owned(encoded.downcast::<PyBytes>()?.as_bytes().to_vec()))
}
