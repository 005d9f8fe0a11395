//! Object ids.

use std::fmt;

use sha2::Digest;

/// The hash function of a repository's object ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashKind {
    Sha1,
    Sha256,
}

impl HashKind {
    /// Returns how many bytes an id has.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// Computes the id of a blob.
    pub(crate) fn blob(self, content: &[u8]) -> ObjectId {
        let header = format!("blob {}\0", content.len());
        let parts = [header.as_bytes(), content];
        match self {
            Self::Sha1 => ObjectId::of(&hashed::<sha1::Sha1>(&parts)),
            Self::Sha256 => ObjectId::of(&hashed::<sha2::Sha256>(&parts)),
        }
    }
}

fn hashed<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
    let mut digest = D::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().to_vec()
}

/// The id of an object: 20 bytes, or 32 in repositories with SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    bytes: [u8; 32],
    len: u8,
}

impl ObjectId {
    /// Takes over at most 32 bytes.
    pub(super) fn of(digest: &[u8]) -> Self {
        let mut bytes = [0; 32];
        let mut len = 0;
        for (place, byte) in bytes.iter_mut().zip(digest) {
            *place = *byte;
            len += 1;
        }
        Self { bytes, len }
    }

    /// Reads an id of a kind from its hexadecimal digits.
    pub(super) fn from_hex(hex: &[u8], kind: HashKind) -> Option<Self> {
        if hex.len() != kind.len() * 2 {
            return None;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let (pairs, _) = hex.as_chunks::<2>();
        let bytes: Option<Vec<u8>> =
            pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
        Some(Self::of(&bytes?))
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// Prints hexadecimal digits.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn a_blob_has_the_id_that_git_gives_it() {
        assert_eq!(HashKind::Sha1.blob(b"x\n").to_string(), "587be6b4c3f93f93c489c0111bba5596147a26cb");
        let empty = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";
        assert_eq!(HashKind::Sha256.blob(b"").to_string(), empty);
    }

    #[test]
    fn an_id_is_read_back_from_its_digits() {
        let id = HashKind::Sha1.blob(b"");
        assert_eq!(ObjectId::from_hex(id.to_string().as_bytes(), HashKind::Sha1).unwrap(), id);
        for bad in ["", "abc", &"g".repeat(40), &"a".repeat(64)] {
            assert_eq!(ObjectId::from_hex(bad.as_bytes(), HashKind::Sha1), None);
        }
    }
}
