//! `kdissect.capture.formats.request_log.time_in`: the time before a request.

/// Bytes of a date and a time of day.
const SHAPE: &[u8; 19] = b"0000-00-00 00:00:00";
const SECOND_NS: i128 = 1_000_000_000;
const DAY_S: i64 = 86_400;
const MOST_DIGITS: usize = 9;

/// The last time in a prefix, in nanoseconds since 1970 UTC. None without one, and for one that Python reads in its own
/// way.
pub fn time_in(prefix: &[u8]) -> Option<i128> {
    let (mut at, mut found) = (0, None);
    while at + SHAPE.len() <= prefix.len() {
        let rest = prefix.get(at..)?;
        if is_time(rest) {
            let (length, parts) = parts_of(rest)?;
            (at, found) = (at + length, Some(parts));
        } else {
            at += 1;
        }
    }
    let (fields, fraction_ns, zone_s) = found?;
    Some(i128::from(seconds(fields)? - zone_s) * SECOND_NS + i128::from(fraction_ns))
}

type Parts = ([i64; 6], i64, i64);

fn is_time(text: &[u8]) -> bool {
    text.iter().zip(SHAPE).all(|(byte, shape)| match shape {
        b'0' => byte.is_ascii_digit(),
        b' ' => matches!(byte, b' ' | b'T'),
        _ => byte == shape,
    })
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn number(text: &[u8]) -> i64 {
    text.iter().fold(0, |sum, byte| sum * 10 + i64::from(byte & 0x0F))
}

/// The length of a time and its parts: from year to second, nanoseconds, and by how many seconds its zone is ahead.
fn parts_of(text: &[u8]) -> Option<(usize, Parts)> {
    let fields = [0..4, 5..7, 8..10, 11..13, 14..16, 17..19];
    let fields = fields.map(|place| number(text.get(place).unwrap_or_default()));
    let (mut length, mut fraction_ns, mut zone_s) = (SHAPE.len(), 0, 0);
    if let [b',' | b'.', fraction @ ..] = text.get(length..)? {
        let count = digits(fraction);
        if count > MOST_DIGITS {
            return None;
        }
        if count > 0 {
            fraction_ns = number(fraction.get(..count)?) * 10_i64.pow((MOST_DIGITS - count) as u32);
            length += 1 + count;
        }
    }
    match text.get(length..)? {
        [b'Z', ..] => length += 1,
        [sign @ (b'+' | b'-'), zone @ ..] if digits(zone) >= 2 => {
            let has_colon = zone.get(2) == Some(&b':');
            let minutes = zone.get(2 + usize::from(has_colon)..)?;
            if digits(minutes) >= 2 {
                let ahead_s = number(zone.get(..2)?) * 3600 + number(minutes.get(..2)?) * 60;
                zone_s = if *sign == b'+' { ahead_s } else { -ahead_s };
                length += 5 + usize::from(has_colon);
            }
        }
        _ => {}
    }
    let ends = !text.get(length).is_some_and(u8::is_ascii_digit);
    ends.then_some((length, (fields, fraction_ns, zone_s)))
}

/// Seconds since 1970, as the calendar of Python counts them.
fn seconds([year, month, day, hour, minute, second]: [i64; 6]) -> Option<i64> {
    let is_date = year > 0 && (1..=12).contains(&month) && (1..=31).contains(&day);
    (is_date && hour < 24 && minute < 60 && second <= 60).then_some(())?;
    // Days from 1 March of year 0, in the calendar of Gregory.
    let (of_year, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = of_year * 365 + of_year / 4 - of_year / 100 + of_year / 400 + (months * 153 + 2) / 5 + day - 1;
    Some((days - 719_468) * DAY_S + hour * 3600 + minute * 60 + second)
}
