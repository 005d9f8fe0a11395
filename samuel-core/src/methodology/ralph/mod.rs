//! Ralph: the methodology that is built in.
pub mod git;
#[cfg(test)]
mod testing;
