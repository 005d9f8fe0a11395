//! The plugin protocol: its version and the names of its interfaces.
//!
//! The interfaces of the contract are `samuel:plugin/<name>@<version>`. A
//! component may be built against another minor version: what it exports and
//! imports is then looked at one by one.

use std::fmt;

use crate::{hook::HookPoint, plugin::Capability};

/// The package of the contract's interfaces.
const PACKAGE: &str = "samuel:plugin/";

/// Interfaces any component may import: types, and what needs no capability.
const FREE: [&str; 8] =
    ["types", "host-types", "log", "agent-port", "config", "plugins", "kv", "prompt-context"];

/// A version of the plugin protocol.
///
/// Protocol 1.N first came with Samuel 2.N: a new protocol takes the number of
/// the Samuel it comes with, and leaves numbers out where nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolVersion {
    /// Grows when older components no longer work.
    pub major: u32,
    /// Grows with additions.
    pub minor: u32,
}

impl ProtocolVersion {
    /// The version this Samuel speaks.
    pub const CURRENT: Self = Self { major: 1, minor: 0 };

    /// Returns the first Samuel that speaks it, such as `2.1`.
    pub fn needed_samuel(self) -> String {
        format!("{}.{}", self.major.saturating_add(1), self.minor)
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Returns the name of a point's interface: its id with hyphens throughout,
/// such as `before-agent-invoke`.
pub fn interface_of(point: HookPoint) -> String {
    point.as_str().replace([':', '.'], "-")
}

/// Returns the full name of an interface the host offers.
pub(super) fn offered(interface: &str) -> String {
    format!("{PACKAGE}{interface}@{}.0", ProtocolVersion::CURRENT)
}

/// An interface of the contract, as a component names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContractName<'a> {
    /// The short name, such as `quality-check`.
    pub(super) interface: &'a str,
    /// The version it was built against.
    pub(super) protocol: ProtocolVersion,
}

impl<'a> ContractName<'a> {
    /// Reads `samuel:plugin/quality-check@1.0.0`; nothing for other packages.
    /// Without a version it is the current one.
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let rest = name.strip_prefix(PACKAGE)?;
        let Some((interface, version)) = rest.split_once('@') else {
            return Some(Self { interface: rest, protocol: ProtocolVersion::CURRENT });
        };
        let mut numbers = version.split(['.', '-', '+']).map(str::parse);
        let major = numbers.next()?.ok()?;
        let minor = numbers.next()?.ok()?;
        Some(Self { interface, protocol: ProtocolVersion { major, minor } })
    }
}

/// What an import of a component needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// No capability.
    Nothing,
    /// This one.
    Capability(Capability),
    /// The host has no such interface.
    Unknown,
}

/// Says what an import needs.
pub(super) fn needs(import: &str) -> Needs {
    if import.starts_with("wasi:") {
        // Linked without preopens, environment, arguments or network.
        return Needs::Nothing;
    }
    let Some(ContractName { interface, .. }) = ContractName::parse(import) else { return Needs::Unknown };
    let capability = Capability::ALL.into_iter().find(|capability| capability.interface() == Some(interface));
    match capability {
        Some(capability) => Needs::Capability(capability),
        None if FREE.contains(&interface) || is_point(interface) => Needs::Nothing,
        None => Needs::Unknown,
    }
}

/// Components with a function at their root name the point's types.
fn is_point(interface: &str) -> bool {
    HookPoint::ALL.iter().any(|point| interface_of(*point) == interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_contract_are_read_with_their_version() {
        let protocol = |major, minor| ProtocolVersion { major, minor };
        let read = |name| ContractName::parse(name).map(|name| (name.interface, name.protocol));
        assert_eq!(read("samuel:plugin/log@1.0.0"), Some(("log", protocol(1, 0))));
        assert_eq!(read("samuel:plugin/log@2.13.1-rc.1"), Some(("log", protocol(2, 13))));
        assert_eq!(read("samuel:plugin/log"), Some(("log", ProtocolVersion::CURRENT)));
        assert_eq!(read("wasi:cli/environment@0.2.0"), None);
        assert_eq!(read("samuel:plugin/log@next"), None);
    }

    #[test]
    fn an_import_needs_the_capability_of_its_interface() {
        assert_eq!(needs("samuel:plugin/exec@1.0.0"), Needs::Capability(Capability::Exec));
        assert_eq!(needs("samuel:plugin/http@1.0.0"), Needs::Capability(Capability::NetworkOutbound));
        assert_eq!(needs("samuel:plugin/kv@1.0.0"), Needs::Nothing);
        assert_eq!(needs("samuel:plugin/before-agent-invoke@1.0.0"), Needs::Nothing);
        assert_eq!(needs("wasi:io/streams@0.2.6"), Needs::Nothing);
        assert_eq!(needs("samuel:plugin/telepathy@1.0.0"), Needs::Unknown);
        assert_eq!(needs("acme:tools/run"), Needs::Unknown);
    }

    #[test]
    fn every_capability_has_an_interface_of_its_own() {
        for capability in Capability::ALL {
            if let Some(interface) = capability.interface() {
                assert_eq!(needs(&offered(interface)), Needs::Capability(capability));
            }
        }
    }
}
