//! Objects that no current version would accept, written directly to the journal.

use std::{path::Path, sync::Arc};

use evenkeel_apiserver::journal::FileJournal;
use evenkeel_store::{Change, Journal, Object, ResourceId};

use super::{private, template};

/// A data folder with these Deployments (`namespace/name`) as a server would have stored them.
pub(super) fn deployments(data: &Path, keys: &[&str], anything: &str) {
    private(data);
    let mut journal = FileJournal::open(&data.join("journal"), ["deployments.apps"]).unwrap();
    journal.replay(&mut |_| {}).unwrap();
    for (revision, key) in (1..).zip(keys) {
        journal.append(&[change(key, revision, anything)]).unwrap();
    }
    journal.sync().unwrap();
}

fn change(key: &str, revision: u64, anything: &str) -> Change {
    let (namespace, name) = key.split_once('/').unwrap();
    let encoded = format!(
        r#""creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"name":"{name}","namespace":"{namespace}","uid":"00000000-0000-4000-8000-{revision:012}"}},"spec":{{"replicas":0,"selector":{{"matchLabels":{{"app":"a"}}}},"strategy":{{}},"template":{}}},"status":{{}}}}"#,
        template(anything).replace('\n', "")
    );
    let object = Object {
        key: key.into(),
        revision,
        labels: Box::default(),
        fields: Box::default(),
        encoded: encoded.into(),
    };
    Change { resource: ResourceId(0), revision, key: key.into(), object: Some(Arc::new(object)) }
}
