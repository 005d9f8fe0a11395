//! Registries: a plugin's archive as an artifact, pushed and pulled by the OCI distribution protocol.
//!
//! An artifact is a manifest of the type `application/vnd.samuel.plugin.v1` with one layer, the archive that
//! [`pack`](super::pack) makes. Its digest names it for good; a tag may be moved to another one, which
//! [`FetchedPlugin::moved`](super::FetchedPlugin::moved) tells. Who may log in where is given by the caller.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use ureq::http::{Method, StatusCode};

use super::{
    MAX_BYTES, Manifest, PluginError, RegistryAddress, RegistryLogins, ValidPlugin,
    address::is_tag,
    web::{AUTHORIZATION, Web, WebAnswer, WebRequest, failed},
};
use crate::model::{digest_of, is_digest};

/// The type of the artifact.
const ARTIFACT: &str = "application/vnd.samuel.plugin.v1";
/// The type of its only layer.
const LAYER: &str = "application/vnd.samuel.plugin.layer.v1.tar+gzip";
/// The type of its manifest.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The types of manifests that may stand under a tag. A registry says that there is none where it has one of a type that
/// was not asked for.
const MANIFESTS: [&str; 4] = [
    MANIFEST,
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];
/// What is written as a code in a value of a query.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'/')
    .remove(b',');
/// The configuration of an artifact that has none.
const EMPTY: (&str, &[u8]) = ("application/vnd.oci.empty.v1+json", b"{}");

/// The most bytes of a manifest, and of what a registry says beside.
const MAX_MANIFEST: u64 = 1 << 20;
/// A plugin that was published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PublishedPlugin {
    /// The plugin.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The address with tag and digest, which installs this very plugin.
    pub address: String,
    /// `sha256:` and the digest of the manifest.
    pub digest: String,
    /// Whether the registry had it already.
    pub was_there: bool,
    /// The files in its archive, in order.
    pub files: Vec<String>,
    /// Those of them that git leaves out of a commit, because a `.gitignore` covers them: the archive has them all the
    /// same.
    pub ignored: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactManifest {
    schema_version: u32,
    media_type: Option<String>,
    #[serde(default)]
    artifact_type: Option<String>,
    config: Option<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

impl Descriptor {
    fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self { media_type: media_type.to_owned(), digest: digest_of(bytes), size: bytes.len() as u64 }
    }
}

/// A registry that is talked to.
pub(super) struct Registry<'a> {
    address: &'a RegistryAddress,
    web: Web,
    login: Option<String>,
    /// What lets in, once the registry has asked for it.
    bearer: Option<String>,
}

impl<'a> Registry<'a> {
    pub(super) fn new(address: &'a RegistryAddress, web: Web, logins: &RegistryLogins) -> Self {
        Self { address, web, login: logins.of(address).map(str::to_owned), bearer: None }
    }

    /// Gets the archive, and the digest of its manifest.
    ///
    /// # Errors
    /// Returns [`PluginError::Registry`] where it cannot be had, [`PluginError::Digest`] where something is not what
    /// its digest says, and [`PluginError::TooLarge`] for more than a plugin may have.
    pub(super) fn pull(&mut self) -> Result<(String, Vec<u8>), PluginError> {
        let reference = self.address.reference().to_owned();
        let body = self.manifest(&reference)?.ok_or_else(|| self.failed("is not there"))?;
        let digest = digest_of(&body);
        self.hold(self.address.digest.as_deref(), &digest)?;
        let manifest: ArtifactManifest = serde_json::from_slice(&body)
            .map_err(|error| self.failed(format!("has no manifest: {error}")))?;
        let layer = manifest.layers.iter().find(|layer| layer.media_type == LAYER);
        let layer = layer.ok_or_else(|| self.failed("is no plugin of Samuel"))?;
        if layer.size > MAX_BYTES {
            return Err(PluginError::TooLarge { what: "bytes", limit: MAX_BYTES });
        }
        if !is_digest(&layer.digest) {
            return Err(self.failed("has no manifest: its layer has no digest"));
        }
        let url = self.url(&format!("blobs/{}", layer.digest));
        let answer = self.ask(WebRequest::get(url), layer.size)?;
        self.expect(&answer, &[StatusCode::OK])?;
        self.hold(Some(&layer.digest), &digest_of(&answer.body))?;
        Ok((digest, answer.body))
    }

    /// Puts an archive there under the address's tag.
    ///
    /// # Errors
    /// Returns [`PluginError::Registry`] where the registry does not take it, and [`PluginError::Published`] where it
    /// has another one under the tag and may not replace it.
    pub(super) fn push(
        &mut self,
        archive: Vec<u8>,
        plugin: ValidPlugin,
        replace: bool,
    ) -> Result<PublishedPlugin, PluginError> {
        let ValidPlugin { manifest: plugin, files, ignored } = plugin;
        let manifest =
            serde_json::to_vec(&artifact(&plugin, &archive)).expect("texts and numbers are always JSON");
        let digest = digest_of(&manifest);
        let tag = self.address.tag.clone().unwrap_or_else(|| tag_of(&plugin));
        if !is_tag(&tag) {
            return Err(PluginError::Request {
                problem: format!(
                    "the version {} is no tag of a registry: name one in the address",
                    plugin.version
                ),
            });
        }
        let before = self.manifest(&tag)?.map(|body| digest_of(&body));
        let was_there = before.as_ref() == Some(&digest);
        if before.is_some() && !was_there && !replace {
            return Err(PluginError::Published { address: self.address.to_string(), tag });
        }
        if !was_there {
            self.upload(EMPTY.1.to_vec())?;
            self.upload(archive)?;
            let url = self.url(&format!("manifests/{tag}"));
            let put = WebRequest::new(Method::PUT, url).header("content-type", MANIFEST).body(manifest);
            let answer = self.ask(put, MAX_MANIFEST)?;
            self.expect(&answer, &[StatusCode::CREATED, StatusCode::OK])?;
        }
        let address =
            RegistryAddress { tag: Some(tag), digest: Some(digest.clone()), ..self.address.clone() };
        let (name, version, address) = (plugin.name, plugin.version.to_string(), address.to_string());
        Ok(PublishedPlugin { name, version, address, digest, was_there, files, ignored })
    }

    fn upload(&mut self, bytes: Vec<u8>) -> Result<(), PluginError> {
        let digest = digest_of(&bytes);
        let known = self.url(&format!("blobs/{digest}"));
        if self.ask(WebRequest::new(Method::HEAD, known), MAX_MANIFEST)?.status == StatusCode::OK {
            return Ok(());
        }
        let begin = self.url("blobs/uploads/");
        let begun = self.ask(WebRequest::new(Method::POST, begin), MAX_MANIFEST)?;
        self.expect(&begun, &[StatusCode::ACCEPTED])?;
        let location = begun.location.ok_or_else(|| self.failed("does not say where to upload to"))?;
        let location = match location.starts_with('/') {
            true => format!("{}{location}", self.address.origin()),
            false => location,
        };
        if !location.starts_with(&format!("{}/", self.address.origin())) {
            return Err(self.failed("has uploads go to another host"));
        }
        let mark = if location.contains('?') { '&' } else { '?' };
        let url = format!("{location}{mark}digest={digest}");
        let put =
            WebRequest::new(Method::PUT, url).header("content-type", "application/octet-stream").body(bytes);
        let answer = self.ask(put, MAX_MANIFEST)?;
        self.expect(&answer, &[StatusCode::CREATED])
    }

    /// Gets a manifest, of whatever type; nothing where there is none.
    fn manifest(&mut self, reference: &str) -> Result<Option<Vec<u8>>, PluginError> {
        let url = self.url(&format!("manifests/{reference}"));
        let answer = self.ask(WebRequest::get(url).header("accept", MANIFESTS.join(", ")), MAX_MANIFEST)?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        self.expect(&answer, &[StatusCode::OK])?;
        Ok(Some(answer.body))
    }

    /// Sends a request, and again with what lets in where the registry asks for it. A host that the registry
    /// redirects to is told nothing, whatever it asks for.
    fn ask(&mut self, mut request: WebRequest, limit: u64) -> Result<WebAnswer, PluginError> {
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer);
        }
        // What a registry says of a refusal may be longer than what was asked for.
        let limit = limit.max(MAX_MANIFEST);
        let answer = self.web.send(&request, limit)?;
        let is_refused = answer.status == StatusCode::UNAUTHORIZED && answer.origin == self.address.origin();
        let Some(challenge) = answer.challenge.as_deref().filter(|_| is_refused) else { return Ok(answer) };
        let Some(bearer) = self.let_in(challenge)?.filter(|bearer| self.bearer.as_ref() != Some(bearer))
        else {
            return Ok(answer);
        };
        let request = request.header(AUTHORIZATION, &bearer);
        self.bearer = Some(bearer);
        self.web.send(&request, limit)
    }

    /// Gets what lets in, as a registry asks for it; nothing where there is none.
    fn let_in(&self, challenge: &str) -> Result<Option<String>, PluginError> {
        let basic = self.login.as_ref().map(|login| format!("Basic {login}"));
        let parts = challenge.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, parts)) = parts else { return Ok(basic) };
        let part = |key: &str| {
            let behind = parts.split_once(&format!("{key}=\""))?.1;
            Some(behind.split_once('"')?.0)
        };
        let Some(realm) = part("realm") else { return Ok(basic) };
        let named = |key: &str| Some(format!("{key}={}", utf8_percent_encode(part(key)?, QUERY)));
        let query: Vec<String> = ["service", "scope"].into_iter().filter_map(named).collect();
        let mark = if realm.contains('?') { '&' } else { '?' };
        let request = WebRequest::get(format!("{realm}{mark}{}", query.join("&")));
        let request = match &basic {
            Some(basic) => request.header(AUTHORIZATION, basic),
            None => request,
        };
        let answer = self.web.send(&request, MAX_MANIFEST)?;
        Ok(token(&answer.body).map(|token| format!("Bearer {token}")))
    }

    fn url(&self, path: &str) -> String {
        format!("{}/v2/{}/{path}", self.address.origin(), self.address.name)
    }

    fn failed(&self, problem: impl Into<String>) -> PluginError {
        failed(&self.address.to_string(), problem.into())
    }

    fn expect(&self, answer: &WebAnswer, wanted: &[StatusCode]) -> Result<(), PluginError> {
        match answer.status {
            status if wanted.contains(&status) => Ok(()),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Err(self.failed("does not let you in; log in with `docker login` or `podman login`"))
            }
            status => Err(self.failed(format!("answers {status}"))),
        }
    }

    fn hold(&self, expected: Option<&str>, found: &str) -> Result<(), PluginError> {
        match expected.filter(|expected| *expected != found) {
            Some(expected) => Err(PluginError::Digest {
                from: self.address.to_string(),
                expected: expected.to_owned(),
                found: found.to_owned(),
            }),
            None => Ok(()),
        }
    }
}

/// Returns the token of an answer, which some registries give by both of its names.
fn token(answer: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Token {
        token: Option<String>,
        access_token: Option<String>,
    }
    let answer: Token = serde_json::from_slice(answer).ok()?;
    answer.token.or(answer.access_token)
}

/// Returns the tag of a version. No tag has a `+` in it, and no version a `_`.
fn tag_of(plugin: &Manifest) -> String {
    plugin.version.to_string().replace('+', "_")
}

fn artifact(plugin: &Manifest, archive: &[u8]) -> ArtifactManifest {
    let said = [
        ("title", plugin.name.clone()),
        ("version", plugin.version.to_string()),
        ("description", plugin.description.clone()),
        ("authors", plugin.authors.join(", ")),
        ("licenses", plugin.license.clone()),
        ("source", plugin.repository.clone()),
    ];
    let annotations = said.into_iter().filter(|(_, text)| !text.is_empty());
    ArtifactManifest {
        schema_version: 2,
        media_type: Some(MANIFEST.to_owned()),
        artifact_type: Some(ARTIFACT.to_owned()),
        config: Some(Descriptor::of(EMPTY.0, EMPTY.1)),
        layers: vec![Descriptor::of(LAYER, archive)],
        annotations: annotations
            .map(|(key, text)| (format!("org.opencontainers.image.{key}"), text))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use super::{
        super::web::tests::{answer, server},
        *,
    };

    #[test]
    fn a_token_is_read_by_either_of_its_names_and_by_both() {
        for answer in
            [r#"{"token": "t"}"#, r#"{"access_token": "t"}"#, r#"{"token": "t", "access_token": "t"}"#]
        {
            assert_eq!(token(answer.as_bytes()).as_deref(), Some("t"), "{answer}");
        }
        assert_eq!(token(b"{}"), None);
    }

    #[test]
    fn a_host_that_a_registry_redirects_to_gets_no_login_however_it_asks() {
        let (url, asked) = server(|port| {
            let challenge = format!("WWW-Authenticate: Bearer realm=\"http://127.0.0.1:{port}/token\"\r\n");
            vec![
                answer(307, &format!("Location: http://localhost:{port}/elsewhere\r\n"), b""),
                answer(401, &challenge, b""),
            ]
        });
        let host = url.trim_start_matches("http://");
        let logins = RegistryLogins([(host.to_owned(), "YTpi".to_owned())].into());
        let address = RegistryAddress::parse(&format!("oci://{host}/ada/lint")).unwrap();
        let web = Web::within(std::time::Duration::from_secs(20));
        let error = Registry::new(&address, web, &logins).pull().unwrap_err().to_string();
        assert!(error.contains("does not let you in"), "{error}");
        assert_eq!(asked.join().unwrap().len(), 2);
    }

    #[test]
    fn a_tag_that_names_a_list_of_images_is_there_and_no_plugin() {
        let list = br#"{"schemaVersion": 2, "manifests": []}"#;
        let (url, asked) = server(move |_| vec![answer(200, "", list), answer(200, "", list)]);
        let address = format!("oci://{}/ada/lint:1.0.0", url.trim_start_matches("http://"));
        let address = RegistryAddress::parse(&address).unwrap();
        let web = Web::within(std::time::Duration::from_secs(20));
        let mut registry = Registry::new(&address, web, &RegistryLogins::default());
        let text = "[plugin]\nname = \"lint\"\nkind = \"skill\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n";
        let manifest = Manifest::parse(std::path::Path::new("samuel-plugin.toml"), text).unwrap();
        let plugin = ValidPlugin { manifest, files: Vec::new(), ignored: Vec::new() };
        let error = registry.push(b"archive".to_vec(), plugin, false).unwrap_err();
        assert!(matches!(error, PluginError::Published { .. }), "{error}");
        let error = registry.pull().unwrap_err().to_string();
        assert!(error.contains("is no plugin of Samuel"), "{error}");
        for asked in asked.join().unwrap() {
            // What registries want to hear before they tell of a list.
            assert!(MANIFESTS.iter().all(|kind| asked.contains(kind)), "{asked}");
        }
    }

    #[test]
    fn a_registry_is_asked_for_what_lets_in_however_its_service_is_written() {
        let (url, asked) = server(|port| {
            let challenge = format!(
                "WWW-Authenticate: bearer realm=\"http://127.0.0.1:{port}/token\",service=\"My registry\"\r\n"
            );
            vec![answer(401, &challenge, b""), answer(200, "", br#"{"token": "t"}"#), answer(404, "", b"")]
        });
        let address =
            RegistryAddress::parse(&format!("oci://{}/ada/lint", url.trim_start_matches("http://")));
        let (address, web) = (address.unwrap(), Web::within(std::time::Duration::from_secs(20)));
        let error = Registry::new(&address, web, &RegistryLogins::default()).pull().unwrap_err().to_string();
        assert!(error.contains("is not there"), "{error}");
        let asked = asked.join().unwrap();
        assert!(asked[1].starts_with("GET /token?service=My%20registry "), "{}", asked[1]);
        assert!(asked[2].to_ascii_lowercase().contains("authorization: bearer t"), "{}", asked[2]);
    }

    #[test]
    fn a_version_with_metadata_is_a_tag_as_registries_take_one() {
        let text = "[plugin]\nname = \"lint\"\nkind = \"skill\"\nversion = \"1.0.0+b1\"\nsamuel = \"^2.0\"\n";
        let manifest = Manifest::parse(std::path::Path::new("samuel-plugin.toml"), text).unwrap();
        assert_eq!(tag_of(&manifest), "1.0.0_b1");
        assert!(is_tag("1.0.0_b1") && !is_tag("1.0.0+b1") && !is_tag(&"1".repeat(129)));
    }
}
