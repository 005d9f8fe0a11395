//! Looks for variables that a context does not have, in every branch of a template.
//!
//! [`check`] walks the tree with a sample of the context and renders nothing. Where the
//! sample does not say what a value has, as an empty list does not, nothing is found.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value as Json;

use crate::{
    UndefinedVariable,
    ast::{Expr, Node, Slot, Statement},
    location::TemplateLocation,
    problem::nearest,
    render::Tree,
};

/// Returns the variables that the sample does not have, by place.
pub(crate) fn check(tree: &Tree, sample: &Json) -> Vec<UndefinedVariable> {
    let main = tree.places.template();
    let mut checker = Checker {
        tree,
        missing: BTreeMap::new(),
        root: None,
        slots: Vec::new(),
        parts: VecDeque::from([(main, Some(sample))]),
        seen: BTreeSet::from([main]),
    };
    // One after the other, so that parts which call parts take no stack.
    while let Some((name, argument)) = checker.parts.pop_front() {
        if let Some(part) = tree.parts.get(name) {
            checker.root = argument;
            checker.slots = vec![None; part.slots];
            checker.body(&part.body, argument);
        }
    }
    checker.missing.into_values().collect()
}

/// What is known of a value.
type Known<'v> = Option<&'v Json>;

struct Checker<'v> {
    tree: &'v Tree,
    /// By place, so that each is told once.
    missing: BTreeMap<usize, UndefinedVariable>,
    /// What `$` is.
    root: Known<'v>,
    /// The variables of the part.
    slots: Vec<Known<'v>>,
    /// Parts that are still to be looked at, with what they are called with first.
    parts: VecDeque<(&'v str, Known<'v>)>,
    seen: BTreeSet<&'v str>,
}

impl<'v> Checker<'v> {
    fn body(&mut self, nodes: &'v [Node], dot: Known<'v>) {
        for node in nodes {
            match &node.statement {
                Statement::Text(_) | Statement::Break | Statement::Continue => {}
                Statement::Print(value) => drop(self.value(value, dot)),
                Statement::Let { slot, value } => {
                    let value = self.value(value, dot);
                    self.bind(Some(*slot), value);
                }
                Statement::Choose { arms, otherwise } => {
                    for arm in arms {
                        let subject = self.value(&arm.subject, dot);
                        self.bind(arm.binding, subject);
                        self.body(&arm.body, if arm.changes_dot { subject } else { dot });
                    }
                    self.body(otherwise, dot);
                }
                Statement::Range(range) => {
                    let element = match self.value(&range.subject, dot) {
                        Some(Json::Array(items)) => items.first(),
                        Some(Json::Object(map)) => map.values().next(),
                        _ => None,
                    };
                    self.bind(range.key, None);
                    self.bind(range.element, element);
                    self.body(&range.body, element);
                    self.body(&range.otherwise, dot);
                }
                Statement::Call { part, argument } => {
                    let argument = self.value(argument, dot);
                    if self.seen.insert(part) {
                        self.parts.push_back((part, argument));
                    }
                }
            }
        }
    }

    fn bind(&mut self, slot: Option<Slot>, value: Known<'v>) {
        if let Some(place) = slot.and_then(|slot| self.slots.get_mut(slot.0)) {
            *place = value;
        }
    }

    fn value(&mut self, expr: &'v Expr, dot: Known<'v>) -> Known<'v> {
        match expr {
            Expr::Dot => dot,
            Expr::Root => self.root,
            Expr::Variable(slot) => self.slots.get(slot.0).copied().flatten(),
            Expr::Literal(_) => None,
            Expr::Path { base, names, spelling, at } => {
                let mut value = self.value(base, dot)?;
                for name in names {
                    // What is empty does not say what else it may have.
                    let map = value.as_object().filter(|map| !map.is_empty())?;
                    let Some(next) = map.get(name) else {
                        let TemplateLocation { template, line, column } = self.tree.places.locate(*at);
                        let nearest = nearest(name, map.keys().map(String::as_str));
                        let variable = spelling.clone();
                        self.missing.entry(*at).or_insert(UndefinedVariable {
                            template,
                            line,
                            column,
                            variable,
                            nearest,
                        });
                        return None;
                    };
                    value = next;
                }
                Some(value)
            }
            Expr::Call { arguments, .. } => {
                for argument in arguments {
                    self.value(argument, dot);
                }
                None
            }
        }
    }
}
