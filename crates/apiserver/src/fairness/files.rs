//! The configuration from files.

use std::{path::PathBuf, sync::Arc};

use evenkeel_fairness::config::Config;

use crate::api::Api;

/// Followed files.
#[derive(Debug)]
pub(super) struct Files(Config);

/// Why files can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    #[error("{0}")]
    Unusable(String),
}

impl Files {
    pub(super) fn open(path: PathBuf) -> Result<Files, FileError> {
        Err(FileError::Unusable(format!("{}: files are not supported yet", path.display())))
    }

    pub(super) fn config(&self) -> Config {
        self.0.clone()
    }

    pub(super) async fn follow(&self, api: &Arc<Api>) {
        api.stop.cancelled().await;
    }
}
