//! The serde deserializer of one value, wherever it stands.
//!
//! A [`Node`] says what the cursor is in front of; a [`Reader`] turns it into
//! serde calls. Primitives are parsed by the method the target type calls,
//! containers are handed out as lazy accesses over the same cursor.

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor},
    forward_to_deserialize_any,
};

use crate::{
    error::{Error, ErrorKind, Result},
    text,
    value::VALUE_NAME,
};

use super::{
    array::{Inline, Items},
    cursor::Cursor,
    enums::MapEnum,
    header::{Columns, Header},
    lenient::{LENIENT_NAME, Trials},
    object::Fields,
    row::{BufferedRow, Row},
    table::{Entries, Rows},
    token::{Token, TokenReader},
};

/// What the cursor stands in front of.
pub(crate) enum Node<'a, 'de> {
    /// `[]`, already taken.
    EmptyArray,
    /// `-` or an empty document, already taken.
    EmptyObject,
    /// Fields at `floor` or, outside strict mode, at the depth of the first line.
    Object { floor: usize, depth: Option<usize> },
    /// An object whose first field stands at `start`, behind a hyphen.
    Item { start: usize, depth: usize },
    /// Whatever a header announces; its scope is deeper than `base`.
    Array { header: Header<'de>, base: usize },
    /// A row or one of its field groups, from this cell of the cursor's on.
    Row { columns: &'a Columns<'de>, first: usize },
    /// The same, for [`BufferedRow`].
    Buffered { columns: &'a Columns<'de>, cells: &'a [Token<'de>] },
}

/// A value: a primitive, already taken, or a container still to be read. They
/// have deserializers of their own, because tokens are small and many.
pub(crate) enum Content<'a, 'de> {
    Token(Token<'de>),
    Node(Node<'a, 'de>),
}

impl<'de> Content<'_, 'de> {
    /// Reads the value into `seed`.
    #[inline]
    pub(crate) fn read<T: DeserializeSeed<'de>>(self, cursor: &mut Cursor<'de>, seed: T) -> Result<T::Value> {
        match self {
            Self::Token(token) => seed.deserialize(TokenReader { cursor, token }),
            Self::Node(node) => seed.deserialize(Reader { cursor, node }),
        }
    }
}

pub(crate) struct Reader<'c, 'a, 'de> {
    pub(crate) cursor: &'c mut Cursor<'de>,
    pub(crate) node: Node<'a, 'de>,
}

impl<'de> Cursor<'de> {
    /// Decides the form of the document (section 5).
    pub(crate) fn root<'a>(&mut self) -> Result<Content<'a, 'de>> {
        let object = Content::Node(Node::Object { floor: 0, depth: Some(0) });
        let Some(line) = self.peek()? else {
            return Ok(Content::Node(Node::EmptyObject));
        };
        if line.depth != 0 {
            let fault = ErrorKind::OverIndented { expected: 0, found: line.depth };
            return if self.recovering() { Ok(object) } else { Err(Error::at(fault, line.start)) };
        }
        let (end, _) = self.content_end(line.start);
        let content = self.slice(line.start, end);
        if content == "[]" {
            self.take(line);
            self.skip_line(line.start)?;
            return Ok(Content::Node(Node::EmptyArray));
        }
        if text::find_unquoted(content.as_bytes(), b':').is_some() {
            if !content.starts_with('[') {
                return Ok(object);
            }
            self.take(line);
            return Ok(Content::Node(Node::Array { header: self.header(line.start)?, base: 0 }));
        }
        if self.recovering() && !self.is_only_line(line.start)? {
            return Ok(object);
        }
        self.take(line);
        let token = self.rest_token(line.start)?;
        if self.peek()?.is_some() {
            return Err(Error::at(ErrorKind::MissingColon, line.start));
        }
        Ok(Content::Token(token))
    }

    fn is_only_line(&mut self, start: usize) -> Result<bool> {
        let mark = self.mark();
        self.jump(start);
        self.skip_line(start)?;
        let only = self.peek()?.is_none();
        self.restore(mark);
        Ok(only)
    }

    /// Reads the value of a field at `depth` into `seed`; at `mark` stands the
    /// colon, or the bracket of its header.
    #[inline]
    pub(crate) fn value<T: DeserializeSeed<'de>>(
        &mut self,
        mark: usize,
        depth: usize,
        seed: T,
    ) -> Result<T::Value> {
        if self.byte(mark) == b':' {
            let at = self.skip_spaces(mark + 1);
            if !matches!(self.byte(at), b'\n' | b'\r' | b'[') {
                let token = self.rest_token(at)?;
                return seed.deserialize(TokenReader { cursor: self, token });
            }
        }
        self.value_node(mark, depth)?.read(self, seed)
    }

    /// Decides the value of a field at `depth`.
    pub(crate) fn value_node<'a>(&mut self, mark: usize, depth: usize) -> Result<Content<'a, 'de>> {
        if self.byte(mark) == b'[' {
            return Ok(Content::Node(Node::Array { header: self.header(mark)?, base: depth }));
        }
        let from = mark + 1;
        let at = self.skip_spaces(from);
        match self.byte(at) {
            b'\n' => {
                self.end_line(at)?;
                return Ok(Content::Node(Node::Object { floor: depth + 1, depth: None }));
            }
            b'\r' if self.byte(at + 1) == b'\n' => {
                self.end_line(at + 1)?;
                return Ok(Content::Node(Node::Object { floor: depth + 1, depth: None }));
            }
            b'[' if self.byte(at + 1) == b']' => {
                let (end, feed) = self.content_end(at);
                if end == at + 2 {
                    self.end_line(feed)?;
                    return Ok(Content::Node(Node::EmptyArray));
                }
            }
            _ => {}
        }
        Ok(Content::Token(self.rest_token(at)?))
    }

    /// Requires the end of the document, as after a root array (section 5).
    pub(crate) fn expect_end(&mut self) -> Result<()> {
        while let Some(line) = self.peek()? {
            let fault = Error::at(ErrorKind::TrailingContent, line.start);
            if !self.recovering() {
                return Err(fault);
            }
            self.discard(line, fault)?;
        }
        Ok(())
    }

    /// Reads the root value of the document into `seed`.
    pub(crate) fn document<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        let content = self.root()?;
        let offset = self.pos();
        let value = content.read(self, seed).map_err(|error| error.or_at(offset))?;
        self.expect_end()?;
        Ok(value)
    }
}

/// Receives the access of a container: either a plain visitor or an enum's.
trait Sink<'de> {
    type Value;
    fn map<A: MapAccess<'de, Error = Error>>(self, access: A) -> Result<Self::Value>;
    fn seq<A: SeqAccess<'de, Error = Error>>(self, access: A) -> Result<Self::Value>;
}

struct Plain<V>(V);

impl<'de, V: Visitor<'de>> Sink<'de> for Plain<V> {
    type Value = V::Value;

    #[inline]
    fn map<A: MapAccess<'de, Error = Error>>(self, access: A) -> Result<V::Value> {
        self.0.visit_map(access)
    }

    #[inline]
    fn seq<A: SeqAccess<'de, Error = Error>>(self, access: A) -> Result<V::Value> {
        self.0.visit_seq(access)
    }
}

/// An enum variant with data is an object with one key.
struct Variant<V>(V);

impl<'de, V: Visitor<'de>> Sink<'de> for Variant<V> {
    type Value = V::Value;

    fn map<A: MapAccess<'de, Error = Error>>(self, access: A) -> Result<V::Value> {
        self.0.visit_enum(MapEnum(access))
    }

    fn seq<A: SeqAccess<'de, Error = Error>>(self, _: A) -> Result<V::Value> {
        Err(Error::invalid_type(Unexpected::Seq, &self.0))
    }
}

/// Drives a map access and refuses entries the visitor left unread.
#[inline]
fn drive_map<'de, S: Sink<'de>, A: MapAccess<'de, Error = Error>>(
    sink: S,
    mut access: A,
) -> Result<S::Value> {
    let value = sink.map(&mut access)?;
    if access.next_key::<IgnoredAny>()?.is_some() {
        return Err(Error::custom("more entries than the type reads"));
    }
    Ok(value)
}

#[inline]
fn drive_seq<'de, S: Sink<'de>, A: SeqAccess<'de, Error = Error>>(
    sink: S,
    mut access: A,
) -> Result<S::Value> {
    let value = sink.seq(&mut access)?;
    if access.next_element::<IgnoredAny>()?.is_some() {
        return Err(Error::custom("more elements than the type reads"));
    }
    Ok(value)
}

impl<'de> Reader<'_, '_, 'de> {
    #[inline]
    fn container<S: Sink<'de>>(self, sink: S) -> Result<S::Value> {
        let Self { cursor, node } = self;
        cursor.enter()?;
        let value = match node {
            Node::Object { floor, depth } => drive_map(sink, Fields::new(cursor, floor, depth, None)),
            Node::Item { start, depth } => {
                drive_map(sink, Fields::new(cursor, depth, Some(depth), Some(start)))
            }
            Node::Array { header, base } => array(cursor, &header, base, sink),
            Node::Row { columns, first } => drive_map(sink, Row::new(cursor, columns, first)),
            Node::Buffered { columns, cells } => drive_map(sink, BufferedRow::new(cursor, columns, cells)),
            Node::EmptyArray => sink.seq(Nothing),
            Node::EmptyObject => sink.map(Nothing),
        }?;
        cursor.leave();
        Ok(value)
    }
}

/// Hands out the form a header announces.
fn array<'de, S: Sink<'de>>(
    cursor: &mut Cursor<'de>,
    header: &Header<'de>,
    base: usize,
    sink: S,
) -> Result<S::Value> {
    let opened = match &header.columns {
        Some(columns) if header.keyed => return drive_map(sink, Entries::new(cursor, header, columns, base)),
        Some(columns) => return drive_seq(sink, Rows::new(cursor, header, columns, base)),
        None => cursor.open_inline()?,
    };
    if opened {
        drive_seq(sink, Inline::new(cursor, header))
    } else {
        drive_seq(sink, Items::new(cursor, header, base))
    }
}

/// An access without entries.
struct Nothing;

impl<'de> MapAccess<'de> for Nothing {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, _: K) -> Result<Option<K::Value>> {
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, _: T) -> Result<T::Value> {
        Err(Error::custom("a value was asked for without a key"))
    }
}

impl<'de> SeqAccess<'de> for Nothing {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, _: T) -> Result<Option<T::Value>> {
        Ok(None)
    }
}

impl<'de> Deserializer<'de> for Reader<'_, '_, 'de> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.container(Plain(visitor))
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match name {
            VALUE_NAME => self.deserialize_any(visitor),
            LENIENT_NAME if self.cursor.recovering() => visitor.visit_seq(Trials::new(self)),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    /// A row whose columns are the fields of the struct, in their order, is
    /// given as a sequence, which spares the struct to find each by its name.
    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        if let Node::Row { columns, first } = self.node
            && self.cursor.by_position
            && columns.are(fields)
        {
            self.cursor.went_by_position = true;
            self.cursor.enter()?;
            let value = drive_seq(Plain(visitor), Row::new(self.cursor, columns, first))?;
            self.cursor.leave();
            return Ok(value);
        }
        self.container(Plain(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.container(Variant(visitor))
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}
