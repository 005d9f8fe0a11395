//! Translates a parsed template into minijinja source.
//!
//! Main entry: [`emit`]. Text becomes string constants and every name is one
//! this module made up, so nothing a template's author writes is ever read as
//! minijinja syntax. Each statement stands on a line of its own, and
//! [`Emitted::lines`] says where in the template it came from.
//!
//! | Go | minijinja |
//! |---|---|
//! | variable `$x` | attribute of the namespace `v`, because `set` does not leave a loop |
//! | the current value | a local of its own for each `with` and `range` |
//! | `{{ template }}` | `include` with a new `dot` and `depth` |
//! | `and`, `or`, `not`, truth | the same of minijinja, which agrees with Go |
//! | other functions, paths, `range` | methods of the object `go`, each called with its site |

use std::collections::BTreeMap;

use super::{
    ast::{Arm, Expr, Node, Part, Range, Slot},
    builtins::Builtin,
};

/// The minijinja sources of a template, with the way back.
#[derive(Debug)]
pub(super) struct Emitted {
    /// One source a part, the template itself first.
    pub(super) units: Vec<Unit>,
    /// What calls of `go` point at.
    pub(super) sites: Vec<Site>,
}

/// The minijinja source of one part.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) source: String,
    /// The byte offset in the template of each line.
    pub(super) lines: Vec<usize>,
}

/// A place in the template that can warn or fail.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) offset: usize,
    /// The path as written, for paths; empty for functions.
    pub(super) spelling: String,
}

/// Names the minijinja template of the part with this index.
pub(super) fn unit_name(index: usize) -> String {
    format!("part{index}")
}

/// Translates all parts of a template.
pub(super) fn emit(parts: &[Part]) -> Emitted {
    let numbered = parts.iter().enumerate();
    let names = numbered.map(|(index, part)| (part.name.as_str(), index)).collect();
    let mut emitter = Emitter {
        names,
        sites: Vec::new(),
        locals: 0,
        dots: Vec::new(),
        source: String::new(),
        lines: Vec::new(),
    };
    let units = parts.iter().map(|part| emitter.unit(part)).collect();
    Emitted { units, sites: emitter.sites }
}

struct Emitter<'a> {
    names: BTreeMap<&'a str, usize>,
    sites: Vec<Site>,
    /// How many locals there are, so that each has its own name.
    locals: usize,
    /// The locals that hold the current value, innermost last.
    dots: Vec<String>,
    source: String,
    lines: Vec<usize>,
}

impl Emitter<'_> {
    fn unit(&mut self, part: &Part) -> Unit {
        self.line(0, "{%- set v = namespace() -%}");
        self.body(&part.body);
        Unit { source: std::mem::take(&mut self.source), lines: std::mem::take(&mut self.lines) }
    }

    fn line(&mut self, at: usize, statement: &str) {
        self.source.push_str(statement);
        self.source.push('\n');
        self.lines.push(at);
    }

    fn local(&mut self, prefix: char) -> String {
        self.locals += 1;
        format!("{prefix}{}", self.locals)
    }

    fn site(&mut self, offset: usize, spelling: &str) -> usize {
        self.sites.push(Site { offset, spelling: spelling.to_owned() });
        self.sites.len() - 1
    }

    fn body(&mut self, nodes: &[Node]) {
        for node in nodes {
            self.node(node);
        }
    }

    /// Emits a body in which `dot` is the current value.
    fn body_with(&mut self, dot: String, nodes: &[Node]) {
        self.dots.push(dot);
        self.body(nodes);
        self.dots.pop();
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Text(text) => {
                let at = self.lines.last().copied().unwrap_or(0);
                self.line(at, &format!("{{{{- {} -}}}}", quoted(text)));
            }
            Node::Print { value, at } => {
                let value = self.expr(value);
                self.line(*at, &format!("{{{{- {value} -}}}}"));
            }
            Node::Let { slot, value, at } => {
                let value = self.expr(value);
                self.assign(*slot, &value, *at);
            }
            Node::Choose { arms, otherwise } => self.choose(arms, otherwise),
            Node::Range(range) => self.range(range),
            Node::Call { part, argument, at } => self.call(&part.name, argument, *at),
            Node::Break { at } => self.line(*at, "{%- break -%}"),
            Node::Continue { at } => self.line(*at, "{%- continue -%}"),
        }
    }

    fn assign(&mut self, slot: Slot, value: &str, at: usize) {
        self.line(at, &format!("{{%- set {} = {value} -%}}", variable(slot)));
    }

    fn choose(&mut self, arms: &[Arm], otherwise: &[Node]) {
        let [arm] = arms else {
            return self.choose_first(arms, otherwise);
        };
        let (condition, dot) = self.subject(arm);
        self.line(arm.at, &format!("{{%- if {condition} -%}}"));
        self.arm_body(arm, dot);
        if !otherwise.is_empty() {
            self.line(arm.at, "{%- else -%}");
            self.body(otherwise);
        }
        self.line(arm.at, "{%- endif -%}");
    }

    /// Emits arms one after the other, guarded by a flag.
    ///
    /// Minijinja's `elif` takes no assignments and nests in its parser, so a
    /// long chain of them would exhaust the stack.
    fn choose_first(&mut self, arms: &[Arm], otherwise: &[Node]) {
        let at = arms.first().map_or(0, |arm| arm.at);
        let chosen = format!("v.{}", self.local('c'));
        self.line(at, &format!("{{%- set {chosen} = false -%}}"));
        for arm in arms {
            self.line(arm.at, &format!("{{%- if not {chosen} -%}}"));
            let (condition, dot) = self.subject(arm);
            self.line(arm.at, &format!("{{%- if {condition} -%}}"));
            self.line(arm.at, &format!("{{%- set {chosen} = true -%}}"));
            self.arm_body(arm, dot);
            self.line(arm.at, "{%- endif -%}");
            self.line(arm.at, "{%- endif -%}");
        }
        self.line(at, &format!("{{%- if not {chosen} -%}}"));
        self.body(otherwise);
        self.line(at, "{%- endif -%}");
    }

    /// Evaluates an arm's subject; returns the condition and the new current value.
    fn subject(&mut self, arm: &Arm) -> (String, Option<String>) {
        let value = self.expr(&arm.subject);
        if arm.binding.is_none() && !arm.changes_dot {
            return (value, None);
        }
        let local = self.local('d');
        self.line(arm.at, &format!("{{%- set {local} = {value} -%}}"));
        if let Some(slot) = arm.binding {
            self.assign(slot, &local, arm.at);
        }
        let dot = arm.changes_dot.then(|| local.clone());
        (local, dot)
    }

    fn arm_body(&mut self, arm: &Arm, dot: Option<String>) {
        match dot {
            Some(dot) => self.body_with(dot, &arm.body),
            None => self.body(&arm.body),
        }
    }

    fn range(&mut self, range: &Range) {
        let at = range.at;
        let subject = self.expr(&range.subject);
        let site = self.site(at, "");
        let (key, element) = (self.local('k'), self.local('d'));
        // Minijinja's own `else` also runs when the first turn ended in a break.
        let empty = (!range.otherwise.is_empty()).then(|| format!("v.{}", self.local('c')));
        if let Some(empty) = &empty {
            self.line(at, &format!("{{%- set {empty} = true -%}}"));
        }
        self.line(at, &format!("{{%- for {key}, {element} in go.range({site}, {subject}) -%}}"));
        if let Some(empty) = &empty {
            self.line(at, &format!("{{%- set {empty} = false -%}}"));
        }
        for (slot, value) in [(range.key, &key), (range.element, &element)] {
            if let Some(slot) = slot {
                self.assign(slot, value, at);
            }
        }
        self.body_with(element, &range.body);
        self.line(at, "{%- endfor -%}");
        if let Some(empty) = &empty {
            self.line(at, &format!("{{%- if {empty} -%}}"));
            self.body(&range.otherwise);
            self.line(at, "{%- endif -%}");
        }
    }

    fn call(&mut self, name: &str, argument: &Expr, at: usize) {
        let argument = self.expr(argument);
        let site = self.site(at, "");
        let unit = unit_name(self.names.get(name).copied().unwrap_or(0));
        self.line(at, &format!("{{%- with dot = {argument}, depth = go.deeper({site}, depth) -%}}"));
        self.line(at, &format!("{{%- include \"{unit}\" -%}}"));
        self.line(at, "{%- endwith -%}");
    }

    fn expr(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Dot => self.dots.last().map_or("dot", String::as_str).to_owned(),
            Expr::Root => "dot".to_owned(),
            Expr::Variable(slot) => variable(*slot),
            Expr::Nil => "none".to_owned(),
            Expr::Bool(value) => value.to_string(),
            Expr::Integer(value) => format!("({value})"),
            Expr::Float(value) => format!("({value:?})"),
            Expr::Text(text) => quoted(text),
            Expr::Path { base, names, spelling, at } => {
                let base = self.expr(base);
                let site = self.site(*at, spelling);
                let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
                format!("go.path({site}, {base}, [{}])", names.join(", "))
            }
            Expr::Call { function, arguments, at } => {
                let arguments: Vec<String> = arguments.iter().map(|argument| self.expr(argument)).collect();
                self.function(*function, &arguments, *at)
            }
        }
    }

    fn function(&mut self, function: Builtin, arguments: &[String], at: usize) -> String {
        match function {
            Builtin::And => format!("({})", arguments.join(" and ")),
            Builtin::Or => format!("({})", arguments.join(" or ")),
            Builtin::Not => format!("(not {})", arguments.join("")),
            _ => {
                let site = self.site(at, "");
                let mut call = format!("go.{}({site}", function.name());
                for argument in arguments {
                    call.push_str(", ");
                    call.push_str(argument);
                }
                call.push(')');
                call
            }
        }
    }
}

fn variable(slot: Slot) -> String {
    format!("v.x{}", slot.0)
}

/// Writes a minijinja string constant on one line.
fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            c if c.is_ascii_control() => literal.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}
