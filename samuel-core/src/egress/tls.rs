//! TLS to the host behind a gateway, whose certificate says who it is.

use std::sync::Arc;

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio_rustls::TlsConnector;

/// Makes what connects by TLS: to hosts that the authorities of Mozilla's list vouch for, and those of a text in
/// PEM, where one is given.
pub(super) fn connector(authority: Option<&[u8]>) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let known = roots.len();
    if let Some(text) = authority {
        for certificate in CertificateDer::pem_slice_iter(text) {
            let certificate = certificate.map_err(|error| format!("it is no certificate in PEM: {error}"))?;
            roots.add(certificate).map_err(|error| format!("a certificate of it cannot be used: {error}"))?;
        }
        if roots.len() == known {
            return Err("there is no certificate in it".to_owned());
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    // What is passed on is of this version.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_a_certificate() {
        assert!(connector(None).is_ok());
        for bad in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert!(connector(Some(bad.as_bytes())).is_err(), "{bad:?}");
        }
    }
}
