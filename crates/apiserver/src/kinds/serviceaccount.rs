//! ServiceAccount.

use serde_json::{Value, json};

use super::{
    Admission, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, Subresource, fixed,
    read::{at, entry},
};
use crate::table;

pub(crate) static SERVICE_ACCOUNT: KindRef = Held::Static(&Kind {
    group: fixed(""),
    version: fixed("v1"),
    kind: fixed("ServiceAccount"),
    plural: fixed("serviceaccounts"),
    singular: fixed("serviceaccount"),
    short_names: Held::Static(&[fixed("sa")]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.core.v1.ServiceAccount"),
    verbs: EVERY_VERB,
    subresources: &[Subresource::Token],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Object,
    alias: None,
    columns: &[table::NAME, table::AGE],
    strategy: Held::Static(&ServiceAccountStrategy),
    custom: None,
});

const ENFORCED: &str = "kubernetes.io/enforce-mountable-secrets";

#[derive(Debug)]
struct ServiceAccountStrategy;

impl Strategy for ServiceAccountStrategy {
    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        keep_names_of_secrets(object);
    }

    fn prepare_update(&self, _: Part, new: &mut Value, _: &Value, _: &Admission) {
        keep_names_of_secrets(new);
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let set = |object: &Value| !at(object, &["metadata", "annotations", ENFORCED]).is_null();
        if !set(new) || old.is_some_and(set) {
            return Vec::new();
        }
        vec![format!(
            "metadata.annotations[{ENFORCED}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        )]
    }
}

/// A secret of the account is in its namespace, so the reference consists only of a name.
fn keep_names_of_secrets(object: &mut Value) {
    if object.get("secrets").is_none() {
        return;
    }
    for secret in entry(object, &["secrets"]).as_array_mut().into_iter().flatten() {
        *secret = match secret.get("name") {
            Some(name) => json!({"name": name}),
            None => json!({}),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    #[test]
    fn secrets_are_kept_by_name() {
        let mut object =
            json!({"secrets": [{"name": "t", "namespace": "x", "kind": "Secret"}, {}]});
        ServiceAccountStrategy.prepare_create(&mut object, &facts::admission());
        assert_eq!(object, json!({"secrets": [{"name": "t"}, {}]}));
    }

    #[test]
    fn the_deprecated_annotation_warns_when_it_is_new() {
        let new = json!({"metadata": {"annotations": {ENFORCED: "true"}}});
        assert_eq!(ServiceAccountStrategy.warnings(&new, None).len(), 1);
        assert!(ServiceAccountStrategy.warnings(&new, Some(&new)).is_empty());
        assert!(ServiceAccountStrategy.warnings(&json!({}), None).is_empty());
    }
}
