//! `samuel plugin publish`: a plugin's archive, put into a registry.

use std::path::Path;

use super::{
    FetchOptions, PluginError, PublishedPlugin, RegistryAddress, archive::archive_of, fetch::blocking,
    registry::Registry, validate::validated, web::Web,
};

/// Packs a plugin that [`validate`](super::validate) accepts, and puts it into a registry: under the address's
/// tag, where it has none under its version. A tag that is there already stays what it is unless `replace`
/// says otherwise.
///
/// # Errors
/// Returns what [`pack`](super::pack) returns, [`PluginError::Request`] for an address with a digest, which is what
/// publishing finds out, [`PluginError::Registry`] where the registry does not take it, and
/// [`PluginError::Published`] where it has another one under the tag.
pub async fn publish(
    directory: &Path,
    address: &RegistryAddress,
    replace: bool,
    options: &FetchOptions,
) -> Result<PublishedPlugin, PluginError> {
    if address.digest.is_some() {
        let problem = "a plugin is published under a tag: leave the digest out of the address".to_owned();
        return Err(PluginError::Request { problem });
    }
    let (valid, contents) = validated(directory, options).await?;
    let (directory, address) = (directory.to_owned(), address.clone());
    let (logins, web) = (options.registry_logins.clone(), Web::within(options.timeout));
    blocking(move || {
        let archive = archive_of(&directory, &valid.manifest, &contents)?;
        Registry::new(&address, web, &logins).push(archive, valid.packed(), replace)
    })
    .await
}
