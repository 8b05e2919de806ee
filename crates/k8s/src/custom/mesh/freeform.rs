//! Kinds whose spec Kuma's schema leaves open: it came from protobuf, and is checked by control planes.

use k8s_openapi::{
    ClusterResourceScope, Metadata, NamespaceResourceScope, Resource,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

macro_rules! freeform {
    ($(
        $(#[$doc:meta])*
        $kind:ident ($plural:literal, $short:literal) in $scope:ident is $scope_name:literal: $text:literal
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $kind {
            pub api_version: String,
            pub kind: String,
            pub metadata: ObjectMeta,
            /// The mesh that it belongs to.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub mesh: Option<String>,
            #[serde(default)]
            pub spec: Value,
        }

        impl $kind {
            pub fn new(name: &str, spec: Value) -> $kind {
                $kind {
                    api_version: <$kind as Resource>::API_VERSION.to_owned(),
                    kind: <$kind as Resource>::KIND.to_owned(),
                    metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
                    mesh: None,
                    spec,
                }
            }

            pub(super) fn definition() -> CustomResourceDefinition {
                definition(<$kind as Resource>::KIND, $plural, $short, $scope_name, $text)
            }
        }

        impl Resource for $kind {
            const API_VERSION: &'static str = "kuma.io/v1alpha1";
            const GROUP: &'static str = "kuma.io";
            const KIND: &'static str = stringify!($kind);
            const VERSION: &'static str = "v1alpha1";
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = $scope;
        }

        impl Metadata for $kind {
            type Ty = ObjectMeta;

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    )*};
}

freeform! {
    /// A proxy: where it is, what it offers and what it uses.
    Dataplane ("dataplanes", "dp") in NamespaceResourceScope is "Namespaced":
        "A proxy of a mesh: where it is, what it offers and what it uses."
    /// A mesh. Its policies and services have no effect on those of other meshes.
    Mesh ("meshes", "m") in ClusterResourceScope is "Cluster":
        "A mesh. Its policies and services have no effect on those of other meshes."
}

fn definition(
    kind: &str,
    plural: &str,
    short: &str,
    scope: &str,
    text: &str,
) -> CustomResourceDefinition {
    let definition = json!({
        "metadata": {"name": format!("{plural}.kuma.io")},
        "spec": {
            "group": "kuma.io",
            "names": {
                "categories": ["kuma"],
                "kind": kind,
                "plural": plural,
                "shortNames": [short],
                "singular": kind.to_ascii_lowercase(),
            },
            "scope": scope,
            "versions": [{
                "name": "v1alpha1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {
                    "description": text,
                    "type": "object",
                    "properties": {
                        "mesh": {
                            "description": "Name of the mesh that it belongs to. Defaults to default.",
                            "type": "string",
                        },
                        "spec": {
                            "description": "As in Kuma's reference. Control planes check it.",
                            "x-kubernetes-preserve-unknown-fields": true,
                        },
                    },
                }},
            }],
        },
    });
    serde_json::from_value(definition).expect("it has the fields of a definition")
}
