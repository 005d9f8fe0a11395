//! Heads of HTTP/1.1 messages, read strictly.
//!
//! What two readers could read in two ways is refused: lines that do not end as they have to, lines that go on in
//! the next, a length that is said twice. So nothing hides in a head that is passed on.

use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest head, in bytes.
pub(super) const MAX_HEAD: usize = 32 << 10;
/// The most fields of a head.
const MAX_FIELDS: usize = 100;
/// Fields that are about one connection, and not passed on to the next.
const OF_CONNECTION: [&str; 8] =
    ["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "content-length", "host"];

/// Why a head was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It ended too early, or nothing came.
    CutOff,
    TooLong,
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// The fields of a head: names in small letters, and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, Vec<u8>)>);

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestHead {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) fields: Fields,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    pub(super) reason: String,
    pub(super) fields: Fields,
}

/// Reads up to the end of a head, of which some was read before, and returns it with what came behind it.
pub(super) async fn read_head(
    from: &mut (impl AsyncRead + Unpin),
    mut read: Vec<u8>,
) -> Result<(Vec<u8>, Vec<u8>), Unfit> {
    let mut room = [0; 4096];
    let mut looked_at = 0;
    loop {
        let new = read.get(looked_at..).unwrap_or_default();
        let end = memchr::memmem::find(new, b"\r\n\r\n").map(|end| looked_at + end + 4);
        if end.unwrap_or(read.len()) > MAX_HEAD {
            return Err(Unfit::TooLong);
        }
        if let Some(end) = end {
            let rest = read.split_off(end);
            return Ok((read, rest));
        }
        looked_at = read.len().saturating_sub(3);
        let count = from.read(&mut room).await.map_err(|_| Unfit::CutOff)?;
        if count == 0 {
            return Err(Unfit::CutOff);
        }
        read.extend(room.iter().take(count));
    }
}

impl RequestHead {
    /// Reads the head of a request of HTTP/1.1.
    pub(super) fn read(head: &[u8]) -> Option<Self> {
        let mut room = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut read = httparse::Request::new(&mut room);
        let is_whole = has_plain_lines(head) && read.parse(head).ok()?.is_complete();
        let (Some(method), Some(target), Some(1)) = (read.method, read.path, read.version) else {
            return None;
        };
        is_whole.then(|| Self {
            method: method.to_owned(),
            target: target.to_owned(),
            fields: Fields::of(read.headers),
        })
    }

    /// Returns how long its body is; nothing where that is not said in one way.
    pub(super) fn framing(&self) -> Option<Framing> {
        Some(self.fields.framing()?.unwrap_or(Framing::Length(0)))
    }
}

impl ResponseHead {
    /// Reads the head of a response.
    pub(super) fn read(head: &[u8]) -> Option<Self> {
        let mut room = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut read = httparse::Response::new(&mut room);
        let is_whole = has_plain_lines(head) && read.parse(head).ok()?.is_complete();
        let (status, reason) = (read.code?, read.reason.unwrap_or_default().to_owned());
        is_whole.then(|| Self { status, reason, fields: Fields::of(read.headers) })
    }

    /// Returns how long its body is, whatever was asked; nothing where that is not said in one way.
    pub(super) fn framing(&self) -> Option<Framing> {
        if self.status < 200 || matches!(self.status, 204 | 304) {
            return Some(Framing::Length(0));
        }
        Some(self.fields.framing()?.unwrap_or(Framing::UntilClose))
    }
}

impl Fields {
    fn of(read: &[httparse::Header<'_>]) -> Self {
        Self(read.iter().map(|field| (field.name.to_ascii_lowercase(), field.value.to_vec())).collect())
    }

    /// Returns the values of a field.
    pub(super) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    #[cfg(test)]
    fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// Takes away what is about this connection alone, also what the message itself names as that, and the length of
    /// its body.
    pub(super) fn without_connection(self) -> Self {
        let named: Vec<String> = self
            .values("connection")
            .flat_map(|value| value.split(|byte| *byte == b','))
            .map(|name| String::from_utf8_lossy(name).trim().to_ascii_lowercase())
            .collect();
        let is_kept = |name: &String| {
            !OF_CONNECTION.contains(&name.as_str()) && !name.starts_with("proxy-") && !named.contains(name)
        };
        Self(self.0.into_iter().filter(|(name, _)| is_kept(name)).collect())
    }

    /// Takes away fields by their names.
    pub(super) fn without(mut self, names: &[&str]) -> Self {
        self.0.retain(|(name, _)| !names.contains(&name.as_str()));
        self
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// Adds what says how long a body is.
    pub(super) fn framed(self, framing: Framing) -> Self {
        match framing {
            Framing::Length(length) => self.with("content-length", length.to_string()),
            Framing::Chunked => self.with("transfer-encoding", "chunked"),
            Framing::UntilClose => self,
        }
    }

    /// Writes a head of them.
    pub(super) fn head(&self, first: &str) -> Vec<u8> {
        let mut written = format!("{first}\r\n").into_bytes();
        for (name, value) in &self.0 {
            written.extend(name.as_bytes());
            written.extend(b": ");
            written.extend(value);
            written.extend(b"\r\n");
        }
        written.extend(b"\r\n");
        written
    }

    /// Returns what they say of a body's length: nothing at all, or what it is; an outer nothing where it is
    /// said twice or in a way that is not known.
    #[expect(clippy::option_option, reason = "the outer one is a refusal")]
    fn framing(&self) -> Option<Option<Framing>> {
        let (mut encodings, mut lengths) = (self.values("transfer-encoding"), self.values("content-length"));
        match (encodings.next(), encodings.next(), lengths.next(), lengths.next()) {
            (None, _, None, _) => Some(None),
            (Some(encoding), None, None, _) if encoding.eq_ignore_ascii_case(b"chunked") => {
                Some(Some(Framing::Chunked))
            }
            (None, _, Some(length), None) => {
                let is_number = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
                let text = str::from_utf8(length).ok().filter(|_| is_number)?;
                Some(Some(Framing::Length(text.parse().ok()?)))
            }
            _ => None,
        }
    }
}

/// Says whether each line ends with both of its characters, neither of which stands anywhere else.
fn has_plain_lines(head: &[u8]) -> bool {
    let ends = memchr::memchr_iter(b'\n', head).count();
    let returns = memchr::memchr_iter(b'\r', head).count();
    ends == returns && memchr::memmem::find_iter(head, b"\r\n").count() == ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(fields: &str) -> Option<RequestHead> {
        RequestHead::read(format!("POST /x HTTP/1.1\r\n{fields}\r\n").as_bytes())
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        for fields in [
            "X: a\nHost: evil\r\n",
            "X: a\rHost: evil\r\n",
            "X: a\r\n b\r\n",
            " X: a\r\n",
            "X : a\r\n",
            "X\r\n",
            "X: a\0b\r\n",
        ] {
            assert_eq!(request(fields), None, "{fields:?}");
        }
        for line in
            ["GET /x HTTP/1.0", "GET /x", "GET  /x HTTP/1.1", "GET /x HTTP/2.0", "GET /a b HTTP/1.1", ""]
        {
            assert_eq!(RequestHead::read(format!("{line}\r\n\r\n").as_bytes()), None, "{line}");
        }
        assert!(request(&"X: a\r\n".repeat(MAX_FIELDS + 1)).is_none());
    }

    #[test]
    fn a_length_is_said_once_or_not_at_all() {
        let framing = |fields| request(fields).expect("a head").framing();
        assert_eq!(framing(""), Some(Framing::Length(0)));
        assert_eq!(framing("Content-Length: 12\r\n"), Some(Framing::Length(12)));
        assert_eq!(framing("Transfer-Encoding: Chunked\r\n"), Some(Framing::Chunked));
        for fields in [
            "Content-Length: 1\r\nContent-Length: 1\r\n",
            "Content-Length: 1, 1\r\n",
            "Content-Length: +1\r\n",
            "Content-Length: 0x1\r\n",
            "Content-Length:\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        ] {
            assert_eq!(framing(fields), None, "{fields:?}");
        }
        let answer = |head: &str| ResponseHead::read(head.as_bytes()).expect("a head").framing();
        assert_eq!(answer("HTTP/1.1 200 OK\r\n\r\n"), Some(Framing::UntilClose));
        assert_eq!(
            answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
            Some(Framing::Length(0))
        );
    }

    #[test]
    fn fields_of_a_connection_are_not_passed_on() {
        let fields = "Connection: X-One, close\r\nX-One: 1\r\nX-Two: 2\r\nHost: a\r\nProxy-Authorization: b\r\nTE: trailers\r\n";
        let kept = request(fields).expect("a head").fields.without_connection();
        assert_eq!(kept.iter().collect::<Vec<_>>(), [("x-two", b"2".as_slice())]);
        assert_eq!(
            kept.framed(Framing::Length(3)).head("HTTP/1.1 200 OK"),
            b"HTTP/1.1 200 OK\r\nx-two: 2\r\ncontent-length: 3\r\n\r\n"
        );
    }

    #[tokio::test]
    async fn a_head_has_an_end_and_what_follows_it_is_kept() {
        let (head, rest) =
            read_head(&mut &b"\r\nmore"[..], b"GET / HTTP/1.1\r\n".to_vec()).await.expect("a head");
        assert_eq!((head.as_slice(), rest.as_slice()), (&b"GET / HTTP/1.1\r\n\r\n"[..], &b"more"[..]));
        assert_eq!(read_head(&mut &b"GET / HTTP/1.1\r\n"[..], Vec::new()).await, Err(Unfit::CutOff));
        let long = [b'a'; MAX_HEAD + 1];
        assert_eq!(read_head(&mut &long[..], Vec::new()).await, Err(Unfit::TooLong));
        let mut pieces = tokio::io::AsyncReadExt::chain(&b"GET / HTTP/1.1\r\n\r"[..], &b"\nx"[..]);
        assert_eq!(
            read_head(&mut pieces, Vec::new()).await.expect("a head").1,
            b"x",
            "an end that comes in two pieces"
        );
    }
}
