//! Values as JSON text: what orjson writes of the values that `kdissect.decoders.jsonable` makes.

const HEX: &[u8; 16] = b"0123456789abcdef";
const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// Bytes looked at together for one that is escaped.
const CHUNK: usize = 16;

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
    while left > 0 {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

/// A string, in quotes.
pub fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let (chunks, rest) = bytes.as_chunks::<CHUNK>();
    let mut done = 0;
    for (number, chunk) in chunks.iter().enumerate() {
        if chunk.iter().fold(false, |found, &byte| found | is_special(byte)) {
            done = escaped(out, bytes, done, number * CHUNK, chunk);
        }
    }
    done = escaped(out, bytes, done, bytes.len() - rest.len(), rest);
    out.extend_from_slice(&bytes[done..]);
    out.push(b'"');
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Write `bytes` from `done` to the last special byte of `part`, which stands at `start`; gives how far.
fn escaped(out: &mut Vec<u8>, bytes: &[u8], mut done: usize, start: usize, part: &[u8]) -> usize {
    for (at, &byte) in part.iter().enumerate() {
        if is_special(byte) {
            out.extend_from_slice(&bytes[done..start + at]);
            done = start + at + 1;
            escape(out, byte);
        }
    }
    done
}

/// RFC 8259 section 7: the short form where there is one.
fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0C => b'f',
        b'\r' => b'r',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
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

/// `jsonable.uuid_text`: base64url (RFC 4648 section 5) without padding, 22 characters.
pub fn uuid(out: &mut Vec<u8>, value: &[u8; 16]) {
    out.push(b'"');
    let (triples, rest) = value.as_chunks::<3>();
    for triple in triples {
        out.extend_from_slice(&quartet(*triple, URL_SAFE));
    }
    if let [last] = *rest {
        out.extend_from_slice(&quartet([last, 0, 0], URL_SAFE)[..2]);
    }
    out.push(b'"');
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
