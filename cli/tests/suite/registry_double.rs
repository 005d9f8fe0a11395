//! A registry on loopback, as far as plugins need one; what it holds can be tampered with.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// What a registry holds.
#[derive(Default)]
struct Held {
    blobs: BTreeMap<String, Vec<u8>>,
    /// By tag and by digest.
    manifests: BTreeMap<String, Vec<u8>>,
    /// What lets in, where not everybody is.
    login: Option<String>,
}

/// A registry that ends with the test.
pub(crate) struct RegistryDouble {
    address: SocketAddr,
    held: Arc<Mutex<Held>>,
}

struct Asked {
    method: String,
    path: String,
    authorization: Option<String>,
    body: Vec<u8>,
}

struct Answered(u16, Vec<(&'static str, String)>, Vec<u8>);

fn digest_of(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

impl RegistryDouble {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let held: Arc<Mutex<Held>> = Arc::default();
        let of_thread = Arc::clone(&held);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = serve(&stream, &of_thread, address);
            }
        });
        Self { address, held }
    }

    /// Lets in only who has this login, by a token.
    pub(crate) fn requiring(self, login: &str) -> Self {
        self.held.lock().unwrap().login = Some(login.to_owned());
        self
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// The address of a plugin in it.
    pub(crate) fn plugin(&self, name_and_tag: &str) -> String {
        format!("oci://{}/{name_and_tag}", self.address)
    }

    /// Puts other bytes in place of every archive, under their digests.
    pub(crate) fn corrupt(&self) {
        let mut held = self.held.lock().unwrap();
        held.blobs.values_mut().filter(|blob| blob.starts_with(&[0x1f, 0x8b])).for_each(|blob| {
            let last = blob.len() - 1;
            blob[last] ^= 1;
        });
    }

    /// Answers with other bytes whoever asks for the manifest of a tag by its digest.
    pub(crate) fn lie(&self, tag: &str) {
        let mut held = self.held.lock().unwrap();
        let digest = digest_of(&held.manifests[tag]);
        held.manifests.get_mut(&digest).unwrap().push(b'\n');
    }

    /// Has a tag lead to another archive, as somebody does who may write to the registry.
    pub(crate) fn put_archive(&self, tag: &str, archive: &[u8]) {
        let digest = digest_of(archive);
        self.held.lock().unwrap().blobs.insert(digest.clone(), archive.to_vec());
        self.rewrite(tag, |manifest| {
            manifest["layers"][0]["size"] = archive.len().into();
            manifest["layers"][0]["digest"] = digest.into();
        });
    }

    /// Has a file for whoever asks for it, and returns its URL.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        self.held.lock().unwrap().blobs.insert(name.to_owned(), bytes.to_vec());
        format!("http://{}/blobs/{name}", self.address)
    }

    /// Changes the manifest of a tag.
    pub(crate) fn rewrite(&self, tag: &str, change: impl FnOnce(&mut Value)) {
        let mut held = self.held.lock().unwrap();
        let mut manifest = serde_json::from_slice(&held.manifests[tag]).unwrap();
        change(&mut manifest);
        let bytes = serde_json::to_vec(&manifest).unwrap();
        held.manifests.insert(digest_of(&bytes), bytes.clone());
        held.manifests.insert(tag.to_owned(), bytes);
    }
}

fn serve(stream: &TcpStream, held: &Mutex<Held>, address: SocketAddr) -> std::io::Result<()> {
    let asked = read(stream)?;
    let Answered(status, headers, body) = answer(&asked, &mut held.lock().unwrap(), address);
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status} -\r\nContent-Length: {}\r\nConnection: close\r\n", body.len())?;
    for (name, value) in headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    stream.write_all(b"\r\n")?;
    if asked.method != "HEAD" {
        stream.write_all(&body)?;
    }
    Ok(())
}

fn read(stream: &TcpStream) -> std::io::Result<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut length, mut authorization) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => authorization = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Asked { method, path, authorization, body })
}

fn answer(asked: &Asked, held: &mut Held, address: SocketAddr) -> Answered {
    let nothing = |status| Answered(status, Vec::new(), Vec::new());
    if asked.path.starts_with("/token") {
        let wanted = held.login.as_ref().map(|login| format!("Basic {login}"));
        return match asked.authorization == wanted {
            true => Answered(200, Vec::new(), br#"{"token": "in", "access_token": "in"}"#.to_vec()),
            false => nothing(401),
        };
    }
    if held.login.is_some() && asked.authorization.as_deref() != Some("Bearer in") {
        let challenge = format!("Bearer realm=\"http://{address}/token\",service=\"double\",scope=\"all\"");
        return Answered(401, vec![("WWW-Authenticate", challenge)], Vec::new());
    }
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let last = path.rsplit('/').next().unwrap_or_default();
    match asked.method.as_str() {
        "POST" => Answered(202, vec![("Location", format!("{path}one?state=x"))], Vec::new()),
        "PUT" if path.contains("/blobs/uploads/") => {
            let digest = query.split('&').find_map(|part| part.strip_prefix("digest=")).unwrap_or_default();
            if digest_of(&asked.body) != digest {
                return nothing(400);
            }
            held.blobs.insert(digest.to_owned(), asked.body.clone());
            nothing(201)
        }
        "PUT" => {
            held.manifests.insert(digest_of(&asked.body), asked.body.clone());
            held.manifests.insert(last.to_owned(), asked.body.clone());
            nothing(201)
        }
        _ => {
            let found =
                if path.contains("/blobs/") { held.blobs.get(last) } else { held.manifests.get(last) };
            found.map_or_else(|| nothing(404), |found| Answered(200, Vec::new(), found.clone()))
        }
    }
}
