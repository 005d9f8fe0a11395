//! Reads `wit/v1` and `wit/points.toml` into the [`Contract`].

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};
use wit_parser::{Docs, Interface, Resolve, SourceMap, Type, TypeDefKind, TypeId};

use super::{
    model::{Contract, Field, File, Item, Point, Record, Role, Ty, Words},
    rules, samples,
    table::{self, PointRow, Table},
    text::pascal,
};
use crate::workspace::root;

/// The package.
pub(crate) const PACKAGE: &str = "wit/v1";
/// Its only file that is generated.
pub(crate) const WORLDS: &str = "worlds.wit";
/// What the groups of the prompt context are in.
pub(super) const GROUPS: &str = "prompt-context";
/// What only the host implements: nothing is made of it.
const HOST: &str = "host.wit";

/// Reads the package without its worlds of points, which are made from it.
///
/// # Errors
/// Fails where it is not well-formed; the error has file and line.
pub(crate) fn package() -> Result<Resolve> {
    let mut sources = SourceMap::default();
    for path in files()? {
        sources.push_file(&path)?;
    }
    let group = sources.parse().map_err(|(sources, error)| anyhow::anyhow!("{}", error.render(&sources)))?;
    let mut resolve = Resolve::new();
    resolve.push_group(group)?;
    Ok(resolve)
}

/// Reads package and table.
///
/// # Errors
/// Fails where one of them is not well-formed or they contradict each other.
pub(crate) fn contract() -> Result<Contract> {
    let resolve = package()?;
    let table = table::read()?;
    let version = resolve.packages.iter().next().and_then(|(_, package)| package.name.version.clone());
    let reader = Reader { resolve: &resolve, table: &table };
    let (mut read, mut groups) = (Vec::new(), None);
    for path in files()?.iter().filter(|path| !path.ends_with(HOST)) {
        let file = reader.file(path)?;
        match file.name == GROUPS {
            true => groups = Some(file),
            false => read.push(file),
        }
    }
    let points = table.points.iter().map(|row| reader.point(row)).collect::<Result<_>>()?;
    let mut contract = Contract {
        version: version.context("the package has no version")?.to_string(),
        files: read,
        groups: groups.context("there is no prompt context")?,
        points,
        table,
    };
    rules::check(&resolve, &contract)?;
    samples::complete(&mut contract)?;
    Ok(contract)
}

/// Lists the files of the package that are written by hand.
fn files() -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(root().join(PACKAGE))?.map(|entry| Ok(entry?.path()));
    let mut files: Vec<PathBuf> = entries.collect::<Result<_>>()?;
    files.retain(|path| !path.ends_with(WORLDS));
    files.sort();
    Ok(files)
}

/// The name of a point's interface: its id with hyphens throughout.
pub(crate) fn interface_of(id: &str) -> String {
    id.replace([':', '.'], "-")
}

struct Reader<'a> {
    resolve: &'a Resolve,
    table: &'a Table,
}

impl Reader<'_> {
    fn file(&self, path: &Path) -> Result<File> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(path)?;
        let mut items = Vec::new();
        for interface in text.lines().filter_map(|line| line.strip_prefix("interface ")?.strip_suffix(" {")) {
            let interface = self.interface(interface)?;
            for (name, id) in &interface.types {
                items.extend(self.item(interface, name, *id)?);
            }
        }
        Ok(File { name, items })
    }

    fn interface(&self, name: &str) -> Result<&Interface> {
        let found = self.resolve.interfaces.iter().find(|(_, known)| known.name.as_deref() == Some(name));
        found.map(|(_, interface)| interface).with_context(|| format!("there is no interface {name}"))
    }

    fn row(&self, interface: &str) -> Option<&PointRow> {
        self.table.points.iter().find(|row| interface_of(&row.id) == interface)
    }

    fn point(&self, row: &PointRow) -> Result<Point> {
        let interface = interface_of(&row.id);
        let found = self.interface(&interface).with_context(|| format!("{} of {}", row.id, table::PATH))?;
        let docs = docs(&found.docs);
        let (head, docs) = docs.split_once(". ").or(docs.split_once(".\n")).unwrap_or_default();
        let expected = format!("`{}`: {}", row.id, row.kind.word());
        ensure!(
            head == expected || head.starts_with(&format!("{expected}, ")),
            "the documentation of {interface} begins with \"{head}\" instead of \"{expected}\""
        );
        let run = found.functions.get("run").with_context(|| format!("{interface} has no function run"))?;
        let run_docs = self::docs(&run.docs);
        let previous_docs = run_docs.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        Ok(Point {
            name: pascal(&interface),
            interface,
            docs: docs.to_owned(),
            previous_docs,
            row: row.clone(),
        })
    }

    /// Reads a type that an interface defines itself.
    fn item(&self, interface: &Interface, wit: &str, id: TypeId) -> Result<Option<Item>> {
        let definition = self.resolve.types.get(id).context("a type is not there")?;
        let name = self.rust_name(id)?;
        let owner = interface.name.clone().unwrap_or_default();
        let docs = docs(&definition.docs);
        Ok(match &definition.kind {
            TypeDefKind::Record(record) => {
                let role = role(interface, wit);
                let mut fields = Vec::new();
                for field in &record.fields {
                    let ty = self.ty(field.ty)?;
                    let required = self.required(interface, wit, role, &field.name, &ty);
                    fields.push(Field {
                        wit: field.name.clone(),
                        docs: self::docs(&field.docs),
                        ty,
                        required,
                    });
                }
                Some(Item::Record(Record { wit: wit.to_owned(), name, interface: owner, docs, fields, role }))
            }
            TypeDefKind::Enum(cases) => {
                let cases = cases.cases.iter().map(|case| (case.name.clone(), self::docs(&case.docs)));
                Some(Item::Words(Words {
                    wit: wit.to_owned(),
                    name,
                    interface: owner,
                    docs,
                    cases: cases.collect(),
                }))
            }
            // Other names: `json`, `extensions`, and what `use` brings in.
            TypeDefKind::Type(_) | TypeDefKind::List(_) => None,
            other => bail!("{wit} is {other:?}, which no generator knows"),
        })
    }

    /// Says whether JSON must have a field.
    fn required(&self, interface: &Interface, wit: &str, role: Role, field: &str, ty: &Ty) -> bool {
        let point = interface.name.as_deref().and_then(|name| self.row(name));
        let names = |names: &[String]| names.iter().any(|name| name == field);
        match (role, point) {
            _ if matches!(ty, Ty::Option(_) | Ty::Extensions) => false,
            (Role::Input, Some(row)) => !names(&row.later),
            (Role::Output, Some(row)) => row.requires(field),
            (Role::Group, _) => false,
            _ => self.table.records.get(wit).is_none_or(|row| names(&row.required)),
        }
    }

    fn ty(&self, ty: Type) -> Result<Ty> {
        Ok(match ty {
            Type::Bool => Ty::Bool,
            Type::U32 => Ty::U32,
            Type::U64 => Ty::U64,
            Type::S32 => Ty::S32,
            Type::F64 => Ty::F64,
            Type::String => Ty::Text,
            Type::Id(id) => self.named(id)?,
            other => bail!("no generator knows the type {other:?}"),
        })
    }

    fn named(&self, id: TypeId) -> Result<Ty> {
        let definition = self.resolve.types.get(id).context("a type is not there")?;
        let boxed = |ty: Type| self.ty(ty).map(Box::new);
        Ok(match (&definition.kind, definition.name.as_deref()) {
            // What `use` brings in, under its first name.
            (TypeDefKind::Type(Type::Id(first)), _) => self.named(*first)?,
            (_, Some("json")) => Ty::Json,
            (_, Some("extensions")) => Ty::Extensions,
            (TypeDefKind::Record(_), _) => Ty::Record(self.rust_name(id)?),
            (TypeDefKind::Enum(_), _) => Ty::Words(self.rust_name(id)?),
            (TypeDefKind::Option(inner), _) => Ty::Option(boxed(*inner)?),
            (TypeDefKind::List(inner), _) => Ty::List(boxed(*inner)?),
            (TypeDefKind::Tuple(tuple), _) => {
                Ty::Tuple(tuple.types.iter().map(|ty| self.ty(*ty)).collect::<Result<_>>()?)
            }
            (other, _) => bail!("no generator knows the type {other:?}"),
        })
    }

    /// A type's name in Rust: the inputs and outputs of points have the point in it.
    fn rust_name(&self, id: TypeId) -> Result<String> {
        let definition = self.resolve.types.get(id).context("a type is not there")?;
        let name = definition.name.as_deref().unwrap_or_default();
        let owner = match definition.owner {
            wit_parser::TypeOwner::Interface(owner) => self.resolve.interfaces.get(owner),
            _ => None,
        };
        let point = owner.and_then(|owner| owner.name.as_deref()).filter(|_| is_payload(name));
        Ok(format!("{}{}", point.map(pascal).unwrap_or_default(), pascal(name)))
    }
}

fn is_payload(name: &str) -> bool {
    name == "input" || name == "output"
}

fn role(interface: &Interface, wit: &str) -> Role {
    match wit {
        "input" => Role::Input,
        "output" => Role::Output,
        _ if interface.name.as_deref() == Some(GROUPS) => Role::Group,
        _ => Role::Part,
    }
}

fn docs(docs: &Docs) -> String {
    docs.contents.as_deref().unwrap_or_default().trim().to_owned()
}
