//! The program of an image as handlers: called in a container, spoken with, answered.

mod exchange;
mod handler;
mod host;
mod image;
mod load;
mod reach;
mod socket;

use super::{ImageMode, grants};

pub use handler::ImageHandler;
pub use image::{ImagePlugin, ImageSetup};
pub(in crate::plugin) use load::load;
