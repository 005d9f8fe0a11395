//! Bodies of HTTP/1.1 messages, passed on to their end and no further.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    time::timeout,
};

use super::{head::Framing, secret::Mask};

/// The most that is passed on at once, in bytes.
const MAX_PIECE: usize = 16 << 10;
/// The longest line with the length of a piece, and all that may follow the last of them, in bytes.
const MAX_LINE: usize = 256;
const MAX_TRAILER: usize = 16 << 10;

/// Which side a body could not be passed on for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// What comes is cut off, late or malformed.
    From,
    /// Nobody takes it any more.
    To,
}

/// What comes in on a connection, behind a head that was read.
pub(super) struct Incoming<R> {
    reader: BufReader<tokio::io::Chain<io::Cursor<Vec<u8>>, R>>,
    patience: Duration,
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    /// Takes what came behind the head, and what is still to come, for each piece of which is waited so long.
    pub(super) fn new(rest: Vec<u8>, from: R, patience: Duration) -> Self {
        Self {
            reader: BufReader::with_capacity(MAX_PIECE, AsyncReadExt::chain(io::Cursor::new(rest), from)),
            patience,
        }
    }

    /// Passes a body on, in which a secret is hidden.
    pub(super) async fn pass_on(
        &mut self,
        to: &mut (impl AsyncWrite + Unpin),
        framing: Framing,
        mask: &mut Mask,
    ) -> Result<(), Broken> {
        let mut to = Outgoing { to, framing, patience: self.patience };
        match framing {
            Framing::Length(length) => self.pass_length(&mut to, length, mask).await?,
            Framing::Chunked => {
                while let length @ 1.. = self.length_of_piece().await.map_err(|_| Broken::From)? {
                    self.pass_length(&mut to, length, mask).await?;
                    if !self.line(MAX_LINE).await.map_err(|_| Broken::From)?.is_empty() {
                        return Err(Broken::From);
                    }
                }
                self.skip_trailer().await.map_err(|_| Broken::From)?;
            }
            Framing::UntilClose => while self.pass_piece(&mut to, u64::MAX, mask).await? > 0 {},
        }
        to.write(&mask.end()).await?;
        to.end().await
    }

    async fn pass_length<W: AsyncWrite + Unpin>(
        &mut self,
        to: &mut Outgoing<'_, W>,
        mut length: u64,
        mask: &mut Mask,
    ) -> Result<(), Broken> {
        while length > 0 {
            match self.pass_piece(to, length, mask).await? {
                0 => return Err(Broken::From),
                passed => length -= passed,
            }
        }
        Ok(())
    }

    /// Passes on what there is, at most so much, and returns how much it was.
    async fn pass_piece<W: AsyncWrite + Unpin>(
        &mut self,
        to: &mut Outgoing<'_, W>,
        most: u64,
        mask: &mut Mask,
    ) -> Result<u64, Broken> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let there = in_time(self.patience, self.reader.fill_buf()).await.map_err(|_| Broken::From)?;
        let piece = there.get(..there.len().min(most)).unwrap_or_default();
        let (told, count) = (mask.pass(piece), piece.len());
        self.reader.consume(count);
        to.write(&told).await?;
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }

    async fn length_of_piece(&mut self) -> io::Result<u64> {
        let line = self.line(MAX_LINE).await?;
        let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
        let is_number = (1..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
        let text = str::from_utf8(digits).ok().filter(|_| is_number);
        let length = text.and_then(|text| u64::from_str_radix(text, 16).ok());
        length.ok_or_else(|| malformed("the length of a piece is no number"))
    }

    /// Reads the fields behind the last piece, which are not passed on.
    async fn skip_trailer(&mut self) -> io::Result<()> {
        let mut left = MAX_TRAILER;
        loop {
            let line = self.line(left).await?;
            if line.is_empty() {
                return Ok(());
            }
            left = left.saturating_sub(line.len() + 2);
        }
    }

    /// Reads a line without its end.
    async fn line(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(2);
        let mut line = Vec::new();
        in_time(self.patience, (&mut self.reader).take(limit).read_until(b'\n', &mut line)).await?;
        match line.strip_suffix(b"\r\n") {
            Some(line) if !line.contains(&b'\r') => Ok(line.to_vec()),
            _ => Err(malformed("a line has no end")),
        }
    }
}

/// Where a body goes, in the form that its head says.
struct Outgoing<'a, W> {
    to: &'a mut W,
    framing: Framing,
    patience: Duration,
}

impl<W: AsyncWrite + Unpin> Outgoing<'_, W> {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        // An empty piece would be the last.
        if bytes.is_empty() {
            return Ok(());
        }
        let written = async {
            match self.framing {
                Framing::Chunked => {
                    let mut piece = format!("{:x}\r\n", bytes.len()).into_bytes();
                    piece.extend(bytes);
                    piece.extend(b"\r\n");
                    self.to.write_all(&piece).await?;
                }
                Framing::Length(_) | Framing::UntilClose => self.to.write_all(bytes).await?,
            }
            self.to.flush().await
        };
        in_time(self.patience, written).await.map_err(|_| Broken::To)
    }

    async fn end(&mut self) -> Result<(), Broken> {
        if self.framing == Framing::Chunked {
            let written = async {
                self.to.write_all(b"0\r\n\r\n").await?;
                self.to.flush().await
            };
            in_time(self.patience, written).await.map_err(|_| Broken::To)?;
        }
        Ok(())
    }
}

async fn in_time<T>(patience: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(patience, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::{super::secret::Secret, *};

    /// Passes on what comes in, and returns what arrived and whether it was whole; and what was left behind it.
    async fn passed(given: &str, framing: Framing) -> (String, bool, String) {
        let (now, later) = given.split_at(given.len() / 2);
        let mut incoming = Incoming::new(now.into(), later.as_bytes(), Duration::from_secs(5));
        let mut arrived = Vec::new();
        let mut mask = Secret::new("sk-secret").mask();
        let is_whole = incoming.pass_on(&mut arrived, framing, &mut mask).await.is_ok();
        let mut left = String::new();
        let _ = incoming.reader.read_to_string(&mut left).await;
        (String::from_utf8(arrived).expect("text"), is_whole, left)
    }

    fn whole(arrived: &str, left: &str) -> (String, bool, String) {
        (arrived.to_owned(), true, left.to_owned())
    }

    #[tokio::test]
    async fn a_body_ends_where_its_head_says() {
        assert_eq!(passed("helloGET / HTTP/1.1", Framing::Length(5)).await, whole("hello", "GET / HTTP/1.1"));
        assert_eq!(passed("hello", Framing::UntilClose).await, whole("hello", ""));
        let (arrived, is_whole, left) =
            passed("5\r\nhello\r\n1;a=b\r\n!\r\n0\r\nX: y\r\n\r\nGET", Framing::Chunked).await;
        assert!(
            is_whole && left == "GET" && arrived.ends_with("1\r\n!\r\n0\r\n\r\n"),
            "{arrived:?} {left:?}"
        );
        assert!(!passed("hell", Framing::Length(5)).await.1, "cut off");
    }

    #[tokio::test]
    async fn pieces_that_could_be_read_in_two_ways_are_refused() {
        let long = "0".repeat(300);
        for bad in [
            "5\nhello\r\n0\r\n\r\n",
            "+5\r\nhello\r\n0\r\n\r\n",
            "5\r\nhello!\r\n0\r\n\r\n",
            "\r\n",
            "x\r\n",
            "5 5\r\nhello\r\n",
            &long,
        ] {
            assert!(!passed(bad, Framing::Chunked).await.1, "{bad:?}");
        }
    }

    #[tokio::test]
    async fn a_secret_is_hidden_and_the_length_stays() {
        assert_eq!(passed("a sk-secret b", Framing::Length(13)).await, whole("a ********* b", ""));
        let (arrived, ..) = passed("5\r\nsk-se\r\n5\r\ncret!\r\n0\r\n\r\n", Framing::Chunked).await;
        assert!(!arrived.contains("sk-se") && arrived.contains("*********!"), "{arrived:?}");
    }
}
