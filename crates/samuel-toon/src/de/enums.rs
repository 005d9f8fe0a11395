//! Enums in serde's external tagging: `Name`, or an object with the one key `Name`.

use serde::{
    Deserializer,
    de::{
        DeserializeSeed, EnumAccess, Error as _, IgnoredAny, MapAccess, Unexpected, VariantAccess, Visitor,
    },
};

use crate::error::{Error, Result};

use super::{key::KeyReader, token::Token};

/// A variant without data, written as a string.
pub(crate) struct UnitEnum<'de>(pub(crate) Token<'de>);

impl<'de> EnumAccess<'de> for UnitEnum<'de> {
    type Error = Error;
    type Variant = Unit;

    #[inline]
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Unit)> {
        let start = self.0.start;
        Ok((seed.deserialize(KeyReader(self.0)).map_err(|error| error.or_at(start))?, Unit))
    }
}

pub(crate) struct Unit;

impl<'de> VariantAccess<'de> for Unit {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value> {
        Err(Error::invalid_type(Unexpected::UnitVariant, &"a variant with a value"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        Err(Error::invalid_type(Unexpected::UnitVariant, &visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value> {
        Err(Error::invalid_type(Unexpected::UnitVariant, &visitor))
    }
}

/// A variant with data, written as an object with one key.
pub(crate) struct MapEnum<A>(pub(crate) A);

impl<'de, A: MapAccess<'de, Error = Error>> EnumAccess<'de> for MapEnum<A> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self)> {
        match self.0.next_key_seed(seed)? {
            Some(variant) => Ok((variant, self)),
            None => Err(Error::custom("an empty object where a variant was expected")),
        }
    }
}

impl<'de, A: MapAccess<'de, Error = Error>> MapEnum<A> {
    fn value<T: DeserializeSeed<'de>>(mut self, seed: T) -> Result<T::Value> {
        let value = self.0.next_value_seed(seed)?;
        if self.0.next_key::<IgnoredAny>()?.is_some() {
            return Err(Error::custom("more than one key where a variant was expected"));
        }
        Ok(value)
    }
}

impl<'de, A: MapAccess<'de, Error = Error>> VariantAccess<'de> for MapEnum<A> {
    type Error = Error;

    fn unit_variant(self) -> Result<()> {
        self.value(std::marker::PhantomData::<()>)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        self.value(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value> {
        self.value(Tuple { length, visitor })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.value(Struct { fields, visitor })
    }
}

struct Tuple<V> {
    length: usize,
    visitor: V,
}

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Tuple<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<V::Value, D::Error> {
        deserializer.deserialize_tuple(self.length, self.visitor)
    }
}

struct Struct<V> {
    fields: &'static [&'static str],
    visitor: V,
}

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Struct<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<V::Value, D::Error> {
        deserializer.deserialize_struct("", self.fields, self.visitor)
    }
}
