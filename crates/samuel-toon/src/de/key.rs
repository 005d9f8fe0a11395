//! Keys as serde sees them: text, or a number or bool when the map asks for one.

use std::borrow::Cow;

use serde::{
    Deserializer,
    de::{DeserializeSeed, EnumAccess, IntoDeserializer, Visitor, value::StrDeserializer},
    forward_to_deserialize_any,
};

use crate::error::{Error, Result};

use super::token::{Form, Token};

/// Reads an object key or an entry key.
pub(crate) struct KeyReader<'de>(pub(crate) Token<'de>);

/// Reads a field name of a header.
pub(crate) struct NameReader<'a, 'de>(pub(crate) &'a Cow<'de, str>);

impl<'de> KeyReader<'de> {
    /// A key that spells a primitive may be one, quoted or not, as in JSON.
    fn bare(&self) -> Token<'de> {
        Token { form: Form::Bare, ..self.0 }
    }
}

macro_rules! primitive_keys {
    ($($method:ident => $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.bare().$visit(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for KeyReader<'de> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.0.visit_text(visitor)
    }

    primitive_keys! {
        deserialize_bool => visit_bool;
        deserialize_u8 => visit_unsigned;
        deserialize_u16 => visit_unsigned;
        deserialize_u32 => visit_unsigned;
        deserialize_u64 => visit_unsigned;
        deserialize_u128 => visit_integer;
        deserialize_i8 => visit_signed;
        deserialize_i16 => visit_signed;
        deserialize_i32 => visit_signed;
        deserialize_i64 => visit_signed;
        deserialize_i128 => visit_integer;
        deserialize_f32 => visit_float;
        deserialize_f64 => visit_float;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

impl<'de> EnumAccess<'de> for KeyReader<'de> {
    type Error = Error;
    type Variant = super::enums::Unit;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant)> {
        Ok((seed.deserialize(self)?, super::enums::Unit))
    }
}

impl<'de> Deserializer<'de> for NameReader<'_, 'de> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0 {
            Cow::Borrowed(name) => visitor.visit_borrowed_str(name),
            Cow::Owned(name) => visitor.visit_str(name),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let reader: StrDeserializer<'_, Error> = (**self.0).into_deserializer();
        reader.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
