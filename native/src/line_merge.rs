//! `kdissect.cli.jobs.line_merge`: lines of several processes in the order of their keys.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Bytes of a key (`kdissect.engine.shards`), and of a row: a key and the length of the line.
const KEY: usize = 17;
const ROW: usize = KEY + 4;
/// Byte between the index of the packet and the number of the event: the event does not come from
/// silence.
const AT_PACKET: u8 = 1;

/// The key of a line that a packet of a batch completed, and its length.
pub struct Row([u8; ROW]);

impl Row {
    pub fn new(batch: u64, packet: u32, number: u32, size: usize) -> Row {
        let mut row = [0; ROW];
        row[..8].copy_from_slice(&batch.to_be_bytes());
        row[8..12].copy_from_slice(&packet.to_be_bytes());
        row[12] = AT_PACKET;
        row[13..KEY].copy_from_slice(&number.to_be_bytes());
        row[KEY..].copy_from_slice(&(size as u32).to_be_bytes());
        Row(row)
    }

    pub fn bytes(&self) -> [u8; ROW] {
        self.0
    }
}

/// Output of one process that was not printed yet: the rows and lines of a message, and the
/// position of the next ones.
struct Sent {
    rows: Vec<u8>,
    lines: Vec<u8>,
    row: usize,
    line: usize,
}

impl Sent {
    /// Key of the next line; None after the last one.
    fn key(&self) -> Option<&[u8]> {
        self.rows.get(self.row..self.row + ROW)?.get(..KEY)
    }

    fn next_line(&mut self) -> Option<&[u8]> {
        let size: [u8; 4] = self.rows.get(self.row + KEY..self.row + ROW)?.try_into().ok()?;
        let begin = self.line;
        self.line += u32::from_be_bytes(size) as usize;
        self.row += ROW;
        self.lines.get(begin..self.line)
    }
}

/// Lines of some processes, of which each sends its own in order.
#[pyclass(module = "kdissect._native")]
pub struct LineMerge {
    held: Vec<std::collections::VecDeque<Sent>>,
    /// Of the exchange before.
    #[pyo3(get, set)]
    number: u64,
}

#[pymethods]
impl LineMerge {
    #[new]
    fn new(processes: usize) -> LineMerge {
        let held = std::iter::repeat_with(Default::default).take(processes).collect();
        LineMerge { held, number: 0 }
    }

    /// Take what a process sent: keys and lengths, and the lines.
    fn add(&mut self, process: usize, rows: &[u8], lines: &[u8]) {
        if let Some(held) = self.held.get_mut(process).filter(|_| !rows.is_empty()) {
            held.push_back(Sent { rows: rows.to_vec(), lines: lines.to_vec(), row: 0, line: 0 });
        }
    }

    /// The lines with keys before `until`, numbered, at most `most`, and their number.
    fn take<'py>(&mut self, py: Python<'py>, until: &[u8], most: usize) -> (Bound<'py, PyBytes>, usize) {
        let mut out = Vec::new();
        let mut count = 0;
        while count < most {
            let heads = self.held.iter().enumerate();
            let heads = heads.filter_map(|(process, held)| Some((held.front()?.key()?, process)));
            let Some((key, process)) = heads.min() else { break };
            if key >= until {
                break;
            }
            let Some(held) = self.held.get_mut(process) else { break };
            if let Some(line) = held.front_mut().and_then(Sent::next_line) {
                self.number += 1;
                out.extend_from_slice(b"{\"number\":");
                out.extend_from_slice(self.number.to_string().as_bytes());
                out.push(b',');
                out.extend_from_slice(line);
                count += 1;
            }
            if held.front().is_some_and(|sent| sent.key().is_none()) {
                held.pop_front();
            }
        }
        (PyBytes::new(py, &out), count)
    }
}
