//! `prompt-context`: the prompt context, group by group.

use wasmtime::component::{ComponentType, LinkerInstance, Lower};

use super::{Guest, at_once};
use crate::context::HookVars;

/// The contract's `hook-vars`: it has no maps.
#[derive(Debug, ComponentType, Lower)]
#[component(record)]
struct Hooks {
    registered: Vec<(String, Vec<String>)>,
}

impl From<&HookVars> for Hooks {
    fn from(vars: &HookVars) -> Self {
        let registered = vars.registered.iter();
        Self { registered: registered.map(|(point, ids)| (point.clone(), ids.clone())).collect() }
    }
}

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    at_once(interface, "samuel", |guest, (): ()| guest.context.base().samuel.clone())?;
    at_once(interface, "project", |guest, (): ()| guest.context.base().project.clone())?;
    at_once(interface, "methodology", |guest, (): ()| guest.context.base().methodology.clone())?;
    at_once(interface, "iteration", |guest, (): ()| guest.context.base().iteration.clone())?;
    at_once(interface, "config", |guest, (): ()| guest.context.base().config.clone())?;
    at_once(interface, "guardrails", |guest, (): ()| guest.context.base().guardrails.clone())?;
    at_once(interface, "paths", |guest, (): ()| guest.context.base().paths.clone())?;
    at_once(interface, "state", |guest, (): ()| guest.context.base().state.clone())?;
    at_once(interface, "mode", |guest, (): ()| guest.context.base().mode.clone())?;
    at_once(interface, "hooks", |guest, (): ()| Hooks::from(&guest.context.base().hooks))?;
    at_once(interface, "group", |guest, (name,): (String,)| {
        guest.context.group(&name).map(|group| group.to_string())
    })
}
