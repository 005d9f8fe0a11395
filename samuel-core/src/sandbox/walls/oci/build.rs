//! The image of a project: built of what it describes, or one that the engine has.

use std::{path::Path, time::Duration};

use super::{Containers, Image, SandboxError, containerfile, label_of, unusable};
use crate::fs::Root;

/// Where a project describes its image, from its root. What lies beside it can be copied into the image.
const FILE: &str = ".samuel/sandbox/Containerfile";
/// How long it may be, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

impl Containers {
    /// Builds the image that the project at a root describes in `.samuel/sandbox/Containerfile`, of what lies in that
    /// directory and of images that are there: nothing is pulled, and what it runs has no network. Returns the
    /// reference that pins it. Blocks, for half an hour at most.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unusable`] where there is no engine or no such file, and where it cannot be built.
    pub fn build_image(&self, root: &Path) -> Result<Image, SandboxError> {
        let file = root.join(FILE);
        if !file.symlink_metadata().is_ok_and(|found| found.is_file()) {
            return Err(unusable(format!("there is no {FILE} that describes an image")));
        }
        let cannot = |told: String| unusable(format!("the image of {FILE} cannot be built: {told}"));
        let text = Root::new(root).read_text(&file, MAX_FILE).map_err(|error| cannot(error.to_string()))?;
        for image in containerfile::sources(&text).map_err(cannot)?.images {
            let found = self.engine()?.has_image(&image);
            found.map_err(|_| {
                cannot(format!("{image}, of which it is made, is not there, and nothing is pulled"))
            })?;
        }
        let name = format!("localhost/samuel-{}", label_of(root));
        let context = file.parent().unwrap_or(root);
        let built = self.engine()?.build(&name, &file, context, PATIENCE);
        built.and_then(|reference| Image::parse(&reference)).map_err(cannot)
    }

    /// Returns the reference that pins an image which the engine has, by its name or a reference that pins it already.
    /// Nothing is pulled. Blocks.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unusable`] where there is no engine, or it has no such image.
    pub fn find_image(&self, name: &str) -> Result<Image, SandboxError> {
        let image = self.pinned(name)?;
        let engine = self.engine()?;
        let has = engine.has_image(image.as_str());
        has.map_err(|told| unusable(format!("{} does not have {image}: {told}", engine.kind().name())))?;
        Ok(image)
    }

    /// Returns the reference that pins an image, which the engine has under any name. Blocks.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] where there is no engine, or it has no such image.
    pub(crate) fn pinned(&self, image: &str) -> Result<Image, SandboxError> {
        if let Ok(pinned) = Image::parse(image) {
            return Ok(pinned);
        }
        let engine = self.engine()?;
        let name = engine.kind().name();
        let reference = engine.pin(image).map_err(|told| {
            unusable(format!("{name} does not have the image {image}, and Samuel pulls none: {told}"))
        })?;
        Image::parse(&reference).map_err(unusable)
    }
}
