//! `kdissect.sketches.distribution.Distribution`: the bins of its sketch, and what is exact.

/// The bin of a value above 0: that of `LogarithmicMapping.key` with its multiplier; None for 0.
pub fn bin_of(value: i64, multiplier: f64) -> Option<i32> {
    (value > 0).then(|| ((value as f64).ln() / 2f64.ln() * multiplier).ceil() as i32)
}

/// Whole numbers from 0 on.
#[derive(Default)]
pub struct Distribution {
    count: u64,
    zeros: u64,
    sum: i128,
    low: i64,
    high: i64,
    first: i32,
    bins: Vec<u64>,
}

/// Values that are 0, bins that are not empty with their counts, sum, lowest and highest.
pub type DistributionRow = (u64, Vec<(i32, u64)>, i128, i64, i64);

impl Distribution {
    /// Count a value and its bin.
    pub fn add(&mut self, value: i64, bin: Option<i32>) {
        self.add_times(value, bin, 1);
    }

    /// Count a value this often.
    pub fn add_times(&mut self, value: i64, bin: Option<i32>, times: u64) {
        if times == 0 {
            return;
        }
        self.low = if self.count == 0 { value } else { self.low.min(value) };
        self.high = self.high.max(value);
        self.count += times;
        self.sum += i128::from(value) * i128::from(times);
        match bin {
            None => self.zeros += times,
            Some(bin) => self.add_to(bin, times),
        }
    }

    fn add_to(&mut self, bin: i32, more: u64) {
        if self.bins.is_empty() {
            self.first = bin;
        }
        if bin < self.first {
            let before = self.first.abs_diff(bin) as usize;
            self.bins.splice(0..0, std::iter::repeat_n(0, before));
            self.first = bin;
        }
        let at = self.first.abs_diff(bin) as usize;
        if at >= self.bins.len() {
            self.bins.resize(at + 1, 0);
        }
        if let Some(count) = self.bins.get_mut(at) {
            *count += more;
        }
    }

    /// Number of bins.
    pub fn width(&self) -> usize {
        self.bins.len()
    }

    /// Count what another one counted.
    pub fn merge(&mut self, other: Distribution) {
        if other.count == 0 {
            return;
        }
        self.low = if self.count == 0 { other.low } else { self.low.min(other.low) };
        self.high = self.high.max(other.high);
        self.count += other.count;
        self.sum += other.sum;
        self.zeros += other.zeros;
        for (bin, count) in (other.first..).zip(other.bins).filter(|(_, count)| *count > 0) {
            self.add_to(bin, count);
        }
    }

    /// The counts, which start again; None without values.
    pub fn take(&mut self) -> Option<DistributionRow> {
        std::mem::take(self).row()
    }

    /// The counts; None without values.
    pub fn row(&self) -> Option<DistributionRow> {
        let held = (self.first..).zip(self.bins.iter().copied()).filter(|(_, count)| *count > 0).collect();
        (self.count > 0).then_some((self.zeros, held, self.sum, self.low, self.high))
    }
}
