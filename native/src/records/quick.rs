//! Maps by small numbers, which need no protection against chosen keys: those are places in memory and numbers of
//! APIs and files.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Odd, from the golden ratio: spreads numbers that differ in few bits.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

#[derive(Default)]
pub struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(SPREAD);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_i16(&mut self, number: i16) {
        self.write_u64(u64::from(number as u16));
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}
