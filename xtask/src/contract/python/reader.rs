//! Types of samuel-core, made classes of.
//!
//! They are parsed, not compiled: the sources that [`engine`](super::engine) names. What is not
//! understood is an error, never a guess. How a source is taken apart is [`syntax`](super::syntax)'s.

use std::{collections::BTreeMap, fs};

use anyhow::{Context as _, Result, bail};
use syn::{Fields, Type, Visibility};

use super::{
    Field, Item, Kind, Record, Union, Words,
    engine::{CASES, Cases, DOCUMENTS, PLAN, REPORTS, SIMPLE, Source},
    ident, payload,
    syntax::{Serde, WordsMacro, docs, inner, is_default, last, renamed},
};
use crate::{contract::model::Contract, workspace::root};

/// Adds the classes of samuel-core to those of the contract.
pub(super) fn items(contract: &Contract, payloads: Vec<Item>) -> Result<Vec<Item>> {
    let mut reader = Reader::new(contract, &payloads)?;
    let mut items = reader.read(PLAN)?;
    items.extend(payloads);
    items.extend(reader.read(REPORTS)?);
    Ok(items)
}

/// Adds to these what only the documents of commands have.
pub(super) fn with_documents(contract: &Contract, payloads: Vec<Item>) -> Result<Vec<Item>> {
    let documents = Reader::new(contract, &payloads)?.read(DOCUMENTS)?;
    Ok(items(contract, payloads)?.into_iter().chain(documents).collect())
}

/// What a source defines.
enum Definition {
    Struct(syn::ItemStruct),
    Enum(syn::ItemEnum),
    Words(WordsMacro),
}

/// What is known of the sources.
struct Reader {
    /// Every definition of the sources, by file and name.
    found: BTreeMap<(&'static str, String), Definition>,
    /// Names in Python, by those in Rust.
    names: BTreeMap<String, String>,
    /// The fields of the contract's records.
    payloads: BTreeMap<String, Vec<Field>>,
    /// The default of words.
    defaults: BTreeMap<String, String>,
}

impl Reader {
    /// Parses every source, and knows the classes of the contract.
    fn new(contract: &Contract, payloads: &[Item]) -> Result<Self> {
        let mut reader = Self {
            found: BTreeMap::new(),
            names: BTreeMap::new(),
            payloads: BTreeMap::new(),
            defaults: BTreeMap::new(),
        };
        for item in payloads {
            let name = item.name().to_owned();
            match item {
                Item::Record(record) => _ = reader.payloads.insert(name.clone(), record.fields.clone()),
                Item::Words(words) => {
                    reader.defaults.extend(
                        payload::default_word(contract, &words.name).map(|word| (name.clone(), word)),
                    );
                }
                Item::Union(_) => {}
            }
            reader.names.insert(name.clone(), name);
        }
        for (file, types) in PLAN.iter().chain(REPORTS).chain(DOCUMENTS) {
            reader.parse(file)?;
            for (rust, python) in *types {
                let python = if python.is_empty() { rust } else { python };
                reader.names.insert((*rust).to_owned(), (*python).to_owned());
            }
        }
        Ok(reader)
    }

    fn parse(&mut self, file: &'static str) -> Result<()> {
        let path = root().join("samuel-core/src").join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        for item in syn::parse_file(&text).with_context(|| path.display().to_string())?.items {
            let (name, definition) = match item {
                syn::Item::Struct(item) => (item.ident.to_string(), Definition::Struct(item)),
                syn::Item::Enum(item) => (item.ident.to_string(), Definition::Enum(item)),
                syn::Item::Macro(item) if item.mac.path.is_ident("words") => {
                    let words: WordsMacro = item.mac.parse_body()?;
                    (words.name.to_string(), Definition::Words(words))
                }
                _ => continue,
            };
            self.found.insert((file, name), definition);
        }
        Ok(())
    }

    /// Makes classes of the types of some sources, in order.
    fn read(&mut self, sources: &[Source]) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        for (file, types) in sources {
            for (rust, _) in *types {
                items.extend(self.item(file, rust).with_context(|| format!("{rust} of {file}"))?);
            }
        }
        Ok(items)
    }

    fn item(&mut self, file: &'static str, rust: &str) -> Result<Vec<Item>> {
        let definition = self.found.get(&(file, rust.to_owned())).context("there is no such type")?;
        let python = self.names.get(rust).cloned().unwrap_or_default();
        let words = match definition {
            Definition::Struct(item) => {
                let fields = self.fields(&item.fields, &Serde::of(&item.attrs))?;
                let docs = docs(&item.attrs);
                return Ok(vec![record(python, rust, docs, fields, None, "Record")]);
            }
            Definition::Enum(item) => match CASES.iter().find(|cases| cases.rust == rust) {
                Some(cases) => return self.union(item, python, cases),
                None => self.words(item, python)?,
            },
            Definition::Words(words) => Words {
                name: python,
                docs: docs(&words.attrs),
                words: words.cases.iter().map(|case| (case.word.clone(), docs(&case.attrs))).collect(),
            },
        };
        let default = match definition {
            Definition::Enum(item) => item.variants.iter().position(|case| is_default(&case.attrs)),
            Definition::Words(words) => words.cases.iter().position(|case| is_default(&case.attrs)),
            Definition::Struct(_) => None,
        };
        if let Some((word, _)) = words.words.get(default.unwrap_or_default()) {
            self.defaults.insert(words.name.clone(), word.clone());
        }
        Ok(vec![Item::Words(words)])
    }

    fn words(&self, item: &syn::ItemEnum, name: String) -> Result<Words> {
        let case = Serde::of(&item.attrs).rename_all;
        let words = item.variants.iter().map(|variant| {
            let Fields::Unit = variant.fields else { bail!("{} is no word", variant.ident) };
            Ok((renamed(&variant.ident.to_string(), &case), docs(&variant.attrs)))
        });
        Ok(Words { name, docs: docs(&item.attrs), words: words.collect::<Result<_>>()? })
    }

    fn union(&self, item: &syn::ItemEnum, name: String, known: &Cases) -> Result<Vec<Item>> {
        let case = Serde::of(&item.attrs).rename_all;
        let (mut items, mut cases) = (Vec::new(), Vec::new());
        for variant in &item.variants {
            let rust = variant.ident.to_string();
            let python = known.renames.iter().find(|(from, _)| *from == rust).map_or(&*rust, |(_, to)| to);
            let fields = match &variant.fields {
                Fields::Unit => Vec::new(),
                Fields::Unnamed(wrapped) => self.wrapped(wrapped)?,
                fields => {
                    let mut fields = self.fields(fields, &Serde::default())?;
                    for field in fields.iter_mut().filter(|field| !field.kind.is_optional()) {
                        field.default = None;
                    }
                    fields
                }
            };
            cases.push(python.to_owned());
            let tag = Some((known.key.to_owned(), renamed(&rust, &case)));
            items.push(record(python.to_owned(), "", docs(&variant.attrs), fields, tag, known.base));
        }
        items.push(Item::Union(Union { name, docs: docs(&item.attrs), cases }));
        Ok(items)
    }

    /// The fields of the one record that a case holds.
    fn wrapped(&self, fields: &syn::FieldsUnnamed) -> Result<Vec<Field>> {
        let [field] = &fields.unnamed.iter().collect::<Vec<_>>()[..] else {
            bail!("a case of several values")
        };
        let name = last(&field.ty).context("a case whose value is no record")?.ident.to_string();
        self.fields_of(&name)
    }

    /// The fields of a record by its name in Rust.
    fn fields_of(&self, name: &str) -> Result<Vec<Field>> {
        let found = self.found.iter().find_map(|((_, known), definition)| match definition {
            Definition::Struct(item) if known == name => Some(item),
            _ => None,
        });
        match (found, self.payloads.get(name)) {
            (Some(item), _) => self.fields(&item.fields, &Serde::of(&item.attrs)),
            (None, Some(fields)) => Ok(fields.clone()),
            (None, None) => bail!("{name} is in none of the sources"),
        }
    }

    fn fields(&self, fields: &Fields, owner: &Serde) -> Result<Vec<Field>> {
        let mut read = Vec::new();
        for field in fields {
            // What a crate keeps to itself is not serialised.
            if matches!(field.vis, Visibility::Restricted(_)) {
                continue;
            }
            let name = field.ident.as_ref().context("a field without a name")?.to_string();
            let serde = Serde::of(&field.attrs);
            if serde.is_skipped {
                continue;
            }
            if serde.is_flat {
                let within = last(&field.ty).context("a field that is no record")?.ident.to_string();
                read.extend(self.fields_of(&within)?);
                continue;
            }
            let kind = self.kind(&field.ty, &serde).with_context(|| format!("the field {name}"))?;
            let words = |name: &str| self.defaults.get(name).cloned();
            let default = match () {
                () if kind.python.starts_with("Mapping") => None,
                () if serde.has_default => Some(kind.zero(&words)),
                () => kind.is_optional().then(|| "None".to_owned()),
            };
            let wire = serde.rename.unwrap_or_else(|| renamed(&name, &owner.rename_all));
            let (docs, may_lack) = (docs(&field.attrs), serde.may_be_skipped);
            read.push(Field { name: ident(&name), wire, kind, docs, default, may_lack });
        }
        Ok(read)
    }

    fn kind(&self, ty: &Type, serde: &Serde) -> Result<Kind> {
        if let Type::Reference(reference) = ty {
            return self.kind(&reference.elem, serde);
        }
        if let Type::Slice(slice) = ty {
            return Ok(self.kind(&slice.elem, serde)?.list());
        }
        let segment = last(ty).context("a type that is not known")?;
        let name = segment.ident.to_string();
        let inner = inner(segment);
        Ok(match (name.as_str(), &inner[..]) {
            ("Box" | "Arc" | "Cow", [inner]) => self.kind(inner, serde)?,
            ("Option", [inner]) => self.kind(inner, serde)?.optional(),
            _ if serde.is_json => Kind::plain("Any"),
            ("Vec", [Type::Tuple(_)]) => {
                Kind { python: "tuple[tuple[str, str], ...]".into(), coerce: "pairs" }
            }
            ("Vec", [inner]) => self.kind(inner, serde)?.list(),
            ("BTreeMap", [_, value]) => {
                Kind::plain(format!("Mapping[str, {}]", self.kind(value, serde)?.python))
            }
            (name, _) => {
                let simple =
                    SIMPLE.iter().find(|(rust, _)| *rust == name).map(|(_, python)| (*python).to_owned());
                let known = simple.or_else(|| self.names.get(name).cloned());
                Kind::plain(known.with_context(|| format!("the type {name} is not known"))?)
            }
        })
    }
}

fn record(
    name: String,
    rust: &str,
    docs: String,
    fields: Vec<Field>,
    tag: Option<(String, String)>,
    base: &'static str,
) -> Item {
    Item::Record(Record { name, rust: rust.to_owned(), docs, fields, tag, base })
}
