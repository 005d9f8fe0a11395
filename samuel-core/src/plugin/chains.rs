//! Handlers of a plugin in the chains of samuel.toml, taken out when it is
//! uninstalled: a chain that names a handler which is not there stops every start.

use serde::Serialize;
use toml_edit::{Array, DocumentMut, Item, RawString, TableLike, Value};

use crate::hook::owner_of;

/// What was taken out of a chain in samuel.toml with its plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unlisted {
    /// The key, such as `hooks."quality.check".handlers`.
    pub key: String,
    /// The names that it had of the plugin's handlers.
    pub names: Vec<String>,
    /// Whether the whole key is gone, because it named no other handler: the
    /// point has its usual chain again.
    pub is_removed: bool,
}

/// Takes the handlers of a plugin out of every chain of a document.
pub(super) fn take_out(document: &mut DocumentMut, plugin: &str) -> Vec<Unlisted> {
    let mut unlisted = Vec::new();
    of_layer(document.as_table_mut(), "hooks", plugin, &mut unlisted);
    let methodologies = document.get_mut("methodology").and_then(Item::as_table_like_mut);
    for (name, table) in methodologies.into_iter().flat_map(TableLike::iter_mut) {
        if let Some(table) = table.as_table_like_mut() {
            of_layer(table, &format!("methodology.{}.hooks", name.get()), plugin, &mut unlisted);
        }
    }
    unlisted
}

/// Does that in the table `hooks` of a layer, which goes as well if nothing else was in it.
fn of_layer(layer: &mut dyn TableLike, path: &str, plugin: &str, unlisted: &mut Vec<Unlisted>) {
    let Some(hooks) = layer.get_mut("hooks") else { return };
    let may_go = !has_comment(hooks);
    let Some(points) = hooks.as_table_like_mut() else { return };
    if of_points(points, path, plugin, unlisted) && points.is_empty() && may_go {
        layer.remove("hooks");
    }
}

/// Says whether somebody wrote a comment above a table, which would go with it.
fn has_comment(table: &Item) -> bool {
    let above = table.as_table().and_then(|table| table.decor().prefix()).and_then(RawString::as_str);
    above.is_some_and(|above| above.contains('#'))
}

/// Returns whether a chain is gone because nothing else was in it.
fn of_points(points: &mut dyn TableLike, path: &str, plugin: &str, unlisted: &mut Vec<Unlisted>) -> bool {
    let mut emptied = Vec::new();
    for (point, chain) in points.iter_mut() {
        let (may_go, before) = (!has_comment(chain), unlisted.len());
        let Some(chain) = chain.as_table_like_mut() else { continue };
        let key = |field| format!("{path}.\"{}\".{field}", point.get());
        if let Some(handlers) = chain.get_mut("handlers").and_then(Item::as_array_mut) {
            let names = of_list(handlers, plugin);
            let is_removed = handlers.is_empty();
            if !names.is_empty() {
                unlisted.push(Unlisted { key: key("handlers"), names, is_removed });
                // Without a handler nothing would happen at the point, not even what
                // Samuel does there by itself.
                if is_removed {
                    chain.remove("handlers");
                }
            }
        }
        if let Some(order) = chain.get_mut("order").and_then(Item::as_table_like_mut) {
            let names: Vec<String> =
                order.iter().map(|(name, _)| name.to_owned()).filter(|name| is_of(name, plugin)).collect();
            names.iter().for_each(|name| drop(order.remove(name)));
            let is_empty = order.is_empty();
            if !names.is_empty() {
                unlisted.push(Unlisted { key: key("order"), names, is_removed: false });
                if is_empty {
                    chain.remove("order");
                }
            }
        }
        if may_go && unlisted.len() > before && chain.is_empty() {
            emptied.push(point.get().to_owned());
        }
    }
    emptied.iter().for_each(|point| drop(points.remove(point)));
    !emptied.is_empty()
}

/// Says whether a name means a handler of a plugin.
fn is_of(name: &str, plugin: &str) -> bool {
    owner_of(name) == plugin
}

/// Takes the names of a plugin out of a list and returns them.
fn of_list(handlers: &mut Array, plugin: &str) -> Vec<String> {
    let first = handlers.get(0).map(|first| first.decor().clone());
    let mut names = Vec::new();
    handlers.retain(|handler| match handler.as_str().filter(|name| is_of(name, plugin)) {
        Some(name) => {
            names.push(name.to_owned());
            false
        }
        None => true,
    });
    // What comes first now stands as close to the bracket as the first one did.
    if let (Some(first), Some(now)) = (first, handlers.get_mut(0).map(Value::decor_mut)) {
        *now = first;
    }
    names
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn taken(text: &str) -> (String, Vec<Unlisted>) {
        let mut document: DocumentMut = text.parse().unwrap();
        let unlisted = take_out(&mut document, "lint");
        (document.to_string(), unlisted)
    }

    #[test]
    fn names_leave_lists_and_orders_of_every_layer() {
        let (text, unlisted) = taken(
            "[hooks.\"quality.check\"]\nhandlers = [\"lint:check\", \"default\"] # mine\n\n\
             [hooks.\"context.extra\".order]\nlint = 5\nother = 6\n\n\
             [methodology.ralph.hooks.\"quality.check\"]\nhandlers = [\"default\", \"lint\", \"linter\"]\n",
        );
        assert_eq!(
            text,
            "[hooks.\"quality.check\"]\nhandlers = [\"default\"] # mine\n\n\
             [hooks.\"context.extra\".order]\nother = 6\n\n\
             [methodology.ralph.hooks.\"quality.check\"]\nhandlers = [\"default\", \"linter\"]\n",
        );
        let keys: Vec<&str> = unlisted.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(
            keys,
            [
                "hooks.\"quality.check\".handlers",
                "hooks.\"context.extra\".order",
                "methodology.ralph.hooks.\"quality.check\".handlers",
            ]
        );
        assert!(unlisted.iter().all(|one| !one.is_removed), "{unlisted:?}");
    }

    #[test]
    fn a_chain_of_nothing_else_is_the_usual_one_again() {
        let (text, unlisted) =
            taken("hooks = { \"quality.check\" = { handlers = [\"lint\"], strict = true } }\n");
        assert_eq!(text, "hooks = { \"quality.check\" = { strict = true } }\n");
        let names = vec!["lint".to_owned()];
        let key = "hooks.\"quality.check\".handlers".to_owned();
        assert_eq!(unlisted, [Unlisted { key, names, is_removed: true }]);
    }

    #[test]
    fn a_table_that_held_nothing_else_is_gone_unless_somebody_wrote_a_comment_above_it() {
        let others = "version = \"2\"\n\n[[plugins]]\nname = \"other\"\n";
        for hooks in [
            "\n[hooks.\"quality.check\"]\nhandlers = [\"lint\"]\n",
            "\n[hooks]\n\n[hooks.\"quality.check\"]\nhandlers = [\"lint\"]\n",
            "\n[hooks.\"context.extra\".order]\nlint = 5\n",
            "\n[methodology.ralph.hooks.\"quality.check\"]\nhandlers = [\"lint:a\", \"lint:b\"]\n",
        ] {
            assert_eq!(taken(&format!("{others}{hooks}")).0, others, "{hooks}");
        }
        let mine = format!("{others}\n# my checks\n[hooks.\"quality.check\"]\n");
        assert_eq!(taken(&format!("{mine}handlers = [\"lint\"]\n")).0, mine);
        let empty = format!("{others}\n[hooks.\"quality.check\"]\n");
        assert_eq!(taken(&empty).0, empty, "what was empty before is somebody else's");
    }

    #[test]
    fn other_chains_stay_as_they_are() {
        let text = "[hooks.\"quality.check\"]\nhandlers = [ \"linter\",\"default\" ]\norder = { }\n";
        assert_eq!(taken(text), (text.to_owned(), Vec::new()));
    }
}
