//! Which hooks there are: everything that was registered and is not built in.

use serde::Serialize;

use super::hook_report::ChainReport;
use crate::hook::{
    ChainMode, HookFileEntry, HookLayer, HookPoint, OnFailure, PluginIdentity, Registered, Registry, Tier,
    owner_of,
};

/// The hooks of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HookList {
    /// One for each handler and hook point, in the order in which they run.
    pub hooks: Vec<ListedHook>,
    /// How many handlers are built in, which are not listed.
    pub built_in: usize,
}

/// A hook in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedHook {
    /// Its id.
    pub id: String,
    /// The hook point that it answers at.
    pub point: HookPoint,
    /// What kind of thing it is.
    pub tier: Tier,
    /// What its file calls the event, where that is not the hook point, such as `PostAbilityCall`.
    pub event_type: Option<String>,
    /// Which calls it is for, in words, where it is not for all, such as `ability_scope=Bash`.
    pub matches: Option<String>,
    /// Whether it runs where its point fires.
    pub enabled: bool,
    /// Why it does not, where it does not.
    pub why_not: Option<String>,
    /// Whether more than its own work ends when it breaks: what it is asked about, or as is
    /// configured for its point.
    pub blocking: bool,
    /// The iterations it is for: `both`, `implementation` or `discovery`.
    pub mode: ChainMode,
    /// Where it comes from: the place in a hook file, the place in samuel.toml that orders it, or
    /// the directory of its plugin; nothing where the program itself brings it.
    pub place: Option<String>,
    /// The command, of one from a hook file.
    pub command: Option<String>,
}

impl HookList {
    /// Lists the hooks of chains, which were made of the registry.
    pub(super) fn of(chains: &[ChainReport], registry: &Registry) -> Self {
        let mut list = Self { hooks: Vec::new(), built_in: 0 };
        for chain in chains {
            let registered = registry.registered(chain.point);
            list.built_in += registered.iter().filter(|one| one.tier == Tier::BuiltIn).count();
            let run = chain.run.iter().map(|one| (one.id.as_str(), None));
            let skipped = chain.skipped.iter().map(|one| (one.id.as_str(), Some(one.why.clone())));
            for (id, why_not) in run.chain(skipped) {
                let found = registered.iter().find(|one| &*one.info.id == id && one.tier != Tier::BuiltIn);
                let of_file = |one: &Registered, what: fn(&HookFileEntry) -> Option<String>| {
                    one.entry.as_deref().and_then(what)
                };
                list.hooks.extend(found.map(|one| ListedHook {
                    id: id.to_owned(),
                    point: chain.point,
                    tier: one.tier,
                    event_type: of_file(one, |entry| entry.event_type.map(str::to_owned)),
                    matches: of_file(one, |entry| {
                        Some(entry.matches.clone()).filter(|text| !text.is_empty())
                    }),
                    enabled: why_not.is_none(),
                    why_not,
                    blocking: one.on_failure != OnFailure::Warn
                        || one.entry.as_ref().is_some_and(|entry| entry.blocking),
                    mode: chain.mode,
                    place: place(one, chain, registry.plugins()),
                    command: one.entry.as_ref().map(|entry| entry.command.clone()),
                }));
            }
        }
        list
    }
}

/// Returns where a handler comes from.
fn place(handler: &Registered, chain: &ChainReport, plugins: &[PluginIdentity]) -> Option<String> {
    let id = &*handler.info.id;
    if let Some(entry) = &handler.entry {
        return Some(entry.to_string());
    }
    let run = chain.run.iter().find(|one| one.id == id).and_then(|one| one.origin.as_ref());
    let origin = run.or_else(|| chain.skipped.iter().find(|one| one.id == id)?.origin.as_ref());
    let directory = || {
        let owner = owner_of(id);
        let of_plugin =
            plugins.iter().find(|plugin| handler.info.layer == HookLayer::Plugin && plugin.name == owner);
        of_plugin.map(|plugin| plugin.directory.clone())
    };
    origin.map(ToString::to_string).or_else(directory)
}
