//! Maps by keys that need no protection against chosen ones: addresses in memory, numbers of APIs
//! and files, and other keys of which a table has few.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Odd, from the golden ratio: spreads numbers that differ in few bits.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

#[derive(Default)]
pub struct Quick(u64);

impl Quick {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(SPREAD);
    }
}

impl Hasher for Quick {
    /// Low bits count, and a product's low bits depend only on low bits, which addresses in memory
    /// have in common.
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.mix(word.try_into().map_or(0, u64::from_le_bytes));
        }
        let rest = words.remainder();
        self.mix(rest.iter().fold(rest.len() as u64, |word, byte| word << 8 | u64::from(*byte)));
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    fn write_i16(&mut self, number: i16) {
        self.mix(u64::from(number as u16));
    }

    fn write_i64(&mut self, number: i64) {
        self.mix(number as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }
}
