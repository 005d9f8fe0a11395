//! Map keys: strings, and what has one obvious spelling as a string.

use serde::ser::{Error as _, Impossible, Serialize, Serializer};

use crate::error::{Error, ErrorKind, Result};

use super::{shape::Child, tape::Tape};

/// Turns a key into its number on the tape.
pub(super) struct KeySerializer<'a> {
    pub(super) tape: &'a mut Tape,
    /// The shape of the object so far, which foretells its next key.
    pub(super) shape: Child,
}

impl KeySerializer<'_> {
    #[inline]
    fn text(self, key: &str) -> u32 {
        match self.tape.shapes.expected_key(&self.tape.keys, self.shape, key) {
            Some(number) => number,
            None => self.tape.keys.number(key),
        }
    }
}

#[cold]
fn refused<T>(what: &'static str) -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported { what }))
}

macro_rules! spelled {
    ($($method:ident: $type:ty;)*) => {$(
        fn $method(self, value: $type) -> Result<u32> {
            Ok(self.text(itoa::Buffer::new().format(value)))
        }
    )*};
}

impl Serializer for KeySerializer<'_> {
    type Ok = u32;
    type Error = Error;
    type SerializeSeq = Impossible<u32, Error>;
    type SerializeTuple = Impossible<u32, Error>;
    type SerializeTupleStruct = Impossible<u32, Error>;
    type SerializeTupleVariant = Impossible<u32, Error>;
    type SerializeMap = Impossible<u32, Error>;
    type SerializeStruct = Impossible<u32, Error>;
    type SerializeStructVariant = Impossible<u32, Error>;

    spelled! {
        serialize_u8: u8; serialize_u16: u16; serialize_u32: u32; serialize_u64: u64; serialize_u128: u128;
        serialize_i8: i8; serialize_i16: i16; serialize_i32: i32; serialize_i64: i64; serialize_i128: i128;
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<u32> {
        Ok(self.text(value))
    }

    fn serialize_bool(self, value: bool) -> Result<u32> {
        Ok(self.text(if value { "true" } else { "false" }))
    }

    fn serialize_f32(self, value: f32) -> Result<u32> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<u32> {
        if !value.is_finite() {
            return Err(Error::custom("a key that is not a finite number"));
        }
        let mut text = String::new();
        crate::number::push_f64(&mut text, value);
        Ok(self.text(&text))
    }

    fn serialize_char(self, value: char) -> Result<u32> {
        Ok(self.text(value.encode_utf8(&mut [0; 4])))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<u32> {
        refused("a key of bytes")
    }

    fn serialize_none(self) -> Result<u32> {
        refused("a key that is null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<u32> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<u32> {
        refused("a key that is null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<u32> {
        refused("a key that is null")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<u32> {
        Ok(self.text(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<u32> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<u32> {
        refused("a key that is a variant with a value")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq> {
        refused("a key that is a sequence")
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple> {
        refused("a key that is a sequence")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct> {
        refused("a key that is a sequence")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant> {
        refused("a key that is a variant with a value")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap> {
        refused("a key that is an object")
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct> {
        refused("a key that is an object")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant> {
        refused("a key that is a variant with a value")
    }
}
