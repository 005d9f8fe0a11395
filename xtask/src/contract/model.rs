//! The contract as its generators see it.

use super::table::{Kind, PointRow, Table};

/// All that the generators write from.
pub(crate) struct Contract {
    /// The version of the package, such as `1.0.0`.
    pub(crate) version: String,
    /// The files of the package that hold records of points or what these share.
    pub(crate) files: Vec<File>,
    /// The groups of the prompt context.
    pub(crate) groups: File,
    /// The hook points, in the order of the table.
    pub(crate) points: Vec<Point>,
    /// What the package does not say of its records and words.
    pub(crate) table: Table,
}

/// The types of one file, in its order.
pub(crate) struct File {
    /// Its name without the ending, such as `loop`.
    pub(crate) name: String,
    /// What its interfaces define.
    pub(crate) items: Vec<Item>,
}

/// A type.
pub(crate) enum Item {
    /// Named fields.
    Record(Record),
    /// One of several words.
    Words(Words),
}

/// A record.
pub(crate) struct Record {
    /// Its name in the package, such as `text-item` or `input`.
    pub(crate) wit: String,
    /// Its name in Rust and Python, such as `TextItem` or `InitBeforeInput`.
    pub(crate) name: String,
    /// The interface that defines it.
    pub(crate) interface: String,
    /// What it is.
    pub(crate) docs: String,
    /// Its fields, in order.
    pub(crate) fields: Vec<Field>,
    /// Whose it is.
    pub(crate) role: Role,
}

/// Whose a record is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    /// Several points share it, or it is a part of an input or output.
    Part,
    /// A point's input.
    Input,
    /// A point's output.
    Output,
    /// It belongs to the prompt context.
    Group,
}

/// A field of a record.
pub(crate) struct Field {
    /// Its name in the package, such as `exit-code`.
    pub(crate) wit: String,
    /// What it holds, in words.
    pub(crate) docs: String,
    /// What it holds.
    pub(crate) ty: Ty,
    /// Whether JSON must have it.
    pub(crate) required: bool,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ty {
    Bool,
    U32,
    U64,
    S32,
    F64,
    Text,
    /// A JSON document, as text where there is no JSON.
    Json,
    /// Names and values of later versions.
    Extensions,
    Option(Box<Ty>),
    List(Box<Ty>),
    Tuple(Vec<Ty>),
    /// A record, by its name in Rust.
    Record(String),
    /// One of several words, by its name in Rust.
    Words(String),
}

/// One of several words.
pub(crate) struct Words {
    /// Its name in the package, such as `ability-status`.
    pub(crate) wit: String,
    /// Its name in Rust and Python.
    pub(crate) name: String,
    /// The interface that defines it.
    pub(crate) interface: String,
    /// What it is.
    pub(crate) docs: String,
    /// The words and what they mean.
    pub(crate) cases: Vec<(String, String)>,
}

/// A hook point.
pub(crate) struct Point {
    /// The name of its interface, such as `before-agent-invoke`.
    pub(crate) interface: String,
    /// Its name in Rust, such as `BeforeAgentInvoke`.
    pub(crate) name: String,
    /// What it is for and when it fires.
    pub(crate) docs: String,
    /// The part of the documentation that is about what stands already.
    pub(crate) previous_docs: String,
    /// Its row of the table.
    pub(crate) row: PointRow,
}

impl Contract {
    /// Lists all items but the groups of the prompt context.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        self.files.iter().flat_map(|file| &file.items)
    }

    /// Finds a record by its name in Rust.
    pub(crate) fn record(&self, name: &str) -> &Record {
        let found = self.items().chain(&self.groups.items).find_map(|item| match item {
            Item::Record(record) if record.name == name => Some(record),
            _ => None,
        });
        found.expect("a type is read before it is used")
    }

    /// Finds words by their name in Rust.
    pub(crate) fn words(&self, name: &str) -> &Words {
        let found = self.items().chain(&self.groups.items).find_map(|item| match item {
            Item::Words(words) if words.name == name => Some(words),
            _ => None,
        });
        found.expect("a type is read before it is used")
    }

    /// Returns the input of a point.
    pub(crate) fn input(&self, point: &Point) -> &Record {
        self.record(&format!("{}Input", point.name))
    }

    /// Returns the output of a point.
    pub(crate) fn output(&self, point: &Point) -> &Record {
        self.record(&format!("{}Output", point.name))
    }

    /// Returns the word that stands where none is given.
    pub(crate) fn default_word<'a>(&'a self, words: &'a Words) -> &'a str {
        let row = self.table.words.get(&words.wit).and_then(|row| row.default.as_deref());
        row.or(words.cases.first().map(|(word, _)| word.as_str())).unwrap_or_default()
    }
}

impl Record {
    /// Finds a field by its name in the package.
    pub(crate) fn field(&self, wit: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.wit == wit)
    }

    /// Says whether an output has a verdict or an opinion that is yes by default.
    pub(crate) fn is_yes(&self, field: &Field) -> bool {
        self.role == Role::Output && matches!(field.wit.as_str(), "ok" | "continue") && field.ty == Ty::Bool
    }
}

impl Field {
    /// Returns its name in Rust and Python: reserved words have another.
    pub(crate) fn ident(&self) -> String {
        match self.wit.as_str() {
            "continue" => "proceed".to_owned(),
            other => other.replace('-', "_"),
        }
    }

    /// Returns its name in JSON.
    pub(crate) fn wire(&self) -> String {
        self.wit.replace('-', "_")
    }
}

impl Ty {
    /// Says whether it is a list of names with values or without: changes.
    pub(crate) fn is_changes(&self) -> bool {
        *self == Self::list(Self::Tuple(vec![Self::Text, Self::Option(Box::new(Self::Text))]))
    }

    /// Says whether it is a list of names and values.
    pub(crate) fn is_pairs(&self) -> bool {
        *self == Self::list(Self::Tuple(vec![Self::Text, Self::Text]))
    }

    fn list(item: Self) -> Self {
        Self::List(Box::new(item))
    }
}

impl Item {
    /// Returns its name in Rust and Python.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Record(record) => &record.name,
            Self::Words(words) => &words.name,
        }
    }
}

impl Point {
    /// Says in words what an outcome may be: the kind, and what else it may contain.
    pub(crate) fn kinds(&self, contract: &Contract) -> String {
        let output = contract.output(self);
        let gates = matches!(self.row.kind, Kind::Gate | Kind::Decide);
        let verdict = self.row.verdict.is_some() && !gates;
        let parts = [("verdict", verdict), ("text", output.has_text()), ("results", output.has_results())];
        let also = parts.into_iter().filter(|(_, has)| *has).map(|(word, _)| format!(", {word}"));
        self.row.kind.word() + &also.collect::<String>()
    }
}

impl Record {
    /// Says whether an output can carry text for the agent.
    pub(crate) fn has_text(&self) -> bool {
        let item = Ty::List(Box::new(Ty::Record("TextItem".to_owned())));
        self.field("text").is_some_and(|field| field.ty == item)
    }

    /// Says whether an output can carry what a repository hook reports.
    pub(crate) fn has_results(&self) -> bool {
        self.field("results").is_some_and(|field| field.ty == Ty::Record("HookResults".to_owned()))
    }
}
