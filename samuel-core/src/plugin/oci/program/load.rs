//! Making handlers of an installed plugin that is an image.

use std::{path::Path, sync::Arc};

use super::{ImageHandler, ImagePlugin, ImageSetup};
use crate::{
    hook::{Handler, Point},
    plugin::{
        Binding, LoadOptions, Plugin, PluginError,
        load::{AtAnyPoint, Register, Shared},
    },
    sandbox::{Image, OCI, SandboxError},
};

/// Makes the handlers of a plugin of this kind. Blocks.
pub(in crate::plugin) fn load(
    plugin: &Plugin,
    root: &Path,
    options: &LoadOptions,
) -> Result<Register, PluginError> {
    let refused = |source| PluginError::Image { name: plugin.manifest.name.clone(), source };
    let pinned = plugin.entry.image.as_deref().or(plugin.manifest.image.as_deref()).unwrap_or_default();
    let image = Image::parse(pinned)
        .map_err(|problem| refused(SandboxError::Unusable { name: OCI.to_owned(), problem }))?;
    let setup = ImageSetup {
        name: plugin.manifest.name.clone(),
        image,
        mode: plugin.manifest.image_mode,
        granted: plugin.granted().clone(),
        config: plugin.config.clone(),
    };
    let image = ImagePlugin::new(setup, root, options).map_err(refused)?;
    let handler = |binding: &Binding| {
        let handler = image.handler(&binding.handler);
        let handler = if binding.interactive { handler.interactive() } else { handler };
        binding.point.visit(Shared { handler: Arc::new(handler), binding })
    };
    let handlers: Vec<Register> = plugin.manifest.bindings.iter().map(handler).collect();
    Ok(Arc::new(move |source, registry| handlers.iter().for_each(|register| register(source, registry))))
}

impl AtAnyPoint for ImageHandler {
    fn at<P: Point>(self: Arc<Self>) -> Arc<dyn Handler<P>> {
        self
    }
}
