//! JSON of a line as values. None for text that Python's `json` refuses, or reads in a way of its own.

use std::borrow::Cow;

/// Maximum number of values inside values. Python reads deeper ones.
const MOST_NESTED: usize = 64;

pub enum Json<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Members<'a>),
}

pub type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

impl<'a> Json<'a> {
    /// The value that begins a text. The text may continue after it.
    pub fn first(text: &'a str) -> Option<Json<'a>> {
        Reader { text, at: 0 }.value(MOST_NESTED)
    }

    /// The member of an object; None without it.
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        let Json::Object(members) = self else { return None };
        members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub fn int(&self) -> Option<i64> {
        if let Json::Int(value) = self {
            Some(*value)
        } else {
            None
        }
    }

    pub fn text(&self) -> Option<&str> {
        if let Json::Text(value) = self {
            Some(value)
        } else {
            None
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self) -> Option<u8> {
        while matches!(self.peek()?, b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
        self.peek()
    }

    fn take(&mut self, literal: &str) -> Option<()> {
        self.text.get(self.at..)?.starts_with(literal).then(|| self.at += literal.len())
    }

    fn value(&mut self, depth: usize) -> Option<Json<'a>> {
        let depth = depth.checked_sub(1)?;
        Some(match self.peek()? {
            b'"' => Json::Text(self.string()?),
            b'{' => Json::Object(self.object(depth)?),
            b'[' => Json::List(self.list(depth)?),
            b'n' => self.take("null").map(|()| Json::Null)?,
            b't' => self.take("true").map(|()| Json::Bool(true))?,
            b'f' => self.take("false").map(|()| Json::Bool(false))?,
            _ => self.number()?,
        })
    }

    fn object(&mut self, depth: usize) -> Option<Members<'a>> {
        let mut members = Vec::new();
        self.at += 1;
        if self.skip()? == b'}' {
            self.at += 1;
            return Some(members);
        }
        loop {
            if self.skip()? != b'"' {
                return None;
            }
            let name = self.string()?;
            if self.skip()? != b':' {
                return None;
            }
            self.at += 1;
            self.skip()?;
            members.push((name, self.value(depth)?));
            let end = self.skip()?;
            self.at += 1;
            match end {
                b',' => {}
                b'}' => return Some(members),
                _ => return None,
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Vec<Json<'a>>> {
        let mut items = Vec::new();
        self.at += 1;
        if self.skip()? == b']' {
            self.at += 1;
            return Some(items);
        }
        loop {
            self.skip()?;
            items.push(self.value(depth)?);
            let end = self.skip()?;
            self.at += 1;
            match end {
                b',' => {}
                b']' => return Some(items),
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<Json<'a>> {
        let start = self.at;
        let is_part = |byte: u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        while self.peek().is_some_and(is_part) {
            self.at += 1;
        }
        let text = self.text.get(start..self.at)?;
        let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
        if !digits.first()?.is_ascii_digit() || matches!(digits, [b'0', b'0'..=b'9', ..]) {
            return None;
        }
        if digits.iter().all(u8::is_ascii_digit) {
            return text.parse().ok().map(Json::Int); // a larger one is Python's
        }
        // A point or an exponent without digits is no number in JSON.
        let is_whole = |part: &[u8]| matches!(part, [b'0'..=b'9', .., b'0'..=b'9'] | [b'0'..=b'9']);
        let mut parts = digits.split(|byte| matches!(byte, b'.' | b'e' | b'E'));
        let sign = |part: &[u8]| !matches!(part, [b'+' | b'-', rest @ ..] if is_whole(rest));
        if parts.any(|part| !is_whole(part) && sign(part)) {
            return None;
        }
        text.parse().ok().filter(|value: &f64| value.is_finite()).map(Json::Float)
    }

    fn string(&mut self) -> Option<Cow<'a, str>> {
        self.at += 1;
        let start = self.at;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(Cow::Borrowed(self.text.get(start..self.at - 1)?));
                }
                b'\\' => return self.escaped(start).map(Cow::Owned),
                ..0x20 => return None,
                _ => self.at += 1,
            }
        }
    }

    /// A string whose first escape is here.
    fn escaped(&mut self, start: usize) -> Option<String> {
        let mut out = self.text.get(start..self.at)?.to_owned();
        loop {
            let from = self.at;
            while !matches!(self.peek()?, b'"' | b'\\' | ..0x20) {
                self.at += 1;
            }
            out.push_str(self.text.get(from..self.at)?);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(out);
                }
                b'\\' => {
                    self.at += 1;
                    let escape = self.peek()?;
                    self.at += 1;
                    out.push(match escape {
                        b'"' | b'\\' | b'/' => char::from(escape),
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => self.unit()?,
                        _ => return None,
                    });
                }
                _ => return None,
            }
        }
    }

    /// The character of `\u` and of its second half. A half alone is Python's.
    fn unit(&mut self) -> Option<char> {
        let first = self.four()?;
        if !matches!(first, 0xD800..=0xDBFF) {
            return char::from_u32(first);
        }
        self.take("\\u")?;
        let second = self.four()?;
        matches!(second, 0xDC00..=0xDFFF).then_some(())?;
        char::from_u32(0x1_0000 + (first - 0xD800) * 0x400 + (second - 0xDC00))
    }

    fn four(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}
