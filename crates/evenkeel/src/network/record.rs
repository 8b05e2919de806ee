//! Which namespaces belong to which cluster.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::claim;

/// The namespaces of one `evenkeel up --proxy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The address of the API server, as in the kubeconfig.
    pub api: String,
    /// The uid of the namespace kube-system, which no two clusters have in common.
    #[serde(default)]
    pub cluster: String,
    /// The namespace of the bridge.
    pub bridge: String,
    /// The namespace of each Node.
    pub nodes: BTreeMap<String, String>,
}

impl Record {
    /// That of the cluster at this address.
    pub(crate) fn of_cluster(folder: &Path, api: &str) -> Option<Record> {
        let files = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        let mut records = files.filter_map(|file| Record::read(&file));
        records.find(|record| record.api == api)
    }

    /// That of the cluster at this address with this uid, whose process runs: another cluster may be at
    /// the address of one that was killed.
    pub(crate) fn of_running(folder: &Path, api: &str, cluster: &str) -> Option<Record> {
        let files = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        let of_file = |file: PathBuf| Some((Record::read(&file)?, file));
        let is_it = |record: &Record| record.api == api && record.cluster == cluster;
        let mut running = files.filter_map(of_file).filter(|(record, file)| {
            !cluster.is_empty() && is_it(record) && claim::is_held(&file.with_extension("lock"))
        });
        running.next().map(|(record, _)| record)
    }

    pub(super) fn read(path: &Path) -> Option<Record> {
        path.extension().filter(|ending| *ending == "json")?;
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Replaces the file as a whole, so that a reader never sees half of it.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let new: PathBuf = path.with_extension("new");
        fs::write(&new, serde_json::to_string_pretty(self)? + "\n")?;
        fs::rename(new, path)
    }

    pub(super) fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.nodes.values().map(String::as_str).chain([self.bridge.as_str()])
    }
}
