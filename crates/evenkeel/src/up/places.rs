//! Where the parts of `evenkeel up` answer, for people and for `evenkeel status`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// In the order in which the parts were started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Places(Vec<Place>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub part: String,
    /// A URL; empty for what answers nobody.
    pub at: String,
    pub what: String,
}

impl Places {
    pub(super) fn push(&mut self, place: Place) {
        self.0.push(place);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Place> {
        self.0.iter()
    }

    /// Where a part answers.
    pub(crate) fn of(&self, part: &str) -> Option<&str> {
        let place = self.0.iter().find(|place| place.part == part)?;
        (!place.at.is_empty()).then_some(place.at.as_str())
    }

    /// Written beside the kubeconfig. Only `evenkeel status` misses it, and says so.
    pub(super) fn write(&self, kubeconfig: &Path) {
        let text = serde_json::to_string_pretty(self).expect("strings can be written as JSON");
        if let Err(error) = fs::write(beside(kubeconfig), text + "\n") {
            tracing::warn!(%error, "recording the addresses of components failed");
        }
    }

    /// What was last written beside the kubeconfig.
    pub(crate) fn read(kubeconfig: &Path) -> Option<Places> {
        serde_json::from_slice(&fs::read(beside(kubeconfig)).ok()?).ok()
    }
}

fn beside(kubeconfig: &Path) -> PathBuf {
    kubeconfig.with_file_name("parts.json")
}
