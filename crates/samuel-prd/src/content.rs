//! The content of a document: what forms are recognised by.
//!
//! [`Content`] is a document that was parsed once, with what readers ask about
//! it: its blocks and task sections, or the values of a JSON document, and
//! [`Shapes`], which counts the tell-tale lines in one pass.

use std::ops::Range;

use super::block::{self, Block};
use super::error::PrdError;
use super::json::Json;
use super::section;
use super::shapes::Shapes;
use super::source::Source;

/// A document that was parsed.
#[derive(Debug)]
pub(super) struct Content<'a> {
    pub(super) source: Source<'a>,
    /// The blocks; none of a JSON document.
    pub(super) blocks: Vec<Block>,
    /// The task sections: for each its blocks, by their index.
    pub(super) sections: Vec<Range<usize>>,
    pub(super) shapes: Shapes,
    /// The values of a JSON document.
    pub(super) json: Option<Json<'a>>,
}

impl<'a> Content<'a> {
    /// Parses a document.
    pub(super) fn parse(source: Source<'a>) -> Result<Self, PrdError> {
        if let Some(json) = Json::parse(&source)? {
            let (blocks, sections, shapes) = (Vec::new(), Vec::new(), Shapes::default());
            return Ok(Self { source, blocks, sections, shapes, json: Some(json) });
        }
        let blocks = block::parse(&source)?;
        let sections = section::find(&blocks);
        let shapes = Shapes::count(&blocks, &sections);
        Ok(Self { source, blocks, sections, shapes, json: None })
    }
}
