//! As much HTTP/1.1 as agents need: one request a connection.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest request that is read; agents send whole conversations.
const MAX_REQUEST: usize = 64 * 1024 * 1024;

/// A request.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

/// Reads a request; `None` where the client closes without one.
pub(super) async fn read(stream: &mut TcpStream) -> io::Result<Option<Call>> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if more(stream, &mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(bytes.get(..head_end).unwrap_or_default()).into_owned();
    let mut body = bytes.split_off(head_end + 4);
    let mut words = head.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if header(&head, "expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    if header(&head, "transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        body = read_chunks(stream, body).await?;
    } else {
        let length = header(&head, "content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
        while body.len() < length && more(stream, &mut body).await? > 0 {}
    }
    Ok(Some(Call { method: method.to_owned(), path: path.to_owned(), body }))
}

async fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<usize> {
    if bytes.len() > MAX_REQUEST {
        return Err(io::Error::other("the request is too long"));
    }
    stream.read_buf(bytes).await
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Joins a chunked body: each chunk is its length in hexadecimal digits, its
/// bytes, and a line end; the last has length 0.
async fn read_chunks(stream: &mut TcpStream, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let Some(line_end) = bytes.windows(2).position(|two| two == b"\r\n") else {
            if more(stream, &mut bytes).await? == 0 {
                return Ok(body);
            }
            continue;
        };
        let length = String::from_utf8_lossy(bytes.get(..line_end).unwrap_or_default()).into_owned();
        let length = usize::from_str_radix(length.split(';').next().unwrap_or_default().trim(), 16)
            .map_err(io::Error::other)?;
        let (start, end) = (line_end + 2, line_end + 2 + length + 2);
        while bytes.len() < end {
            if more(stream, &mut bytes).await? == 0 {
                return Ok(body);
            }
        }
        if length == 0 {
            return Ok(body);
        }
        body.extend_from_slice(bytes.get(start..start + length).unwrap_or_default());
        bytes.drain(..end);
    }
}

/// A response.
#[derive(Debug)]
pub(super) struct Response {
    status: u16,
    content_type: &'static str,
    headers: Vec<(String, String)>,
    body: String,
}

impl Response {
    /// Answers with a document.
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { status, content_type: "application/json", headers: Vec::new(), body: body.to_string() }
    }

    /// Answers with events, each under its own name where it has one.
    pub(super) fn events<'a>(events: impl IntoIterator<Item = (Option<&'a str>, Value)>) -> Self {
        let mut body = String::new();
        for (name, data) in events {
            if let Some(name) = name {
                body.push_str(&format!("event: {name}\n"));
            }
            body.push_str(&format!("data: {data}\n\n"));
        }
        Self { status: 200, content_type: "text/event-stream", headers: Vec::new(), body }
    }

    pub(super) fn with_headers(mut self, headers: &[(String, String)]) -> Self {
        self.headers.extend_from_slice(headers);
        self
    }

    pub(super) async fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        let mut head = format!(
            "HTTP/1.1 {} Scripted\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
            self.status,
            self.content_type,
            self.body.len()
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n{}", self.body).as_bytes()).await?;
        stream.shutdown().await
    }
}
