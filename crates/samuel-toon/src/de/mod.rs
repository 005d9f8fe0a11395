//! The decoder: one forward pass from text to any serde type.
//!
//! [`Deserializer`] is the public face; [`cursor`] finds lines, [`header`] and
//! [`token`] read their parts, [`reader`] decides what a value is, and
//! [`object`], [`array`], [`table`] and [`row`] walk the scopes. [`repair`] holds what
//! the modes other than strict need beyond that, [`lenient`] what spares recovery
//! most of its repetitions.

mod array;
pub(super) mod cursor;
pub(super) mod enums;
pub(super) mod header;
mod key;
mod lenient;
mod object;
pub(super) mod reader;
pub(super) mod repair;
mod row;
mod table;
pub(super) mod token;

use std::{io, marker::PhantomData};

use serde::de::{Deserialize, DeserializeOwned, DeserializeSeed, IgnoredAny, Visitor};

use super::{
    error::{Error, ErrorKind, Result},
    options::DecodeOptions,
};

use cursor::Cursor;
pub use lenient::Lenient;
use repair::Repair;

/// Decodes a document in strict mode.
///
/// ```
/// # #[derive(serde::Deserialize)] struct Release { id: String, downloads: u64 }
/// # #[derive(serde::Deserialize)] struct Project { name: String, releases: Vec<Release> }
/// let text = "name: samuel\nreleases[2]{id,downloads}:\n  1.9,120\n  1.10,340";
/// let project: Project = samuel_toon::from_str(text)?;
/// assert_eq!(project.releases[1].id, "1.10");
/// # assert_eq!((project.name.as_str(), project.releases[1].downloads), ("samuel", 340));
/// # Ok::<(), samuel_toon::Error>(())
/// ```
///
/// # Errors
/// Fails when the text is not TOON or does not fit `T`; the error names line,
/// column and path.
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T> {
    from_str_with(text, DecodeOptions::default())
}

/// Decodes a document with options.
///
/// # Errors
/// As [`from_str`], by the rules the options choose.
pub fn from_str_with<'de, T: Deserialize<'de>>(text: &'de str, options: DecodeOptions) -> Result<T> {
    if !options.strict {
        // What strict mode accepts means the same without it, at full speed.
        let strict = DecodeOptions { strict: true, ..options };
        if let Ok(value) = decode(text, strict, true) {
            return Ok(value);
        }
    }
    decode(text, options, true)
}

/// Decodes UTF-8 bytes in strict mode.
///
/// # Errors
/// As [`from_str`]; bytes that are not UTF-8 are [`ErrorKind::InvalidUtf8`].
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T> {
    from_slice_with(bytes, DecodeOptions::default())
}

/// Decodes UTF-8 bytes with options.
///
/// # Errors
/// As [`from_slice`].
pub fn from_slice_with<'de, T: Deserialize<'de>>(bytes: &'de [u8], options: DecodeOptions) -> Result<T> {
    from_str_with(utf8(bytes)?, options)
}

pub(super) fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|error| Error::at(ErrorKind::InvalidUtf8, error.valid_up_to()).locate(bytes))
}

/// Reads a document to its end and decodes it in strict mode.
///
/// The whole text is held in memory; [`Rows`](super::Rows) and
/// [`EventReader`](super::EventReader) hold one line.
///
/// # Errors
/// As [`from_slice`]; failures of the reader are [`ErrorKind::Io`].
pub fn from_reader<T: DeserializeOwned>(reader: impl io::Read) -> Result<T> {
    from_reader_with(reader, DecodeOptions::default())
}

/// Reads a document with options, at most [`Limits::bytes`](super::Limits::bytes) of it.
///
/// # Errors
/// As [`from_reader`].
pub fn from_reader_with<T: DeserializeOwned>(reader: impl io::Read, options: DecodeOptions) -> Result<T> {
    let most = options.limits.bytes as u64;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(reader, most.saturating_add(1)), &mut bytes)
        .map_err(Error::io)?;
    if bytes.len() as u64 > most {
        return Err(cursor::limit(super::LimitKind::Bytes, options.limits.bytes, options.limits.bytes));
    }
    from_slice_with(&bytes, options)
}

fn decode<'de, T: Deserialize<'de>>(text: &'de str, options: DecodeOptions, by_position: bool) -> Result<T> {
    let mut deserializer = Deserializer::from_str_with(text, options)?;
    deserializer.survey()?;
    deserializer.cursor.by_position = by_position;
    match deserializer.cursor.document(PhantomData) {
        Ok(value) => Ok(value),
        // Some types know their fields only by name; and these errors tell more.
        Err(_) if deserializer.cursor.went_by_position => decode(text, options, false),
        Err(error) => Err(error.locate(text.as_bytes())),
    }
}

/// Gives the value of one document to serde.
pub struct Deserializer<'de> {
    cursor: Cursor<'de>,
}

impl<'de> Deserializer<'de> {
    /// Prepares to decode `text` in strict mode.
    ///
    /// # Errors
    /// Never with default limits.
    #[expect(clippy::should_implement_trait, reason = "the trait's result cannot borrow from the text")]
    pub fn from_str(text: &'de str) -> Result<Self> {
        Self::from_str_with(text, DecodeOptions::default())
    }

    /// Prepares to decode `text` with options.
    ///
    /// # Errors
    /// Fails when the text exceeds [`Limits::bytes`](super::Limits::bytes).
    pub fn from_str_with(text: &'de str, options: DecodeOptions) -> Result<Self> {
        let mut cursor = Cursor::new(text, options)?;
        if !options.strict {
            cursor.repair = Some(Box::new(Repair::new()));
        }
        Ok(Self { cursor })
    }

    /// Looks for repeated keys, outside strict mode.
    fn survey(&mut self) -> Result<()> {
        if !self.cursor.surveying() {
            return Ok(());
        }
        let outcome = self.cursor.document(PhantomData::<IgnoredAny>);
        outcome.map_err(|error| error.locate(self.cursor.text.as_bytes()))?;
        self.cursor.rewind();
        match &mut self.cursor.repair {
            Some(repair) if repair.finds_repeats() => repair.decode(),
            _ => self.cursor.repair = None,
        }
        Ok(())
    }
}

impl<'de> Deserializer<'de> {
    fn read<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        self.survey()?;
        let outcome = self.cursor.document(seed);
        outcome.map_err(|error| error.locate(self.cursor.text.as_bytes()))
    }
}

/// Every method reads the root the way a nested value would be read.
macro_rules! from_root {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value> {
            struct Root<V> { $($name: $type,)* visitor: V }

            impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Root<V> {
                type Value = V::Value;

                fn deserialize<D: serde::Deserializer<'de>>(self, root: D) -> std::result::Result<V::Value, D::Error> {
                    root.$method($(self.$name,)* self.visitor)
                }
            }

            self.read(Root { $($name,)* visitor })
        }
    )*};
}

impl<'de> serde::Deserializer<'de> for &mut Deserializer<'de> {
    type Error = Error;

    from_root! {
        deserialize_any();
        deserialize_bool();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_seq();
        deserialize_map();
        deserialize_identifier();
        deserialize_ignored_any();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_tuple(length: usize);
        deserialize_tuple_struct(name: &'static str, length: usize);
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
    }
}
