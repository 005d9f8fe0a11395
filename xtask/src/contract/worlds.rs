//! `wit/v1/worlds.wit`: a world for each point.

use std::fmt::Write as _;

use super::model::Contract;

/// Writes the file.
pub(super) fn worlds(contract: &Contract) -> String {
    let mut out = format!(
        "package samuel:plugin@{};\n\n\
         // Written by `cargo xtask contract` from `wit/points.toml`.\n\
         //\n\
         // One world per hook point: a component implements those it handles, and the\n\
         // host looks each of them up by its export.\n",
        contract.version
    );
    for point in &contract.points {
        let _ = write!(out, "\nworld {0}-hook {{\n  export {0};\n}}\n", point.interface);
    }
    out
}
