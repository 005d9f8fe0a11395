//! Elements that a recovery leaves out by themselves.
//!
//! A type that fails ends its pass, and the document is decoded again without
//! what failed: with many faults that only the type can find, the work grows
//! with their square. A type that reads the elements of a list or a table as
//! [`Lenient`]s is told that one is left out instead, and goes on.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, SeqAccess, Visitor},
};

use crate::error::{Error, ErrorKind, Result};

use super::{
    cursor::{Cursor, Line, Scope},
    reader::{Node, Reader},
};

/// Asks the decoder for an [`Lenient`].
pub(super) const LENIENT_NAME: &str = "$samuel::toon::Lenient";

/// One element of a list or a table, read by a seed.
///
/// There is none where [`recover`](crate::recover()) leaves it out. In
/// every other mode and format a failure is one. A visitor of sequences asks
/// for its elements by it; anywhere else than in a sequence it has no meaning.
///
/// ```
/// use std::{fmt, marker::PhantomData};
///
/// use samuel_toon::{Lenient, recover};
/// use serde::{Deserialize, de};
///
/// #[derive(Debug, PartialEq)]
/// struct Numbers(Vec<(u8, u8)>);
///
/// impl<'de> Deserialize<'de> for Numbers {
///     fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
///         struct Visitor;
///         impl<'de> de::Visitor<'de> for Visitor {
///             type Value = Numbers;
///             fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///                 f.write_str("pairs of numbers")
///             }
///             fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Numbers, A::Error> {
///                 let mut numbers = Vec::new();
///                 while let Some(number) = seq.next_element_seed(Lenient(PhantomData::<(u8, u8)>))? {
///                     numbers.extend(number);
///                 }
///                 Ok(Numbers(numbers))
///             }
///         }
///         deserializer.deserialize_seq(Visitor)
///     }
/// }
///
/// let recovered = recover::<Numbers>("[3]:\n  - [2]: 1,2\n  - [2]: 1,300\n  - [2]: 3,4");
/// assert_eq!(recovered.value, Some(Numbers(vec![(1, 2), (3, 4)])));
/// assert_eq!(recovered.diagnostics[0].path, "[1][1]");
/// ```
pub struct Lenient<S>(pub S);

impl<'de, S: DeserializeSeed<'de> + Clone> DeserializeSeed<'de> for Lenient<S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Option<S::Value>, D::Error> {
        deserializer.deserialize_newtype_struct(LENIENT_NAME, self)
    }
}

impl<'de, S: DeserializeSeed<'de> + Clone> Visitor<'de> for Lenient<S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an element")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        element: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        self.0.deserialize(element).map(Some)
    }

    /// Takes the tries of one element, up to the first that succeeds.
    fn visit_seq<A: SeqAccess<'de>>(self, mut trials: A) -> std::result::Result<Self::Value, A::Error> {
        while trials.size_hint() == Some(1) {
            if let Some(element) = trials.next_element_seed(self.0.clone())? {
                return Ok(Some(element));
            }
        }
        Ok(None)
    }
}

/// An element as a sequence: none for each time that it cannot be read. So the
/// decoder is the one that sees why. An item is read again without the field
/// that failed, as often as there is one; a row is one unit.
pub(super) struct Trials<'c, 'a, 'de> {
    cursor: &'c mut Cursor<'de>,
    next: Option<Next<'a, 'de>>,
    /// The element's line, if it is an item.
    item: Option<Line>,
    scope: Scope,
}

enum Next<'a, 'de> {
    Node(Node<'a, 'de>),
    Again(Line),
}

impl<'c, 'a, 'de> Trials<'c, 'a, 'de> {
    pub(super) fn new(Reader { cursor, node }: Reader<'c, 'a, 'de>) -> Self {
        let item = cursor.repair.as_mut().and_then(|repair| repair.item.take());
        let scope = cursor.scope();
        Self { cursor, next: Some(Next::Node(node)), item, scope }
    }

    fn read<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        match self.next.take() {
            Some(Next::Node(node)) => seed.deserialize(Reader { cursor: self.cursor, node }),
            Some(Next::Again(line)) => {
                self.cursor.take(line);
                self.cursor.item_node(line)?.read(self.cursor, seed)
            }
            None => Err(Error::custom("an element was asked for once too often")),
        }
    }
}

impl<'de> SeqAccess<'de> for Trials<'_, '_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let error = match self.read(seed) {
            Ok(value) => return Ok(Some(value)),
            Err(error) if matches!(error.kind(), ErrorKind::Limit { .. }) => return Err(error),
            Err(error) => error,
        };
        let repair = self.cursor.repair.as_mut();
        let is_without = repair.is_some_and(|repair| repair.give_up_within(&error, &self.scope));
        self.cursor.leave_to(self.scope);
        match self.item.filter(|_| is_without) {
            Some(line) => self.next = Some(Next::Again(line)),
            None => {
                if let Some(repair) = &mut self.cursor.repair {
                    repair.fail(error);
                }
            }
        }
        Ok(None)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(usize::from(self.next.is_some()))
    }
}

impl Cursor<'_> {
    /// Says whether what is read next is an item, and on which line.
    pub(super) fn expect_item(&mut self, item: Option<Line>) {
        if let Some(repair) = &mut self.repair {
            repair.item = item;
        }
    }

    /// Drops the element that was read last, the one on `line` and what is below
    /// `depth` with it, if it was an [`Lenient`] that failed.
    pub(super) fn drop_failed(&mut self, line: Line, depth: usize) -> Result<()> {
        match self.repair.as_mut().and_then(|repair| repair.take_failure()) {
            Some(error) => self.drop_lines(line, error, depth),
            None => Ok(()),
        }
    }
}
