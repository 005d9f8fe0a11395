//! The encoder: two passes from any serde type to text.
//!
//! Pass one is [`Serializer`]: it writes every token once into an arena and
//! notes structure on a [`tape`], while [`shape`] finds out which objects look
//! alike. Pass two, [`layout`], knows then which form every container takes
//! and writes the document, a row at a time.

mod key;
mod layout;
mod prefix;
mod row;
mod shape;
mod tape;

use std::io;

use serde::ser::{
    self, Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant,
};

use super::{
    error::{Error, Result},
    number,
    options::EncodeOptions,
    value::NUMBER_KEY,
};

use layout::Layout;
pub(super) use row::RowSerializer;
pub use shape::Child as Written;
use shape::Uniform;
use tape::{Form, Kind, Tape};

/// Encodes a value with two spaces and commas.
///
/// ```
/// # #[derive(serde::Serialize)] struct Task { id: u32, title: &'static str }
/// # #[derive(serde::Serialize)] struct Plan { tasks: Vec<Task> }
/// let plan = Plan { tasks: vec![Task { id: 1, title: "parse" }, Task { id: 2, title: "a, b" }] };
/// let text = samuel_toon::to_string(&plan)?;
/// assert_eq!(text, "tasks[2]{id,title}:\n  1,parse\n  2,\"a, b\"");
/// # Ok::<(), samuel_toon::Error>(())
/// ```
///
/// # Errors
/// Fails when `value`'s implementation does, or has a map key that is no
/// string, number or bool.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    to_string_with(value, EncodeOptions::default())
}

/// Encodes a value with options.
///
/// # Errors
/// As [`to_string`].
pub fn to_string_with<T: Serialize + ?Sized>(value: &T, options: EncodeOptions) -> Result<String> {
    let mut serializer = Serializer::new(options);
    value.serialize(&mut serializer)?;
    Ok(serializer.finish())
}

/// Encodes a value to UTF-8 bytes.
///
/// # Errors
/// As [`to_string`].
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>> {
    to_string(value).map(String::into_bytes)
}

/// Encodes a value to UTF-8 bytes with options.
///
/// # Errors
/// As [`to_string`].
pub fn to_vec_with<T: Serialize + ?Sized>(value: &T, options: EncodeOptions) -> Result<Vec<u8>> {
    to_string_with(value, options).map(String::into_bytes)
}

/// Encodes a value into a writer, which gets the text in large pieces.
///
/// # Errors
/// As [`to_string`]; failures of the writer are [`ErrorKind::Io`](super::ErrorKind::Io).
pub fn to_writer<T: Serialize + ?Sized>(writer: impl io::Write, value: &T) -> Result<()> {
    to_writer_with(writer, value, EncodeOptions::default())
}

/// Encodes a value into a writer with options.
///
/// # Errors
/// As [`to_writer`].
pub fn to_writer_with<T: Serialize + ?Sized>(
    mut writer: impl io::Write,
    value: &T,
    options: EncodeOptions,
) -> Result<()> {
    let mut serializer = Serializer::new(options);
    value.serialize(&mut serializer)?;
    Layout::new(&serializer.tape, Some(&mut writer)).document().map(drop).map_err(Error::io)
}

/// Takes one value from serde and writes it as a document.
///
/// ```
/// use serde::Serialize;
/// use samuel_toon::{EncodeOptions, Serializer};
///
/// let mut serializer = Serializer::new(EncodeOptions::default());
/// [1, 2, 3].serialize(&mut serializer)?;
/// assert_eq!(serializer.finish(), "[3]: 1,2,3");
/// # Ok::<(), samuel_toon::Error>(())
/// ```
pub struct Serializer {
    tape: Tape,
}

impl Serializer {
    /// Makes a serializer for one document.
    pub fn new(options: EncodeOptions) -> Self {
        Self { tape: Tape::new(options) }
    }

    /// Writes the document; without a value it is empty.
    pub fn finish(self) -> String {
        // Only a writer can fail, and there is none.
        Layout::new(&self.tape, None).document().unwrap_or_default()
    }

    #[inline(always)]
    fn object(&mut self) -> Result<Object<'_>> {
        let expected = std::mem::replace(&mut self.tape.expected, Written::OTHER);
        self.tape.element = false;
        let open = self.tape.open(Kind::Object)?;
        Ok(Object {
            serializer: self,
            open,
            fields: 0,
            shape: Written::EMPTY,
            row: true,
            key: 0,
            uniform: Uniform::new(),
            wrapped: None,
            expected,
        })
    }

    #[inline(always)]
    fn array(&mut self) -> Result<Array<'_>> {
        self.tape.expected = Written::OTHER;
        let item = std::mem::take(&mut self.tape.element);
        let open = self.tape.open(Kind::Array)?;
        Ok(Array {
            item,
            serializer: self,
            open,
            values: 0,
            primitive: true,
            uniform: Uniform::new(),
            wrapped: None,
        })
    }

    /// Opens the object `{variant: …}` around a variant's content.
    fn variant(&mut self, variant: &'static str) -> Result<Wrapper> {
        self.tape.expected = Written::OTHER;
        self.tape.element = false;
        let open = self.tape.open(Kind::Object)?;
        let key = self.tape.keys.fixed(variant);
        self.tape.next_key = key;
        Ok(Wrapper { open, key })
    }

    fn close_variant(&mut self, wrapper: Wrapper, child: Written) -> Result<Written> {
        self.tape.close(wrapper.open, 1, Form::Plain)?;
        Ok(if child.fits_row() {
            self.tape.shapes.step(Written::EMPTY, wrapper.key, child)
        } else {
            Written::OTHER
        })
    }
}

struct Wrapper {
    open: usize,
    key: u32,
}

/// An object being written.
pub struct Object<'a> {
    serializer: &'a mut Serializer,
    open: usize,
    fields: u32,
    shape: Written,
    /// Whether all fields so far fit a row.
    row: bool,
    key: u32,
    uniform: Uniform,
    wrapped: Option<Wrapper>,
    /// What an array expects its element to look like.
    expected: Written,
}

impl Object<'_> {
    #[inline]
    fn field<T: Serialize + ?Sized>(&mut self, key: u32, value: &T) -> Result<()> {
        self.serializer.tape.next_key = key;
        self.serializer.tape.expected = Written::OTHER;
        self.serializer.tape.element = false;
        let child = value.serialize(&mut *self.serializer)?;
        self.serializer.tape.check()?;
        self.fields += 1;
        self.uniform.add(child, &mut self.serializer.tape.shapes);
        self.row = self.row && child.fits_row();
        self.shape = self.serializer.tape.shapes.step(self.shape, key, child);
        Ok(())
    }

    #[inline]
    fn close(self) -> Result<Written> {
        let is_row = self.row && self.fields > 0;
        if is_row && (self.expected == self.shape || self.expected == Written::EMPTY) {
            self.serializer.tape.close_row(self.open, self.shape)?;
            return Ok(self.shape);
        }
        let form = match self.uniform.table() {
            Some((shape, reordered)) if self.fields >= 2 => Form::Table(shape, reordered),
            _ => Form::Plain,
        };
        self.serializer.tape.close(self.open, self.fields, form)?;
        let child = if is_row { self.shape } else { Written::OTHER };
        match self.wrapped {
            Some(wrapper) => self.serializer.close_variant(wrapper, child),
            None => Ok(child),
        }
    }
}

/// An array being written.
pub struct Array<'a> {
    serializer: &'a mut Serializer,
    open: usize,
    values: u32,
    /// An array that is itself an element cannot be a table (section 9.4).
    item: bool,
    primitive: bool,
    uniform: Uniform,
    wrapped: Option<Wrapper>,
}

impl Array<'_> {
    #[inline]
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.serializer.tape.expected = if self.item { Written::OTHER } else { self.uniform.expected() };
        self.serializer.tape.element = true;
        let child = value.serialize(&mut *self.serializer)?;
        self.serializer.tape.check()?;
        self.values += 1;
        self.primitive = self.primitive && child == Written::PRIMITIVE;
        self.uniform.add(child, &mut self.serializer.tape.shapes);
        Ok(())
    }

    #[inline]
    fn close(self) -> Result<Written> {
        let form = match self.uniform.table() {
            _ if self.primitive => Form::Inline,
            _ if self.item => Form::Plain,
            Some((shape, reordered)) => Form::Table(shape, reordered),
            None => {
                self.serializer.tape.expand_rows(self.open);
                Form::Plain
            }
        };
        self.serializer.tape.close(self.open, self.values, form)?;
        match self.wrapped {
            Some(wrapper) => self.serializer.close_variant(wrapper, Written::OTHER),
            None => Ok(Written::OTHER),
        }
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty;)*) => {$(
        #[inline]
        fn $method(self, value: $type) -> Result<Written> {
            Ok(self.tape.bare(itoa::Buffer::new().format(value)))
        }
    )*};
}

impl<'a> ser::Serializer for &'a mut Serializer {
    type Ok = Written;
    type Error = Error;
    type SerializeSeq = Array<'a>;
    type SerializeTuple = Array<'a>;
    type SerializeTupleStruct = Array<'a>;
    type SerializeTupleVariant = Array<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

    integers! {
        serialize_u8: u8; serialize_u16: u16; serialize_u32: u32; serialize_u64: u64; serialize_u128: u128;
        serialize_i8: i8; serialize_i16: i16; serialize_i32: i32; serialize_i64: i64; serialize_i128: i128;
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<Written> {
        Ok(self.tape.bare(if value { "true" } else { "false" }))
    }

    fn serialize_f32(self, value: f32) -> Result<Written> {
        let start = self.tape.arena.len();
        number::push_f32(&mut self.tape.arena, value);
        Ok(self.tape.close_token(start))
    }

    fn serialize_f64(self, value: f64) -> Result<Written> {
        let start = self.tape.arena.len();
        number::push_f64(&mut self.tape.arena, value);
        Ok(self.tape.close_token(start))
    }

    fn serialize_char(self, value: char) -> Result<Written> {
        Ok(self.tape.string(value.encode_utf8(&mut [0; 4])))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<Written> {
        if !self.tape.digits {
            return Ok(self.tape.string(value));
        }
        self.tape.digits = false;
        if number::shape(value.as_bytes()).is_none() {
            return Err(Error::custom("digits that are not a number"));
        }
        Ok(self.tape.bare(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Written> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_none(self) -> Result<Written> {
        Ok(self.tape.bare("null"))
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Written> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Written> {
        Ok(self.tape.bare("null"))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Written> {
        Ok(self.tape.bare("null"))
    }

    #[inline]
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Written> {
        Ok(self.tape.string(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Written> {
        self.tape.digits = name == NUMBER_KEY;
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Written> {
        let wrapper = self.variant(variant)?;
        let child = value.serialize(&mut *self)?;
        self.close_variant(wrapper, child)
    }

    #[inline(always)]
    fn serialize_seq(self, _: Option<usize>) -> Result<Array<'a>> {
        self.array()
    }

    fn serialize_tuple(self, _: usize) -> Result<Array<'a>> {
        self.array()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Array<'a>> {
        self.array()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Array<'a>> {
        let wrapper = self.variant(variant)?;
        Ok(Array { wrapped: Some(wrapper), ..self.array()? })
    }

    #[inline]
    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a>> {
        self.object()
    }

    #[inline(always)]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object<'a>> {
        self.object()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Object<'a>> {
        let wrapper = self.variant(variant)?;
        Ok(Object { wrapped: Some(wrapper), ..self.object()? })
    }
}

macro_rules! array_access {
    ($($trait:ident::$method:ident;)*) => {$(
        impl $trait for Array<'_> {
            type Ok = Written;
            type Error = Error;

            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.value(value)
            }

            #[inline]
            fn end(self) -> Result<Written> {
                self.close()
            }
        }
    )*};
}

array_access! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

macro_rules! object_access {
    ($($trait:ident;)*) => {$(
        impl $trait for Object<'_> {
            type Ok = Written;
            type Error = Error;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
                let tape = &mut self.serializer.tape;
                let key = tape.shapes.fixed_key(&mut tape.keys, self.shape, key);
                self.field(key, value)
            }

            #[inline]
            fn end(self) -> Result<Written> {
                self.close()
            }
        }
    )*};
}

object_access! { SerializeStruct; SerializeStructVariant; }

impl SerializeMap for Object<'_> {
    type Ok = Written;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        let tape = &mut self.serializer.tape;
        self.key = key.serialize(key::KeySerializer { tape, shape: self.shape })?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.field(self.key, value)
    }

    fn end(self) -> Result<Written> {
        self.close()
    }
}
