//! `search`, `outdated` and `update`: plugins that an index or their source has newer.

use samuel_core::{
    model::ErrorCode,
    plugin::{FetchOptions, FetchedPlugin, Installed, InstalledPlugin, PluginError, PluginIndex, Plugins},
};
use serde_json::{Value, json};

use super::{
    block_on_or_leave,
    plugins::{agreed, beside_a_loop, fetch_options, installed_text, plugins},
};
use crate::{
    args::{Global, IndexArgs, OutdatedArgs, SearchArgs, UpdateArgs},
    failure::Failure,
    host::Host,
    render::{columns, safe},
    reply::Reply,
};

/// The variable that names the index.
pub(super) const INDEX: &str = "SAMUEL_PLUGIN_INDEX";

/// Reads the index, which has to be named.
pub(super) fn index(args: &IndexArgs, options: &FetchOptions, host: &Host) -> Result<PluginIndex, Failure> {
    known_index(args, options, host)?.ok_or_else(|| {
        Failure::usage("no index of plugins is named")
            .advise(format!("Pass --index, or set {INDEX}: a JSON file, its URL, or a git repository."))
    })
}

fn known_index(
    args: &IndexArgs,
    options: &FetchOptions,
    host: &Host,
) -> Result<Option<PluginIndex>, Failure> {
    let Some(address) = args.index.as_deref().or(host.var(INDEX)) else { return Ok(None) };
    let (base, scratch) = (host.absolute("".as_ref())?, std::env::temp_dir());
    let index = block_on_or_leave(PluginIndex::load(address, &base, &scratch, options))??;
    Ok(Some(index))
}

/// Says that an index lacks a plugin.
pub(super) fn unknown(name: &str) -> Failure {
    Failure::new(
        ErrorCode::PLUGIN_NOT_FOUND,
        format!("the index has no plugin \"{}\" for this Samuel", safe(name)),
    )
    .advise("List what it has with `samuel search`.")
}

/// Looks for plugins.
pub(crate) fn search(args: &SearchArgs, host: &Host) -> Result<Reply, Failure> {
    let index = index(&args.index, &fetch_options(host)?, host)?;
    let found = index.search(&args.text);
    let mut rows = vec![["NAME", "VERSION", "DESCRIPTION"].map(str::to_owned)];
    rows.extend(found.iter().map(|plugin| {
        let version = plugin.newest().map_or("-".to_owned(), |newest| newest.version.to_string());
        [plugin.name.clone(), version, plugin.description.clone()]
    }));
    let text =
        if found.is_empty() { "The index has nothing like that.\n".to_owned() } else { columns(&rows) };
    Ok(Reply::new(json!({ "plugins": found }), text))
}

/// Shows what is newer.
pub(crate) fn outdated(args: &OutdatedArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let (plugins, options) = (plugins(global, host)?, fetch_options(host)?);
    let index = known_index(&args.index, &options, host)?;
    let (mut rows, mut data, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for entry in plugins.list()?.into_iter().filter_map(|plugin| plugin.entry) {
        problems.extend(elsewhere(&plugins, &entry, index.as_ref()));
        match block_on_or_leave(newer(&plugins, &entry, index.as_ref(), &options))? {
            Ok(fetched) if fetched.is_installed() => {}
            Ok(fetched) => {
                let version = fetched.manifest().version.to_string();
                let note = if fetched.moved().is_some() { "moved" } else { "" };
                data.push(told(&entry, &fetched));
                rows.push([entry.name, entry.version, version, fetched.source().to_owned(), note.to_owned()]);
            }
            Err(error) => problems.push(format!("{}: {error}", safe(&entry.name))),
        }
    }
    let text = match rows.is_empty() {
        true => "Everything that could be looked at is up to date.\n".to_owned(),
        false => {
            rows.insert(0, ["NAME", "INSTALLED", "AVAILABLE", "SOURCE", ""].map(str::to_owned));
            columns(&rows)
        }
    };
    Ok(Reply::new(json!({ "outdated": data }), text).warn(problems))
}

/// Brings plugins up to date.
pub(crate) fn update(args: &UpdateArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let (plugins, options) = (plugins(global, host)?, fetch_options(host)?);
    let index = known_index(&args.index, &options, host)?;
    if let Some(name) = &args.name {
        plugins.info(name)?;
    }
    let (mut text, mut data, mut failures, mut warnings) =
        (String::new(), Vec::new(), Vec::new(), Vec::new());
    for entry in plugins.list()?.into_iter().filter_map(|plugin| plugin.entry) {
        if args.name.as_ref().is_some_and(|name| *name != entry.name) {
            continue;
        }
        warnings.extend(elsewhere(&plugins, &entry, index.as_ref()));
        let done = block_on_or_leave(async {
            let fetched = newer(&plugins, &entry, index.as_ref(), &options).await?;
            if fetched.is_installed() {
                return Ok::<_, Failure>(None);
            }
            agreed(&fetched, args.consent, host).await?;
            let granted = fetched.manifest().capabilities.clone();
            Ok(Some(plugins.install(fetched, &granted)?))
        })?;
        match done {
            Ok(Some(done)) => {
                text.push_str(&installed_text(&done));
                data.push(done);
            }
            Ok(None) => {
                text.push_str(&format!("{} {} is up to date\n", safe(&entry.name), safe(&entry.version)));
            }
            // The others are not kept from it.
            Err(failure) => failures.push((entry.name, failure)),
        }
    }
    warnings.extend((!data.is_empty()).then(|| beside_a_loop(global, host)).flatten());
    if !failures.is_empty() {
        return Err(incomplete(&failures, &data, warnings).with_text(text));
    }
    if text.is_empty() {
        text.push_str("No plugins are installed.\n");
    }
    Ok(Reply::new(json!({ "updated": data }), text).warn(warnings))
}

/// Says which plugins were not updated, and why; with the code of the first.
fn incomplete(failures: &[(String, Failure)], updated: &[Installed], warnings: Vec<String>) -> Failure {
    let names: Vec<String> = failures.iter().map(|(name, _)| safe(name)).collect();
    let message = format!("not updated: {}", names.join(", "));
    let failed = failures.iter().map(|(name, failure)| {
        json!({
            "name": name,
            "code": failure.code.name,
            "message": failure.whole_message(),
            "data": failure.data,
        })
    });
    let data = json!({ "updated": updated, "failed": failed.collect::<Vec<_>>() });
    let lines = failures.iter().flat_map(|(name, failure)| {
        let line = format!("{name}: {}", failure.whole_message());
        std::iter::once(line).chain(failure.details.iter().cloned())
    });
    let whole = match failures.first() {
        Some((_, first)) => {
            Failure::new(first.code, message).advise(first.help.clone()).exit_with(first.exit)
        }
        None => Failure::internal(message),
    };
    let whole = whole.with_data(data).detail(lines).detail(warnings);
    match failures.iter().all(|(_, failure)| failure.is_declined) {
        true => whole.declined(),
        false => whole,
    }
}

/// Fetches what would come in place of a plugin: the newest version of the index, where the plugin comes from there and
/// that is newer than what is installed, else what its source has now.
async fn newer(
    plugins: &Plugins,
    entry: &InstalledPlugin,
    index: Option<&PluginIndex>,
    options: &FetchOptions,
) -> Result<FetchedPlugin, PluginError> {
    let newest = index.and_then(|index| Some((index, index.update(entry, plugins.root())?)));
    let fetched = match newest {
        Some((index, version)) => index.fetch(plugins, &entry.name, version, options).await?,
        None => plugins.fetch(&plugins.source_of(entry)?, options).await?,
    };
    fetched.expect(&entry.name, None)?;
    Ok(fetched)
}

/// Says that the index has a newer plugin of the name of one that comes from elsewhere.
fn elsewhere(plugins: &Plugins, entry: &InstalledPlugin, index: Option<&PluginIndex>) -> Option<String> {
    let (index, newest) = index.and_then(|index| Some((index, index.newest(&entry.name)?)))?;
    let is_newer = entry.version.parse().is_ok_and(|installed| newest.version > installed);
    (is_newer && index.update(entry, plugins.root()).is_none()).then(|| {
        format!(
            "the index has {name} {}, and {name} {} was not installed from it; `samuel install {name}` takes that of the \
             index",
            newest.version,
            safe(&entry.version),
            name = safe(&entry.name)
        )
    })
}

fn told(entry: &InstalledPlugin, fetched: &FetchedPlugin) -> Value {
    json!({
        "name": entry.name,
        "installed": entry.version,
        "available": fetched.manifest().version,
        "source": fetched.source(),
        "moved": fetched.moved(),
    })
}
