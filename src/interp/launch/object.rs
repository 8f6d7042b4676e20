//! Objects of a launch file, and errors about them in the words of JSON.
//!
//! In: JSON. Out: objects in which no key is repeated. (A derived `Deserialize` also takes an array for an object, and a map
//! of the standard library keeps the last of two values with one key.)

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A value that must be written as an object, `{...}`.
#[derive(Debug, Default)]
pub(super) struct Object<T>(pub T);

/// An object with any keys.
#[derive(Debug)]
pub(super) struct Entries<T>(pub BTreeMap<String, T>);

/// A name, or an object instead of it.
#[derive(Debug)]
pub(super) enum OneOf<T> {
    Name(String),
    Object(T),
}

impl<T> Default for Entries<T> {
    fn default() -> Entries<T> {
        Entries(BTreeMap::new())
    }
}

/// Reads an [`Object`], or [`Entries`], or [`OneOf`] both.
struct Reader<R>(PhantomData<R>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        deserializer.deserialize_any(Reader::<Object<T>>(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<Object<T>> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object `{...}`")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Object)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries<T>, D::Error> {
        deserializer.deserialize_any(Reader::<Entries<T>>(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<Entries<T>> {
    type Value = Entries<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object `{\"name\": ...}`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<T>, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if entries.contains_key(&name) {
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
            let value = map.next_value()?;
            entries.insert(name, value);
        }
        Ok(Entries(entries))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneOf<T>, D::Error> {
        deserializer.deserialize_any(Reader::<OneOf<T>>(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<OneOf<T>> {
    type Value = OneOf<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a buffer's name or an object `{\"buffer\": ...}`")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<OneOf<T>, E> {
        Ok(OneOf::Name(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OneOf<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(OneOf::Object)
    }
}

/// An error's text with the words of JSON in the place of those of Rust.
pub(super) fn in_words(error: &str) -> String {
    const WORDS: [(&str, &str); 12] = [
        ("invalid type: sequence", "invalid type: array"),
        ("invalid type: map", "invalid type: object"),
        ("expected a sequence", "expected an array `[...]`"),
        ("expected a map", "expected an object `{...}`"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number that is not negative"),
        ("expected usize", "expected a whole number that is not negative"),
        ("expected i64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a boolean", "expected `true` or `false`"),
        ("unknown variant", "unknown word"),
        ("duplicate field", "a second value (keep one) for"),
    ];
    let text = |text: String, (rust, json): (&str, &str)| text.replacen(rust, json, 1);
    WORDS.into_iter().fold(error.to_owned(), text)
}
