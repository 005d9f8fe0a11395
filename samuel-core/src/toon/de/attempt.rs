//! Elements that a recovery leaves out by themselves.
//!
//! A type that fails ends its pass, and the document is decoded again without
//! what failed: with many faults that only the type can find, the work grows
//! with their square. A type that reads the elements of a list or a table as
//! [`Attempt`]s is told that one is left out instead, and goes on.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, SeqAccess, Visitor},
};

use crate::toon::error::{Error, ErrorKind, Result};

use super::{
    cursor::{Cursor, Line},
    reader::Reader,
};

/// Asks the decoder for an [`Attempt`].
pub(super) const ATTEMPT_NAME: &str = "$samuel::toon::Attempt";

/// One element of a list or a table, read by a seed.
///
/// There is none where [`recover`](crate::toon::recover()) leaves it out. In
/// every other mode and format a failure is one. A visitor of sequences asks
/// for its elements by it; anywhere else than in a sequence it has no meaning.
///
/// ```
/// use std::{fmt, marker::PhantomData};
///
/// use samuel_core::toon::{Attempt, recover};
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
///                 while let Some(number) = seq.next_element_seed(Attempt(PhantomData))? {
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
pub struct Attempt<S>(pub S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Attempt<S> {
    type Value = Option<S::Value>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Option<S::Value>, D::Error> {
        deserializer.deserialize_newtype_struct(ATTEMPT_NAME, self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Attempt<S> {
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

    /// Takes what [`Trial`] offers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut trial: A) -> std::result::Result<Self::Value, A::Error> {
        trial.next_element_seed(self.0)
    }
}

/// The element as a sequence of one, or of none if it cannot be read. So the
/// decoder is the one that sees the failure.
pub(super) struct Trial<'c, 'a, 'de>(Option<Reader<'c, 'a, 'de>>);

impl<'c, 'a, 'de> Trial<'c, 'a, 'de> {
    pub(super) fn new(reader: Reader<'c, 'a, 'de>) -> Self {
        Self(Some(reader))
    }
}

impl<'de> SeqAccess<'de> for Trial<'_, '_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some(Reader { cursor, node }) = self.0.take() else {
            return Err(Error::custom("an element was asked for twice"));
        };
        let scope = cursor.scope();
        match seed.deserialize(Reader { cursor: &mut *cursor, node }) {
            Ok(value) => Ok(Some(value)),
            Err(error) if matches!(error.kind(), ErrorKind::Limit { .. }) => Err(error),
            Err(error) => {
                cursor.leave_to(scope);
                if let Some(repair) = &mut cursor.repair {
                    repair.fail(error);
                }
                Ok(None)
            }
        }
    }
}

impl Cursor<'_> {
    /// Drops the element that was read last, the one on `line` and what is below
    /// `depth` with it, if it was an [`Attempt`] that failed.
    pub(super) fn drop_failed(&mut self, line: Line, depth: usize) -> Result<()> {
        match self.repair.as_mut().and_then(|repair| repair.take_failure()) {
            Some(error) => self.drop_lines(line, error, depth),
            None => Ok(()),
        }
    }
}
