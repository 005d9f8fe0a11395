//! The classes of the contract: payloads and groups of the prompt context.

use super::{Field, Item, Kind, Record, Words, ident};
use crate::contract::{
    model::{self, Contract, Role, Ty},
    rust_records::{TASK, record_docs, template_key},
};

/// What handlers of components fail with; in Python they raise.
const UNSEEN: [&str; 1] = ["Failure"];

/// Makes the classes.
pub(super) fn items(contract: &Contract) -> Vec<Item> {
    let mut items: Vec<Item> = contract
        .items()
        .filter(|item| !UNSEEN.contains(&item.name()))
        .map(|item| self::item(contract, item))
        .collect();
    let task = contract.record(TASK.0);
    items.push(group(contract, task, TASK.1));
    items.extend(contract.groups.items.iter().map(|item| match item {
        model::Item::Record(record) => group(contract, record, &record.name),
        model::Item::Words(_) => self::item(contract, item),
    }));
    items
}

fn item(contract: &Contract, item: &model::Item) -> Item {
    match item {
        model::Item::Words(words) => Item::Words(Words {
            name: words.name.clone(),
            docs: words.docs.clone(),
            words: words.cases.clone(),
        }),
        model::Item::Record(record) => {
            let fields = record.fields.iter().map(|field| self::field(contract, record, field));
            Item::Record(Record {
                name: record.name.clone(),
                rust: record.name.clone(),
                docs: record_docs(contract, record),
                fields: fields.collect(),
                tag: None,
                base: "Record",
            })
        }
    }
}

fn field(contract: &Contract, record: &model::Record, field: &model::Field) -> Field {
    let kind = kind(&field.ty);
    let words = |name: &str| default_word(contract, name);
    let default = match () {
        () if record.is_yes(field) => Some("True".to_owned()),
        // A check that did not run a command has no output.
        () if (record.name.as_str(), field.wit.as_str()) == ("CheckFailure", "tail") => {
            Some("\"\"".to_owned())
        }
        () if record.role == Role::Output || !field.required => Some(kind.zero(&words)),
        () => None,
    };
    let may_lack = default.is_some();
    Field {
        name: ident(&field.ident()),
        wire: field.wire(),
        kind,
        docs: field.docs.clone(),
        default,
        may_lack,
    }
}

fn group(contract: &Contract, record: &model::Record, name: &str) -> Item {
    let fields = record.fields.iter().map(|field| {
        let mut kind = kind(&field.ty);
        kind.python = kind.python.replace(TASK.0, TASK.1);
        let default = kind.is_optional().then(|| "None".to_owned());
        let wire = template_key(name, &field.wit);
        let may_lack = default.is_some();
        Field { name: ident(&field.ident()), wire, kind, docs: field.docs.clone(), default, may_lack }
    });
    Item::Record(Record {
        name: name.to_owned(),
        rust: name.to_owned(),
        docs: record_docs(contract, record),
        fields: fields.collect(),
        tag: None,
        base: "Record",
    })
}

/// Returns the word that stands where none is given.
pub(super) fn default_word(contract: &Contract, name: &str) -> Option<String> {
    let words = contract.items().find_map(|item| match item {
        model::Item::Words(words) if words.name == name => Some(words),
        _ => None,
    })?;
    Some(contract.default_word(words).to_owned())
}

fn kind(ty: &Ty) -> Kind {
    match ty {
        Ty::Bool => Kind::plain("bool"),
        Ty::U32 | Ty::U64 | Ty::S32 => Kind::plain("int"),
        Ty::F64 => Kind::plain("float"),
        Ty::Text => Kind::plain("str"),
        Ty::Json => Kind::plain("Any"),
        Ty::Record(name) | Ty::Words(name) => Kind::plain(name.as_str()),
        Ty::Option(inner) => kind(inner).optional(),
        ty if *ty == Ty::Extensions || ty.is_pairs() => {
            Kind { python: "tuple[tuple[str, str], ...]".into(), coerce: "pairs" }
        }
        ty if ty.is_changes() => {
            Kind { python: "tuple[tuple[str, str | None], ...]".into(), coerce: "changes" }
        }
        Ty::List(inner) => match &**inner {
            // Names with a list each are a map where there are maps.
            Ty::Tuple(parts) if matches!(parts.as_slice(), [Ty::Text, Ty::List(_)]) => {
                Kind::plain("Mapping[str, tuple[str, ...]]")
            }
            inner => kind(inner).list(),
        },
        Ty::Extensions | Ty::Tuple(_) => Kind::plain("Any"),
    }
}
