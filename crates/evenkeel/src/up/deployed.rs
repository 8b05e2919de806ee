//! The identities of `deploy/`, compiled in: a part of `up` has the rights here that `deploy/` gives
//! it in a cluster, from the same manifests.
//!
//! As much of kustomize as their kustomizations use: a namespace, and labels.

use std::collections::BTreeMap;

use kube::{
    api::{ApiResource, DynamicObject},
    core::GroupVersionKind,
};
use serde::Deserialize;

/// A folder of `deploy/`.
#[derive(Debug)]
pub(super) struct Deployed {
    /// The name of its ServiceAccount.
    pub account: &'static str,
    pub namespace: &'static str,
    kustomization: &'static str,
    manifests: &'static [&'static str],
}

/// An object as `kubectl apply -k` would send it.
#[derive(Clone, Debug)]
pub(super) struct Rendered {
    pub resource: ApiResource,
    pub object: DynamicObject,
}

pub(super) static CONTROLLER: Deployed = Deployed {
    account: "evenkeel-controller",
    namespace: "evenkeel-system",
    kustomization: include_str!("../../../../deploy/base/kustomization.yaml"),
    manifests: &[
        include_str!("../../../../deploy/base/namespace.yaml"),
        include_str!("../../../../deploy/base/identity.yaml"),
        include_str!("../../../../deploy/flowcontrol/controller/flowschemas.yaml"),
    ],
};

/// Its reports are read by the controller, if it may.
pub(super) static PROXY: Deployed = Deployed {
    account: "evenkeel-proxy",
    namespace: "evenkeel-proxy",
    kustomization: include_str!("../../../../deploy/proxy/kustomization.yaml"),
    manifests: &[
        include_str!("../../../../deploy/proxy/namespace.yaml"),
        include_str!("../../../../deploy/proxy/identity.yaml"),
        include_str!("../../../../deploy/proxy/reports.yaml"),
        include_str!("../../../../deploy/flowcontrol/proxy/flowschemas.yaml"),
    ],
};

pub(super) static MESH: Deployed = Deployed {
    account: "evenkeel-mesh",
    namespace: "evenkeel-mesh",
    kustomization: include_str!("../../../../deploy/mesh/kustomization.yaml"),
    manifests: &[
        include_str!("../../../../deploy/mesh/namespace.yaml"),
        include_str!("../../../../deploy/mesh/identity.yaml"),
        include_str!("../../../../deploy/flowcontrol/mesh/flowschemas.yaml"),
    ],
};

/// The kinds that make an identity and decide where its requests wait, and whether their objects are in a namespace. Other kinds in the
/// same files are about Pods, which `up` does not need.
const KINDS: [(&str, bool); 7] = [
    ("Namespace", false),
    ("ServiceAccount", true),
    ("ClusterRole", false),
    ("ClusterRoleBinding", false),
    ("Role", true),
    ("RoleBinding", true),
    ("FlowSchema", false),
];

#[derive(Debug, Deserialize)]
struct Kustomization {
    namespace: String,
    labels: Vec<Labels>,
}

#[derive(Debug, Deserialize)]
struct Labels {
    pairs: BTreeMap<String, String>,
}

impl Deployed {
    /// In the order of the files: the Namespace is first.
    pub(super) fn objects(&self) -> Vec<Rendered> {
        let kustomization: Kustomization =
            serde_saphyr::from_str(self.kustomization).expect("it is compiled in, and tested");
        let documents = self.manifests.iter().flat_map(|text| {
            let all: Vec<DynamicObject> =
                serde_saphyr::from_str_multiple(text).expect("it is compiled in, and tested");
            all
        });
        documents.filter_map(|object| rendered(object, &kustomization)).collect()
    }
}

/// `None` for a kind that no identity needs.
fn rendered(mut object: DynamicObject, kustomization: &Kustomization) -> Option<Rendered> {
    let types = object.types.as_ref()?;
    let (_, is_namespaced) = KINDS.iter().find(|(kind, _)| *kind == types.kind)?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(types).ok()?);
    object.metadata.namespace = is_namespaced.then(|| kustomization.namespace.clone());
    let pairs = kustomization.labels.iter().flat_map(|labels| labels.pairs.clone());
    object.metadata.labels.get_or_insert_default().extend(pairs);
    Some(Rendered { resource, object })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(deployed: &Deployed) -> Vec<String> {
        let objects = deployed.objects();
        let name = |Rendered { resource, object }: &Rendered| {
            let namespace = object.metadata.namespace.as_deref().unwrap_or("-");
            let name = object.metadata.name.as_deref().unwrap();
            assert_eq!(
                object.metadata.labels.as_ref().unwrap()["app.kubernetes.io/part-of"],
                "evenkeel"
            );
            format!("{} {namespace}/{name}", resource.plural)
        };
        objects.iter().map(name).collect()
    }

    #[test]
    fn an_identity_is_a_namespace_with_an_account_its_roles_and_flow_schemas() {
        assert_eq!(
            names(&CONTROLLER),
            [
                "namespaces -/evenkeel-system",
                "serviceaccounts evenkeel-system/evenkeel-controller",
                "clusterroles -/evenkeel-controller",
                "clusterrolebindings -/evenkeel-controller",
                "roles evenkeel-system/evenkeel-controller-lease",
                "rolebindings evenkeel-system/evenkeel-controller-lease",
                "flowschemas -/evenkeel-controller-leader-election",
                "flowschemas -/evenkeel-controller",
            ]
        );
        assert_eq!(
            names(&PROXY),
            [
                "namespaces -/evenkeel-proxy",
                "serviceaccounts evenkeel-proxy/evenkeel-proxy",
                "clusterroles -/evenkeel-proxy",
                "clusterrolebindings -/evenkeel-proxy",
                "roles evenkeel-proxy/evenkeel-proxy-reports",
                "rolebindings evenkeel-proxy/evenkeel-proxy-reports",
                "roles evenkeel-proxy/evenkeel-proxy-reports-reader",
                "rolebindings evenkeel-proxy/evenkeel-proxy-reports-reader",
                "flowschemas -/evenkeel-proxy",
            ]
        );
        assert_eq!(
            names(&MESH),
            [
                "namespaces -/evenkeel-mesh",
                "serviceaccounts evenkeel-mesh/evenkeel-mesh",
                "clusterroles -/evenkeel-mesh",
                "clusterrolebindings -/evenkeel-mesh",
                "flowschemas -/evenkeel-mesh",
            ]
        );
    }

    #[test]
    fn account_and_namespace_are_those_of_the_manifests() {
        for deployed in [&CONTROLLER, &PROXY, &MESH] {
            let account = format!("serviceaccounts {}/{}", deployed.namespace, deployed.account);
            assert!(names(deployed).contains(&account), "{account}");
        }
    }
}
