//! Shell completion, with names from the cluster where kubectl has them.
//!
//! `evenkeel completion SHELL` prints a script that asks this binary for candidates at each TAB
//! (`COMPLETE=SHELL evenkeel -- WORDS`). The cluster is the one that the words name, by the same rule as
//! for commands. It gets [`PATIENCE`]: without an answer there are no candidates, and no error.

use std::{env, ffi::OsStr, path::Path, time::Duration};

use clap::CommandFactory;
use clap_complete::{
    Shell,
    engine::{ArgValueCompleter, CompletionCandidate},
    env::{CompleteEnv, Shells},
};
use evenkeel_k8s::{
    live::{self, ClusterSource},
    watched::MeshKind,
};
use kube::{
    Api, Client, ResourceExt,
    api::ListParams,
    core::{ApiResource, DynamicObject, PartialObjectMeta},
};

use crate::{cli::Cli, error::Error, printer, up::DATA};

/// A person waits for it.
const PATIENCE: Duration = Duration::from_millis(1500);

/// More names than this help nobody.
const MOST: u32 = 500;

const VARIABLE: &str = "COMPLETE";

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Services,
    Namespaces,
    Nodes,
    Zones,
    /// With their namespaces, as the mesh names them.
    Dataplanes,
}

/// What the words so far say about the cluster and the namespace.
#[derive(Debug, Default, PartialEq, Eq)]
struct Words {
    namespace: Option<String>,
    kubeconfig: Option<String>,
    context: Option<String>,
    from_files: bool,
}

/// Answers the shell and ends the process, if it is the shell that asks.
pub(crate) fn answer() {
    CompleteEnv::with_factory(Cli::command).var(VARIABLE).complete();
}

/// Prints the script for a shell.
pub(crate) fn script(shell: Shell) -> Result<(), Error> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    if let Some(completer) = shells.completer(&shell.to_string()) {
        let written =
            completer.write_registration(VARIABLE, "evenkeel", "evenkeel", "evenkeel", &mut script);
        written.map_err(Error::Stdout)?;
    }
    printer::data(&String::from_utf8_lossy(&script))
}

pub(crate) fn services() -> ArgValueCompleter {
    completer(Names::Services)
}

pub(crate) fn namespaces() -> ArgValueCompleter {
    completer(Names::Namespaces)
}

pub(crate) fn nodes() -> ArgValueCompleter {
    completer(Names::Nodes)
}

pub(crate) fn zones() -> ArgValueCompleter {
    completer(Names::Zones)
}

/// Those of all namespaces, in the cluster that the words name.
pub(crate) fn dataplanes_of_cluster() -> Vec<String> {
    ask(Names::Dataplanes, words())
}

fn words() -> Words {
    Words::read(env::args().skip_while(|word| word != "--").skip(1))
}

fn completer(names: Names) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| {
        let words = words();
        let current = current.to_string_lossy();
        let mut found = if words.from_files { Vec::new() } else { ask(names, words) };
        found.retain(|name| name.starts_with(&*current));
        found.into_iter().map(CompletionCandidate::new).collect()
    })
}

fn ask(names: Names, words: Words) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return Vec::new() };
    // The timer needs the runtime from the start.
    let answer =
        runtime.block_on(async { tokio::time::timeout(PATIENCE, list(names, words)).await });
    answer.ok().flatten().unwrap_or_default()
}

async fn list(names: Names, words: Words) -> Option<Vec<String>> {
    let Words { namespace, kubeconfig, context, .. } = words;
    let kubeconfig = kubeconfig.map(Into::into);
    let source = ClusterSource::find(kubeconfig, context, Path::new(DATA)).ok()?;
    let client = live::client(&source).await.ok()?;
    let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_owned());
    let limit = ListParams::default().limit(MOST);
    let items = objects(client, names, &namespace).list_metadata(&limit).await.ok()?.items;
    let mut found: Vec<String> = items.iter().filter_map(|item| names.of(item)).collect();
    found.sort();
    found.dedup();
    Some(found)
}

fn objects(client: Client, names: Names, namespace: &str) -> Api<DynamicObject> {
    let resource = |kind: &str, plural: &str| ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    match names {
        Names::Services => {
            Api::namespaced_with(client, namespace, &resource("Service", "services"))
        }
        Names::Namespaces => Api::all_with(client, &resource("Namespace", "namespaces")),
        Names::Nodes | Names::Zones => Api::all_with(client, &resource("Node", "nodes")),
        Names::Dataplanes => Api::all_with(client, &live::mesh_resource(MeshKind::Dataplane)),
    }
}

// === impl Names ===

impl Names {
    fn of(self, object: &PartialObjectMeta<DynamicObject>) -> Option<String> {
        match self {
            Names::Zones => object.labels().get(evenkeel_model::label::ZONE).cloned(),
            Names::Dataplanes => {
                let namespace = object.metadata.namespace.as_deref()?;
                Some(format!("{}.{namespace}", object.metadata.name.as_deref()?))
            }
            _ => object.metadata.name.clone(),
        }
    }
}

// === impl Words ===

impl Words {
    /// The words need not be complete, so they are not parsed as a command line.
    fn read(words: impl Iterator<Item = String>) -> Self {
        let mut read = Words::default();
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            let slot = match name.as_str() {
                "-n" | "--namespace" => &mut read.namespace,
                "--kubeconfig" => &mut read.kubeconfig,
                "--context" => &mut read.context,
                "-f" | "--filename" => {
                    read.from_files = true;
                    continue;
                }
                _ => continue,
            };
            *slot = value.or_else(|| words.next()).filter(|value| !value.is_empty());
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Words {
        Words::read(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn words_name_the_cluster_and_the_namespace() {
        let some = |text: &str| Some(text.to_owned());
        let words = read("evenkeel explain we -n shop --context=test");
        let expected = Words { namespace: some("shop"), context: some("test"), ..Words::default() };
        assert_eq!(words, expected);
        assert_eq!(read("evenkeel explain --namespace=a --kubeconfig b c").kubeconfig, some("b"));
        assert!(read("evenkeel plan -f x we").from_files);
        assert_eq!(read("evenkeel explain -n ").namespace, None);
    }
}
