//! Reads objects: from manifests, or from a cluster.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use evenkeel_k8s::{
    Objects, RawServices,
    live::{self, ClusterSource, Scope},
    manifest, snapshot,
};
use evenkeel_model::{ServiceKey, Snapshot};
use evenkeel_topology::{Server, ServerVersion};
use kube::Client;

use crate::{cli::InputArgs, error::Error, printer, progress::Progress, up::DATA};

/// Which Services to read, before the default namespace is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    One(&'a str),
    /// One of a namespace, whatever the namespace in force.
    In {
        namespace: &'a str,
        name: &'a str,
    },
    Namespace,
    All,
}

/// What was read, the namespace of names without one, and the API server's version.
#[derive(Debug)]
pub(crate) struct Input {
    pub snapshot: Snapshot,
    pub namespace: String,
    pub server: Server,
}

pub(crate) fn read(args: &InputArgs, wanted: Wanted<'_>) -> Result<Input, Error> {
    read_into(args, wanted, Objects::default()).map(|(input, _)| input)
}

/// Also gives the Services field by field, as they were read.
pub(crate) fn read_whole(
    args: &InputArgs,
    wanted: Wanted<'_>,
) -> Result<(Input, RawServices), Error> {
    let raw_services = Some(RawServices::default());
    read_into(args, wanted, Objects { raw_services, ..Objects::default() })
}

fn read_into(
    args: &InputArgs,
    wanted: Wanted<'_>,
    into: Objects,
) -> Result<(Input, RawServices), Error> {
    let (mut objects, namespace, reported) = if args.filename.is_empty() {
        read_cluster(args, wanted, &into)?
    } else {
        let namespace = args.namespace.clone().unwrap_or_else(|| "default".to_owned());
        (read_files(&args.filename, into)?, namespace, None)
    };
    let given = args.server_version.map(Server::given);
    let server = given.or(reported.map(Server::reported)).unwrap_or_default();
    tell_notes(&objects);
    let raw = objects.raw_services.take().unwrap_or_default();
    let _progress = Progress::new(None, "indexing objects");
    Ok((Input { snapshot: snapshot::build(&objects)?, namespace, server }, raw))
}

fn read_files(given: &[PathBuf], mut objects: Objects) -> Result<Objects, Error> {
    let mut files = Vec::new();
    for path in given {
        files.extend(expand(path)?);
    }
    let progress = Progress::new(Some(files.len() as u64), "reading");
    for (position, path) in (1..).zip(&files) {
        progress.say(path.display().to_string());
        progress.at(position);
        let (name, text) = read_text(path)?;
        manifest::parse(&name, &text, &mut objects)?;
    }
    Ok(objects)
}

/// A folder means the manifests in it and below it, in the order of their names.
pub(crate) fn expand(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    if path == Path::new("-") || !fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let ending = entry.path().extension().map(|e| e.to_string_lossy().to_lowercase());
            if kind.is_dir() {
                folders.push(entry.path());
            } else if matches!(ending.as_deref(), Some("yaml" | "yml" | "json")) {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(Error::EmptyFolder { path: path.to_owned() });
    }
    Ok(files)
}

pub(crate) fn read_text(path: &Path) -> Result<(String, String), Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let (name, bytes) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
        ("stdin".to_owned(), bytes)
    } else {
        (path.display().to_string(), fs::read(path).map_err(failed)?)
    };
    let text =
        String::from_utf8(bytes).map_err(|_| Error::NotText { path: name.clone().into() })?;
    Ok((name, text))
}

/// Objects, the namespace of names without one, and the version that the API server reports.
type Looked = (Objects, String, Option<ServerVersion>);

fn read_cluster(args: &InputArgs, wanted: Wanted<'_>, into: &Objects) -> Result<Looked, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::Read { path: "the runtime".into(), source })?;
    runtime.block_on(async {
        let (kubeconfig, context) = (args.kubeconfig.clone(), args.context.clone());
        let source = ClusterSource::find(kubeconfig, context, Path::new(DATA))?;
        printer::note(format_args!("kubeconfig: {source}"));
        let client = live::client(&source).await?;
        let given = args.namespace.clone();
        let namespace = given.unwrap_or_else(|| client.default_namespace().to_owned());
        let scope = match wanted {
            Wanted::One(name) => Scope::Service(ServiceKey::new(&*namespace, name)),
            Wanted::In { namespace, name } => Scope::Service(ServiceKey::new(namespace, name)),
            Wanted::Namespace => Scope::Namespace(namespace.clone()),
            Wanted::All => Scope::AllNamespaces,
        };
        let progress = Progress::new(None, "reading the cluster");
        let tell = |kind: &str, n: usize| progress.say(format!("read {n} {kind}"));
        let reported = server_version(&client).await;
        let raw_services = match into.raw_services {
            Some(_) => Some(live::raw_services(&client, &scope).await?),
            None => None,
        };
        let objects = live::objects(client, scope, tell).await?;
        Ok((Objects { raw_services, ..objects }, namespace, reported))
    })
}

/// `None` where it can't be read: not everyone may ask, and proxies need not know.
pub(crate) async fn server_version(client: &Client) -> Option<ServerVersion> {
    client.apiserver_version().await.ok()?.git_version.parse().ok()
}

/// One line for all ignored kinds, and one for each list that can't be read.
fn tell_notes(objects: &Objects) {
    if !objects.skipped.is_empty() {
        let kinds: Vec<String> =
            objects.skipped.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        printer::note(format_args!("ignored kinds: {}", kinds.join(", ")));
    }
    for note in &objects.notes {
        printer::note(format_args!("cannot read {}: {}", note.what, note.problem));
    }
}
