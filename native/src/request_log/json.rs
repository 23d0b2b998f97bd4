//! JSON of a line as values, read by serde_json. Text that it refuses is Python's, whose `json` may read it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

pub enum Json<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    /// In the order of the text, with all members of one name.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// The value that begins a text, which may continue after it. None if Python must read it.
    pub fn first(text: &'a str) -> Option<Json<'a>> {
        Json::deserialize(&mut serde_json::Deserializer::from_str(text)).ok()
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

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_any(Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Json<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json<'de>, E> {
        value.try_into().map(Json::Int).map_err(|_| E::custom("a number of Python"))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Float(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Json<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some((Name(name), value)) = items.next_entry()? {
            members.push((name, value));
        }
        Ok(Json::Object(members))
    }
}

/// The name of a member, which `Cow` alone would copy.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(Names)
    }
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Name<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
        Ok(Name(Cow::Owned(text.to_owned())))
    }
}
