//! `install`, `ls`, `info`, `uninstall` and `verify`: which plugins a project
//! has.

use std::path::Path;

use samuel_core::{
    methodology::{Methodology as _, ralph::Ralph},
    model::ErrorCode,
    plugin::{
        Catalog, FetchOptions, FetchedPlugin, InstallSource, Installed, ListedPlugin, LoadOptions,
        LoadedPlugins, PluginKind, Plugins, RegistryLogins, Unlisted, check_plugin_name,
    },
    project::Project,
};
use serde_json::json;

use super::{
    block_on_or_leave,
    updates::{self, INDEX},
};
use crate::{
    args::{ConsentArgs, Global, InstallArgs, LsArgs, PluginName, VerifyArgs},
    failure::Failure,
    host::Host,
    render::{columns, fetched_data, fetched_text, holder_text, info_text, safe},
    reply::Reply,
    trust::confirm,
};

/// Makes the handlers of a project's plugins.
pub(crate) fn load(project: &Project, host: &Host) -> Result<LoadedPlugins, Failure> {
    let catalog = Catalog::read(project.root(), project.config())?;
    // Without plugins nothing of this process is needed.
    if catalog.plugins().is_empty() {
        return Ok(LoadedPlugins::default());
    }
    let options = LoadOptions { store: Some(project.plan_store()), ..load_options(host)? };
    Ok(catalog.load(&options)?)
}

/// Returns what handlers of plugins get of this process.
pub(crate) fn load_options(host: &Host) -> Result<LoadOptions, Failure> {
    let (env, supervisor) = (host.env.clone(), host.supervisor()?);
    let (cache_dir, state_dir) = (host.component_cache(), host.state_dir());
    let containers = Some(host.containers());
    Ok(LoadOptions { env, supervisor, cache_dir, state_dir, store: None, containers })
}

/// Installs a plugin once what it asks for is granted.
pub(crate) fn install(args: &InstallArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let plugins = plugins(global, host)?;
    let options = fetch_options(host)?;
    let has_index = args.index.index.is_some() || host.var(INDEX).is_some();
    let (source, version) = match named(&args.source) {
        true if has_index => {
            let index = updates::index(&args.index, &options, host)?;
            let newest = index.newest(&args.source).ok_or_else(|| updates::unknown(&args.source))?;
            (index.source(newest)?, Some(newest.version.clone()))
        }
        is_name => {
            let source = InstallSource::parse(&args.source, &host.absolute("".as_ref())?);
            let source = source.map_err(|error| match is_name {
                true => Failure::from(error).advise(unindexed()),
                false => error.into(),
            });
            (source?, None)
        }
    };
    // A signal drops what was fetched, and with it what lies in the project for it.
    let done = block_on_or_leave(async {
        let fetched = plugins.fetch(&source, &options).await?;
        if let Some(version) = &version {
            fetched.expect(&args.source, Some(version))?;
        }
        agreed(&fetched, args.consent, host).await?;
        let granted = fetched.manifest().capabilities.clone();
        Ok::<_, Failure>(plugins.install(fetched, &granted)?)
    })??;
    let told = source.has_credentials().then(|| {
        "the credentials in the URL are not kept: another installation asks git's credential helper"
            .to_owned()
    });
    let ignored = (!done.ignored.is_empty()).then(|| {
        format!(
            "git leaves out {}, by a .gitignore: who clones this project lacks that; add `!.samuel/plugins/**`",
            safe(&done.ignored.join(", "))
        )
    });
    Ok(Reply::new(&done, installed_text(&done)).warn(told).warn(ignored).warn(beside_a_loop(global, host)))
}

/// Returns how plugins are fetched and checked by this process.
pub(super) fn fetch_options(host: &Host) -> Result<FetchOptions, Failure> {
    Ok(FetchOptions {
        env: host.env.clone(),
        supervisor: host.supervisor()?,
        cache_dir: host.component_cache(),
        state_dir: host.state_dir(),
        containers: Some(host.containers()),
        registry_logins: RegistryLogins::kept(&host.env),
        ..FetchOptions::default()
    })
}

/// Says what to do about a name without an index.
fn unindexed() -> String {
    format!(
        "Give a directory with a samuel-plugin.toml, or the URL of a git repository. A name is looked up in the index \
         that --index or {INDEX} names."
    )
}

/// Says whether a source can only be the name of a plugin.
fn named(source: &str) -> bool {
    check_plugin_name(source).is_ok() && !Path::new(source).exists()
}

/// Makes sure that the user agrees to what was fetched, where somebody has to.
pub(super) async fn agreed(
    fetched: &FetchedPlugin,
    consent: ConsentArgs,
    host: &Host,
) -> Result<(), Failure> {
    let may_move = consent.accept_moved || fetched.moved().is_none();
    if may_move && (consent.yes || !fetched.wants_more()) {
        return Ok(());
    }
    if !host.can_ask {
        return Err(refused(fetched, may_move));
    }
    let text = fetched_text(fetched);
    let asked = tokio::task::spawn_blocking(move || confirm(&text, "Install it?")).await;
    if asked.unwrap_or_default() { Ok(()) } else { Err(declined(fetched)) }
}

/// Says what becomes of a loop whose plugins were changed under it.
pub(super) fn beside_a_loop(global: &Global, host: &Host) -> Option<String> {
    let project = host.project(global, None).ok()?;
    let holder = project.lane_store().loop_holder().ok()??;
    let by = holder.map(|holder| format!(" ({})", holder_text(&holder))).unwrap_or_default();
    Some(format!(
        "a loop is running{by}; it keeps the plugins it was started with, and ends at its next look at them with \
         \"control-files-changed\". Start it again for this change to take part"
    ))
}

fn refused(fetched: &FetchedPlugin, may_move: bool) -> Failure {
    let manifest = fetched.manifest();
    let (code, message) = match may_move {
        false => {
            let from = safe(fetched.source());
            (
                ErrorCode::PLUGIN_MOVED,
                format!("\"{from}\" has something else now than {} was installed from", manifest.name),
            )
        }
        true if manifest.capabilities.is_empty() => {
            let message = format!("nobody agreed to {} {}", manifest.name, manifest.version);
            (ErrorCode::PLUGIN_REFUSED, message)
        }
        true => {
            let message = format!("what {} {} asks for was not granted", manifest.name, manifest.version);
            (ErrorCode::PLUGIN_REFUSED, message)
        }
    };
    let lines: Vec<String> = fetched_text(fetched).lines().map(str::to_owned).collect();
    Failure::new(code, message).with_data(fetched_data(fetched)).detail(lines)
}

/// The question was just shown.
fn declined(fetched: &FetchedPlugin) -> Failure {
    let message = format!("not installed: {}", fetched.manifest().name);
    Failure::new(ErrorCode::PLUGIN_REFUSED, message).with_data(fetched_data(fetched)).declined()
}

pub(super) fn installed_text(done: &Installed) -> String {
    let entry = &done.entry;
    let word = match &done.replaced {
        None => "Installed".to_owned(),
        Some(before) if *before == entry.version => "Reinstalled".to_owned(),
        Some(before) => format!("Updated from {} to", safe(before)),
    };
    let mut text = match done.replaced.as_ref().is_some_and(|before| *before != entry.version) {
        true => format!("{}: {word} {}\n", safe(&entry.name), safe(&entry.version)),
        false => format!("{word} {} {}\n", safe(&entry.name), safe(&entry.version)),
    };
    for point in &done.points {
        text.push_str(&format!("  handles {point}\n"));
    }
    for methodology in &done.methodologies {
        text.push_str(&format!("  provides the methodology {}\n", safe(methodology)));
    }
    match done.methodologies.first().filter(|_| done.points.is_empty()) {
        Some(name) => text + &format!("Next: make a plan for it with `samuel run {} init`\n", safe(name)),
        None => text + "Next: see where its handlers run with `samuel doctor --hooks`\n",
    }
}

/// Lists plugins; for methodologies the one that is built in as well.
pub(crate) fn ls(args: &LsArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let plugins = plugins(global, host)?;
    let list = plugins.list()?;
    if args.kind == Some(PluginKind::Methodology) {
        return methodologies(&plugins, &list);
    }
    let wanted = |plugin: &&ListedPlugin| {
        args.kind.is_none_or(|kind| plugin.entry.as_ref().is_some_and(|entry| entry.kind == kind))
    };
    let shown: Vec<&ListedPlugin> = list.iter().filter(wanted).collect();
    let mut rows = vec![["NAME", "VERSION", "KIND", "SOURCE", ""].map(str::to_owned)];
    rows.extend(shown.iter().map(|plugin| match &plugin.entry {
        Some(entry) => {
            let note = if plugin.is_listed { "" } else { "not listed in samuel.toml" };
            let kind = entry.kind.to_string();
            [plugin.name.clone(), entry.version.clone(), kind, entry.source.clone(), note.to_owned()]
        }
        None => [plugin.name.as_str(), "-", "-", "-", "not installed"].map(str::to_owned),
    }));
    let text = if shown.is_empty() { "No plugins are installed.\n".to_owned() } else { columns(&rows) };
    Ok(Reply::new(json!({ "plugins": shown }), text))
}

fn methodologies(plugins: &Plugins, list: &[ListedPlugin]) -> Result<Reply, Failure> {
    let (name, aliases) = (Ralph.name(), Ralph.aliases());
    let mut data = vec![json!({ "name": name, "aliases": aliases, "plugin": null })];
    let mut rows = vec![
        ["METHODOLOGY", "ALIASES", "FROM"].map(str::to_owned),
        [name, &aliases.join(", "), "built-in"].map(str::to_owned),
    ];
    for plugin in list.iter().filter(|plugin| plugin.entry.is_some()) {
        for profile in plugins.info(&plugin.name)?.1.profiles {
            data.push(json!({ "name": profile.name, "aliases": profile.aliases, "plugin": plugin.name }));
            rows.push([profile.name, profile.aliases.join(", "), plugin.name.clone()]);
        }
    }
    Ok(Reply::new(json!({ "methodologies": data }), columns(&rows)))
}

/// Shows one plugin.
pub(crate) fn info(args: &PluginName, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let (entry, manifest) = plugins(global, host)?.info(&args.name)?;
    let text = info_text(&entry, &manifest);
    Ok(Reply::new(json!({ "installed": entry, "manifest": manifest }), text))
}

/// Removes a plugin.
pub(crate) fn uninstall(args: &PluginName, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let done = plugins(global, host)?.uninstall(&args.name)?;
    let mut text = format!("Removed {}\n", safe(&done.name));
    done.unlisted.iter().for_each(|unlisted| text.push_str(&unlisted_text(unlisted)));
    let left = (!done.left.is_empty()).then(|| {
        format!(
            "samuel.toml still has {}, for a methodology that is gone with it: no run starts before that is removed",
            safe(&done.left.join(", "))
        )
    });
    Ok(Reply::new(&done, text).warn(left).warn(beside_a_loop(global, host)))
}

/// Says what became of a chain that named handlers of a plugin that is gone.
fn unlisted_text(unlisted: &Unlisted) -> String {
    let (key, names) = (safe(&unlisted.key), safe(&unlisted.names.join(", ")));
    match unlisted.is_removed {
        false => format!("  took {names} out of {key} in samuel.toml\n"),
        true => format!(
            "  removed {key} from samuel.toml, which named only {names}; the point has its usual handlers again\n"
        ),
    }
}

/// Compares files with what was installed.
pub(crate) fn verify(args: &VerifyArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let plugins = plugins(global, host)?;
    let verified = plugins.verify(args.name.as_deref())?;
    let data = json!({ "plugins": verified });
    let bad: Vec<_> = verified.iter().filter(|plugin| !plugin.is_intact()).collect();
    let lines: Vec<String> = bad
        .iter()
        .flat_map(|plugin| {
            let changes = plugin.changes.iter().map(|change| format!("{}: {change}", plugin.name));
            let differences = plugin.differences.iter().map(|one| format!("{}: {one}", plugin.name));
            let problem = plugin.problem.iter().map(|problem| format!("{}: {problem}", plugin.name));
            changes.chain(differences).chain(problem).collect::<Vec<_>>()
        })
        .collect();
    if !lines.is_empty() {
        // What was never installed cannot have been changed.
        let installed: Vec<ListedPlugin> =
            plugins.list()?.into_iter().filter(|one| one.entry.is_some()).collect();
        let is_changed = bad.iter().any(|bad| installed.iter().any(|one| one.name == bad.name));
        let failure = match is_changed {
            true => Failure::new(ErrorCode::PLUGIN_CHANGED, "plugins are not as they were installed"),
            false => Failure::new(ErrorCode::PLUGIN_NOT_FOUND, "plugins are listed and not installed")
                .advise("Install each with `samuel install <source>`, or remove it from samuel.toml."),
        };
        return Err(failure.with_data(data).detail(lines));
    }
    let text = match verified.as_slice() {
        [] => "No plugins are installed.\n".to_owned(),
        all => all.iter().map(|plugin| format!("{}: as installed\n", safe(&plugin.name))).collect(),
    };
    Ok(Reply::new(data, text))
}

pub(super) fn plugins(global: &Global, host: &Host) -> Result<Plugins, Failure> {
    // Not the project: its methodology may be what is to be installed.
    let root = host.root(global)?;
    Project::check_owner(&host.caller(), &root).map_err(|error| Failure::of(&error))?;
    Ok(Plugins::of(root))
}
