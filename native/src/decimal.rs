//! Integers as decimal digits.

/// Digits of an int64 with a sign.
const MOST: usize = 20;
const PAIRS: &[u8; 200] = b"00010203040506070809101112131415161718192021222324252627282930313233343536373839\
404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293\
949596979899";

/// Put a number behind what is in `out`.
pub fn put(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    let mut digits = [0; MOST];
    let start = fill(&mut digits, number.unsigned_abs());
    out.extend_from_slice(&digits[start..]);
}

/// Put a number below 10^9 there, in nine digits.
pub fn put_nanos(out: &mut Vec<u8>, nanos: u64) {
    let mut digits = [b'0'; MOST];
    fill(&mut digits, nanos);
    out.extend_from_slice(&digits[MOST - 9..]);
}

/// Write a number to the end of `digits`; gives where it begins.
fn fill(digits: &mut [u8; MOST], mut rest: u64) -> usize {
    let mut at = MOST;
    while rest >= 100 && at >= 2 {
        let pair = (rest % 100) as usize * 2;
        rest /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if rest >= 10 && at >= 2 {
        let pair = rest as usize * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else if at >= 1 {
        at -= 1;
        digits[at] = b'0' + rest as u8;
    }
    at
}
