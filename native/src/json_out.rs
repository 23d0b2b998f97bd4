//! Values as JSON text: what orjson writes of the values that `kdissect.decoders.as_json.jsonable` makes.

const HEX: &[u8; 16] = b"0123456789abcdef";
const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Number of bytes that are copied at once if none of them needs an escape.
const BLOCK: usize = 32;
/// A bit in each byte of a word, and the highest bit.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// An integer.
pub fn number(out: &mut Vec<u8>, value: i64) {
    let mut left = value.unsigned_abs();
    if value < 0 {
        out.push(b'-');
    }
    if left < 10 {
        out.push(b'0' + left as u8);
        return;
    }
    let mut digits = [0; 20]; // of 2^64
    let mut at = digits.len();
    while left >= 10 {
        let two = (left % 100) as u8;
        left /= 100;
        at -= 2;
        digits[at] = b'0' + two / 10;
        digits[at + 1] = b'0' + two % 10;
    }
    if left > 0 {
        at -= 1;
        digits[at] = b'0' + left as u8;
    }
    out.extend_from_slice(&digits[at..]);
}

/// A string, in quotes. Controls of the writing direction are escaped, as `kdissect.report.printable.inert_json` does.
pub fn string(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut left = text;
    if !text.is_ascii() {
        while let Some((at, control)) = left.char_indices().find(|&(_, char)| is_direction_control(char)) {
            characters(out, &left[..at]);
            escape_unit(out, u32::from(control) as u16); // all are below U+10000
            left = &left[at + control.len_utf8()..];
        }
    }
    characters(out, left);
    out.push(b'"');
}

/// A string, in quotes, with no other escapes than those that JSON requires.
pub fn plain_string(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    characters(out, text);
    out.push(b'"');
}

/// Bidi_Control of Unicode (PropList.txt): what reorders the text around it.
fn is_direction_control(char: char) -> bool {
    matches!(
        char,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// The characters of a string.
fn characters(out: &mut Vec<u8>, text: &str) {
    let mut left = text.as_bytes();
    while let Some((block, rest)) = left.split_first_chunk::<BLOCK>() {
        if block.iter().fold(false, |found, &byte| found | is_special(byte)) {
            escaped(out, block);
        } else {
            out.extend_from_slice(block);
        }
        left = rest;
    }
    escaped(out, left);
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// A word with the highest bit of the first special byte set, and of none before it.
fn specials(word: u64) -> u64 {
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let below = word.wrapping_sub(ONES * u64::from(b' ')) & !word;
    (below | zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\')))) & HIGHS
}

/// Copy bytes a word at a time, up to each one that is escaped.
fn escaped(out: &mut Vec<u8>, mut left: &[u8]) {
    while let Some((chunk, rest)) = left.split_first_chunk::<8>() {
        let found = specials(u64::from_le_bytes(*chunk));
        out.extend_from_slice(chunk);
        if found == 0 {
            left = rest;
            continue;
        }
        let at = (found.trailing_zeros() / 8) as usize; // 0 to 7
        out.truncate(out.len() - chunk.len() + at);
        escape(out, chunk[at]);
        left = &left[at + 1..];
    }
    for &byte in left {
        if is_special(byte) {
            escape(out, byte);
        } else {
            out.push(byte);
        }
    }
}

/// RFC 8259 section 7: the short form if there is one.
fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0C => b'f',
        b'\r' => b'r',
        _ => return escape_unit(out, u16::from(byte)),
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// RFC 8259 section 7: `\u` and the code unit in hex.
fn escape_unit(out: &mut Vec<u8>, unit: u16) {
    out.extend_from_slice(b"\\u");
    for shift in [12, 8, 4, 0] {
        out.push(HEX[usize::from(unit >> shift & 15)]);
    }
}

/// `jsonable.bytes_value`: an object with standard base64 (RFC 4648 section 4).
pub fn bytes(out: &mut Vec<u8>, content: &[u8]) {
    out.extend_from_slice(b"{\"base64\":\"");
    let (triples, rest) = content.as_chunks::<3>();
    for triple in triples {
        out.extend_from_slice(&quartet(*triple, STANDARD));
    }
    match *rest {
        [one] => {
            out.extend_from_slice(&quartet([one, 0, 0], STANDARD)[..2]);
            out.extend_from_slice(b"==");
        }
        [one, two] => {
            out.extend_from_slice(&quartet([one, two, 0], STANDARD)[..3]);
            out.push(b'=');
        }
        _ => {}
    }
    out.extend_from_slice(b"\"}");
}

/// `jsonable.uuid_text`, in quotes.
pub fn uuid(out: &mut Vec<u8>, value: &[u8; 16]) {
    out.push(b'"');
    uuid_text(out, value);
    out.push(b'"');
}

/// `jsonable.uuid_text`: base64url (RFC 4648 section 5) without padding, 22 characters.
pub fn uuid_text(out: &mut Vec<u8>, value: &[u8; 16]) {
    let (triples, rest) = value.as_chunks::<3>();
    for triple in triples {
        out.extend_from_slice(&quartet(*triple, URL_SAFE));
    }
    if let [last] = *rest {
        out.extend_from_slice(&quartet([last, 0, 0], URL_SAFE)[..2]);
    }
}

fn quartet([one, two, three]: [u8; 3], alphabet: &[u8; 64]) -> [u8; 4] {
    let letter = |number: u8| alphabet[usize::from(number & 63)];
    [letter(one >> 2), letter(one << 4 | two >> 4), letter(two << 2 | three >> 6), letter(three)]
}

/// `jsonable.text_value`: a string, or base64 where the bytes are not UTF-8.
pub fn text(out: &mut Vec<u8>, content: &[u8]) {
    match std::str::from_utf8(content) {
        Ok(text) => string(out, text),
        Err(_) => bytes(out, content),
    }
}
