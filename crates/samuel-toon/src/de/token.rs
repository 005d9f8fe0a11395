//! Tokens: one primitive, bare or quoted, still as it stands in the text.
//!
//! A [`Token`] is parsed when a type asks for it, by the method the type calls,
//! so a `String` receives `1.10` as written and a `u64` never passes through a
//! float. Finding a token's end is the cursor's part here; what surrounds it
//! belongs to the callers.

use std::borrow::Cow;

use serde::{
    Deserializer,
    de::{Error as _, Unexpected, Visitor},
};

use crate::{
    error::{Error, ErrorKind, Result},
    number::{self, Number, Shape},
    options::NumberText,
    text,
    value::{AnyVisitor, NUMBER_KEY, VALUE_NAME, Value},
};

use super::{cursor::Cursor, enums::UnitEnum, repair::Hint};

/// A primitive as written, without surrounding spaces and quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'de> {
    pub(crate) text: &'de str,
    pub(crate) start: usize,
    pub(crate) form: Form,
}

/// How a token is written. It takes a whole word, because a token is moved
/// around a lot, and moving a byte and its padding stalls the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Form {
    Bare,
    Quoted,
    /// Quoted, with at least one backslash inside.
    Escaped,
}

/// Where a token ends, and whether it is quoted with a backslash inside.
///
/// Scans return this single word and no [`Token`], because a larger result
/// goes through memory, and they are called for every value.
#[derive(Clone, Copy)]
pub(crate) struct End(usize);

impl End {
    #[inline]
    fn new(offset: usize, escaped: bool) -> Self {
        Self(offset << 1 | usize::from(escaped))
    }

    /// Returns the offset behind the token and its closing quote.
    #[inline]
    pub(crate) fn offset(self) -> usize {
        self.0 >> 1
    }

    #[inline]
    fn escaped(self) -> bool {
        self.0 & 1 == 1
    }
}

impl<'de> Cursor<'de> {
    /// Returns the token between the quotes that a scan found.
    #[inline(always)]
    pub(crate) fn quoted_token(&self, start: usize, end: End) -> Token<'de> {
        let form = if end.escaped() { Form::Escaped } else { Form::Quoted };
        Token { text: self.slice(start + 1, end.offset() - 1), start, form }
    }

    /// Finds the quote that closes the one at `open`.
    pub(crate) fn quoted(&self, open: usize) -> Result<End> {
        let mut at = open + 1;
        let mut escaped = false;
        loop {
            at = self.find(at, [b'"', b'\\', b'\n']);
            match self.byte(at) {
                b'"' => return Ok(End::new(at + 1, escaped)),
                // A backslash cannot carry the scan over the end of the line.
                b'\\' if self.byte(at + 1) != b'\n' => {
                    escaped = true;
                    at += 2;
                }
                _ => return Err(Error::at(ErrorKind::UnterminatedString, open)),
            }
        }
    }

    /// Returns the offset behind the quoted span that opens inside a bare token
    /// at `open`; without a closing quote it takes the rest of the line.
    #[cold]
    pub(crate) fn after_span(&self, open: usize) -> usize {
        self.quoted(open).map_or_else(|_| self.content_end(open).1, End::offset)
    }

    /// Reads the rest of the current line from `from` as one token and ends the line.
    #[inline(always)]
    pub(crate) fn rest_token(&mut self, from: usize) -> Result<Token<'de>> {
        if self.byte(from) == b'"' {
            let end = self.end_of_quoted_rest(from)?;
            return Ok(self.quoted_token(from, end));
        }
        let (end, feed) = self.content_end(from);
        self.end_line(feed)?;
        Ok(Token { text: self.slice(from, end), start: from, form: Form::Bare })
    }

    #[inline(never)]
    fn end_of_quoted_rest(&mut self, from: usize) -> Result<End> {
        let token = self.quoted(from)?;
        let (end, feed) = self.content_end(token.offset());
        if end != token.offset() {
            return Err(Error::at(ErrorKind::AfterQuote, token.offset()));
        }
        self.end_line(feed)?;
        Ok(token)
    }

    /// Reads one cell and the delimiter or line end behind it. Leaves
    /// [`Cursor::row_open`] true when another cell follows.
    #[inline(always)]
    pub(crate) fn cell(&mut self, delimiter: u8) -> Result<Token<'de>> {
        let mut start = self.pos();
        let mut first = self.byte(start);
        if first == b' ' {
            start = self.skip_spaces(start);
            first = self.byte(start);
        }
        if first == b'"' {
            let end = self.end_of_quoted_cell(start, delimiter)?;
            return Ok(self.quoted_token(start, end));
        }
        let at = self.find(start, [delimiter, b'\n', b'"']);
        let byte = self.byte(at);
        let end = if byte == delimiter {
            self.set_pos(at + 1);
            self.row_open = true;
            self.trim_spaces(start, at)
        } else if byte == b'\n' {
            self.row_open = false;
            self.end_line(at)?;
            self.trim_end(start, at)
        } else {
            self.end_of_odd_cell(start, at, delimiter)?
        };
        Ok(Token { text: self.slice(start, end), start, form: Form::Bare })
    }

    /// Handles a bare cell with a quote in it, which opens a span at any
    /// position, though only one at the start makes the token a quoted one.
    #[cold]
    fn end_of_odd_cell(&mut self, start: usize, quote: usize, delimiter: u8) -> Result<usize> {
        let mut at = quote;
        while self.byte(at) == b'"' {
            at = self.find(self.after_span(at), [delimiter, b'\n', b'"']);
        }
        if self.byte(at) == delimiter {
            self.set_pos(at + 1);
            self.row_open = true;
            return Ok(self.trim_spaces(start, at));
        }
        self.row_open = false;
        self.end_line(at)?;
        Ok(self.trim_end(start, at))
    }

    #[inline(never)]
    pub(crate) fn end_of_quoted_cell(&mut self, start: usize, delimiter: u8) -> Result<End> {
        let token = self.quoted(start)?;
        let mut at = token.offset();
        if self.byte(at) == b' ' {
            at = self.skip_spaces(at);
        }
        let byte = self.byte(at);
        if byte == delimiter {
            self.row_open = true;
            self.set_pos(at + 1);
        } else if byte == b'\n' || (byte == b'\r' && self.byte(at + 1) == b'\n') {
            self.row_open = false;
            self.end_line(if byte == b'\n' { at } else { at + 1 })?;
        } else {
            return Err(Error::at(ErrorKind::AfterQuote, token.offset()));
        }
        Ok(token)
    }

    /// Returns the key between the start of a line and its mark; see
    /// [`Cursor::key_mark`].
    #[inline(always)]
    pub(crate) fn key(&self, start: usize, mark: usize) -> Token<'de> {
        if self.byte(start) == b'"'
            && let Ok(end) = self.quoted(start)
        {
            return self.quoted_token(start, end);
        }
        Token { text: self.slice(start, self.trim_spaces(start, mark)), start, form: Form::Bare }
    }

    #[inline]
    pub(crate) fn trim_spaces(&self, from: usize, to: usize) -> usize {
        let mut end = to;
        while end > from && self.byte(end - 1) == b' ' {
            end -= 1;
        }
        end
    }
}

impl<'de> Token<'de> {
    /// Nothing, at the start of the text.
    pub(crate) const EMPTY: Self = Self { text: "", start: 0, form: Form::Bare };

    /// Returns the string this token stands for when it is read as text.
    pub(crate) fn unescape(self) -> Result<Cow<'de, str>> {
        if self.form != Form::Escaped {
            return Ok(Cow::Borrowed(self.text));
        }
        // The opening quote precedes the text.
        text::unescape(self.text).map_err(|at| Error::at(ErrorKind::InvalidEscape, self.start + 1 + at))
    }

    #[inline]
    pub(crate) fn is_null(self) -> bool {
        self.form == Form::Bare && self.text == "null"
    }

    /// Gives the text to a visitor, whatever it looks like.
    #[inline]
    pub(crate) fn visit_text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.form {
            Form::Bare | Form::Quoted => visitor.visit_borrowed_str(self.text),
            Form::Escaped => match self.unescape()? {
                Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                Cow::Owned(text) => visitor.visit_string(text),
            },
        }
    }

    /// Gives a string visitor the token as written; only `null` is no text.
    #[inline]
    pub(crate) fn visit_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.is_null() {
            return Err(Error::invalid_type(Unexpected::Other("null"), &visitor));
        }
        self.visit_text(visitor)
    }

    /// Gives the visitor what the specification says this token is (section 4).
    pub(crate) fn visit_any<V: Visitor<'de>>(self, numbers: NumberText, visitor: V) -> Result<V::Value> {
        if self.form == Form::Bare {
            match self.text {
                "null" => return visitor.visit_unit(),
                "true" => return visitor.visit_bool(true),
                "false" => return visitor.visit_bool(false),
                _ => {}
            }
            if matches!(self.text.as_bytes().first(), Some(b'-' | b'0'..=b'9'))
                && let Some(shape) = number::shape(self.text.as_bytes())
            {
                return self.visit_number(shape, numbers, visitor);
            }
        }
        self.visit_text(visitor)
    }

    fn visit_number<V: Visitor<'de>>(
        self,
        shape: Shape,
        numbers: NumberText,
        visitor: V,
    ) -> Result<V::Value> {
        match numbers {
            NumberText::Canonical | NumberText::Wide => {}
            NumberText::Tokens => return self.visit_token(visitor),
            NumberText::AsWritten => {
                return match Number::parse_as_written(self.text) {
                    Some(number) => visit_exact(&number, visitor),
                    None => self.visit_text(visitor),
                };
            }
        }
        if shape == Shape::Integer {
            if let Some(value) = unsigned(self.text.as_bytes()) {
                return visitor.visit_u64(value);
            }
            if let Ok(value) = self.text.parse::<i64>() {
                return if value < 0 { visitor.visit_i64(value) } else { visitor.visit_u64(0) };
            }
            if numbers == NumberText::Wide {
                return self.visit_token(visitor);
            }
        }
        let value = self.text.parse::<f64>().map_err(Error::custom)?;
        match Number::from_f64(value) {
            // Most self-describing targets know no wider integers than these.
            Some(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (_, Some(value)) => visitor.visit_i64(value),
                _ => visitor.visit_f64(value),
            },
            None if numbers == NumberText::Wide => self.visit_token(visitor),
            None => self.visit_text(visitor),
        }
    }

    /// Gives a visitor the text of a number, told from other text by how it is given.
    #[cold]
    fn visit_token<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(serde::de::value::BorrowedStrDeserializer::new(self.text))
    }

    /// Gives a [`Value`](crate::Value) its number without loss.
    pub(crate) fn visit_lossless<V: Visitor<'de>>(self, numbers: NumberText, visitor: V) -> Result<V::Value> {
        if self.form != Form::Bare || number::shape(self.text.as_bytes()).is_none() {
            return self.visit_any(numbers, visitor);
        }
        let number = match numbers {
            NumberText::AsWritten => Number::parse_as_written(self.text),
            _ => Number::parse(self.text),
        };
        match number {
            Some(number) => visit_exact(&number, visitor),
            None => self.visit_text(visitor),
        }
    }

    /// Makes a [`Value`] of the token.
    pub(crate) fn to_value(self, numbers: NumberText) -> Result<Value> {
        self.visit_lossless(numbers, AnyVisitor)
    }

    pub(crate) fn visit_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match (self.form, self.text) {
            (Form::Bare, "true") => visitor.visit_bool(true),
            (Form::Bare, "false") => visitor.visit_bool(false),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    #[inline]
    pub(crate) fn visit_unsigned<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.form == Form::Bare
            && let Some(value) = unsigned(self.text.as_bytes())
        {
            return visitor.visit_u64(value);
        }
        self.visit_integer(visitor)
    }

    #[inline]
    pub(crate) fn visit_signed<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.form == Form::Bare {
            if let Some(value) = unsigned(self.text.as_bytes()) {
                return visitor.visit_u64(value);
            }
            if let Some(value) = self.text.as_bytes().strip_prefix(b"-").and_then(unsigned)
                && let Ok(value) = i64::try_from(value)
            {
                return visitor.visit_i64(-value);
            }
        }
        self.visit_integer(visitor)
    }

    /// Handles the rarer spellings of a whole number: `-0`, `1.0`, `1e3`, 128 bits.
    pub(crate) fn visit_integer<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let Some(number) = self.number() else {
            return Err(self.mismatch(&visitor));
        };
        if number.is_whole() {
            visit_number(&number, visitor)
        } else {
            Err(Error::invalid_type(Unexpected::Float(number.as_f64()), &visitor))
        }
    }

    #[inline]
    pub(crate) fn visit_float<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.form == Form::Bare
            && let Some(value) = number::short_decimal(self.text.as_bytes())
        {
            return visitor.visit_f64(value);
        }
        if self.form == Form::Bare
            && number::shape(self.text.as_bytes()).is_some()
            && let Ok(value) = self.text.parse::<f64>()
            && value.is_finite()
        {
            // The specification knows no negative zero.
            return visitor.visit_f64(if value == 0.0 { 0.0 } else { value });
        }
        Err(self.mismatch(&visitor))
    }

    fn number(self) -> Option<Number> {
        if self.form == Form::Bare { Number::parse(self.text) } else { None }
    }

    fn visit_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.unescape()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Cow::Owned(text) => visitor.visit_byte_buf(text.into_bytes()),
        }
    }

    fn visit_null<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.is_null() { visitor.visit_unit() } else { Err(self.mismatch(&visitor)) }
    }

    fn refuse<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        Err(self.mismatch(&visitor))
    }

    /// Skips the token, but not a fault in it.
    fn pass<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.unescape()?;
        visitor.visit_unit()
    }

    /// Describes this token to a visitor that wanted something else.
    #[cold]
    pub(crate) fn mismatch<V: Visitor<'de>>(self, visitor: &V) -> Error {
        match (self.form, self.text) {
            (Form::Bare, "null") => Error::invalid_type(Unexpected::Other("null"), visitor),
            (Form::Bare, "true") => Error::invalid_type(Unexpected::Bool(true), visitor),
            (Form::Bare, "false") => Error::invalid_type(Unexpected::Bool(false), visitor),
            _ => match self.number() {
                Some(number) => Error::invalid_type(Unexpected::Float(number.as_f64()), visitor),
                None => Error::invalid_type(Unexpected::Str(self.text), visitor),
            },
        }
        .or_at(self.start)
    }
}

/// The deserializer of a primitive that was taken already; see
/// [`Reader`](super::reader::Reader) for everything else.
pub(crate) struct TokenReader<'c, 'de> {
    pub(crate) cursor: &'c mut Cursor<'de>,
    pub(crate) token: Token<'de>,
}

impl TokenReader<'_, '_> {
    #[inline]
    fn hint(&mut self, hint: Hint) {
        if let Some(repair) = &mut self.cursor.repair {
            repair.hint(hint);
        }
    }
}

/// Every type asks for a token in its own way.
macro_rules! token_methods {
    ($($method:ident => $visit:ident, $hint:expr;)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value> {
            self.hint($hint);
            self.token.$visit(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for TokenReader<'_, 'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value> {
        self.hint(Hint::Any);
        self.token.visit_any(self.cursor.numbers(), visitor)
    }

    token_methods! {
        deserialize_bool => visit_bool, Hint::Bool;
        deserialize_u8 => visit_unsigned, Hint::integer(0, u8::MAX as i128);
        deserialize_u16 => visit_unsigned, Hint::integer(0, u16::MAX as i128);
        deserialize_u32 => visit_unsigned, Hint::integer(0, u32::MAX as i128);
        deserialize_u64 => visit_unsigned, Hint::integer(0, u64::MAX as i128);
        deserialize_u128 => visit_integer, Hint::Any;
        deserialize_i8 => visit_signed, Hint::integer(i8::MIN as i128, i8::MAX as i128);
        deserialize_i16 => visit_signed, Hint::integer(i16::MIN as i128, i16::MAX as i128);
        deserialize_i32 => visit_signed, Hint::integer(i32::MIN as i128, i32::MAX as i128);
        deserialize_i64 => visit_signed, Hint::integer(i64::MIN as i128, i64::MAX as i128);
        deserialize_i128 => visit_integer, Hint::Any;
        deserialize_f32 => visit_float, Hint::Float;
        deserialize_f64 => visit_float, Hint::Float;
        deserialize_char => visit_string, Hint::Any;
        deserialize_str => visit_string, Hint::Text;
        deserialize_string => visit_string, Hint::Text;
        deserialize_identifier => visit_text, Hint::Any;
        deserialize_bytes => visit_bytes, Hint::Any;
        deserialize_byte_buf => visit_bytes, Hint::Any;
        deserialize_unit => visit_null, Hint::Any;
        deserialize_seq => refuse, Hint::Any;
        deserialize_map => refuse, Hint::Any;
        deserialize_ignored_any => pass, Hint::Any;
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.token.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        self.token.visit_null(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name == VALUE_NAME {
            self.token.visit_lossless(self.cursor.numbers(), visitor)
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.token.refuse(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.token.refuse(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.token.refuse(visitor)
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.hint(Hint::Variant(variants));
        visitor.visit_enum(UnitEnum(self.token))
    }
}

/// Gives a number to a visitor; what serde has no type for travels as a map
/// with the one key [`NUMBER_KEY`].
pub(crate) fn visit_exact<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value> {
    if number.fits_64() {
        return visit_number(number, visitor);
    }
    visitor
        .visit_map(serde::de::value::MapDeserializer::new(std::iter::once((NUMBER_KEY, number.to_string()))))
}

/// Gives a number to a visitor as the narrowest type that holds it.
pub(crate) fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value> {
    if let Some(value) = number.as_u64() {
        visitor.visit_u64(value)
    } else if let Some(value) = number.as_i64() {
        visitor.visit_i64(value)
    } else if let Some(value) = number.as_i128() {
        visitor.visit_i128(value)
    } else if let Some(value) = number.as_u128() {
        visitor.visit_u128(value)
    } else {
        visitor.visit_f64(number.as_f64())
    }
}

/// Reads canonical digits that fit 64 bits.
#[inline]
fn unsigned(digits: &[u8]) -> Option<u64> {
    /// So many digits always fit.
    const SAFE: usize = 19;
    let (&first, rest) = digits.split_first()?;
    let mut value = u64::from(first.wrapping_sub(b'0'));
    if value > 9 || (value == 0 && !rest.is_empty()) || digits.len() > SAFE + 1 {
        return None;
    }
    if digits.len() > SAFE {
        return std::str::from_utf8(digits)
            .ok()
            .filter(|_| rest.iter().all(u8::is_ascii_digit))?
            .parse()
            .ok();
    }
    for &byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}
