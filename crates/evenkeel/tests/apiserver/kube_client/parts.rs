//! Subresources written by others than the owner: status, scale; and leases.

use k8s_openapi::api::{apps::v1::Deployment, coordination::v1::Lease};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;

use crate::process::{Server, folder};

#[tokio::test]
async fn status_and_scale_change_nothing_else() {
    let data = folder("parts");
    let server = Server::start(&data);
    let api: Api<Deployment> = Api::namespaced(server.client().await, "default");
    let made = json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    });
    let made = serde_json::from_value(made).unwrap();
    let made = api.create(&PostParams::default(), &made).await.unwrap();
    assert_eq!(made.metadata.generation, Some(1));
    let status =
        json!({"spec": {"replicas": 9}, "status": {"replicas": 2, "observedGeneration": 1}});
    let params = PatchParams::default();
    let written = api.patch_status("web", &params, &Patch::Merge(status)).await.unwrap();
    assert_eq!(written.status.as_ref().unwrap().replicas, Some(2));
    assert_eq!(written.spec.as_ref().unwrap().replicas, Some(2));
    assert_eq!(written.metadata.generation, Some(1));
    let mut replaced = written.clone();
    replaced.status.as_mut().unwrap().replicas = Some(1);
    let replaced = api.replace_status("web", &PostParams::default(), &replaced).await.unwrap();
    assert_eq!(replaced.status.unwrap().replicas, Some(1));
    let scale = api.get_scale("web").await.unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(2));
    assert_eq!(scale.status.unwrap().selector.as_deref(), Some("app=web"));
    let five = Patch::Merge(json!({"spec": {"replicas": 5}}));
    let scale = api.patch_scale("web", &params, &five).await.unwrap();
    assert_eq!(scale.spec.as_ref().unwrap().replicas, Some(5));
    let now = api.get("web").await.unwrap();
    assert_eq!((now.spec.unwrap().replicas, now.metadata.generation), (Some(5), Some(2)));
    // A write of the object does not change the status.
    let spec = Patch::Merge(json!({"spec": {"replicas": 6}, "status": {"replicas": 77}}));
    let patched = api.patch("web", &params, &spec).await.unwrap();
    assert_eq!(patched.status.unwrap().replicas, Some(1));
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// Two candidates, one lease: with a resourceVersion only one of them gets it.
#[tokio::test]
async fn a_lease_has_one_holder() {
    let data = folder("leases");
    let server = Server::start(&data);
    let api: Api<Lease> = Api::namespaced(server.client().await, "kube-system");
    let lease = json!({
        "metadata": {"name": "leader"},
        "spec": {
            "holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000001Z",
        },
    });
    let lease: Lease = serde_json::from_value(lease).unwrap();
    let held = api.create(&PostParams::default(), &lease).await.unwrap();
    assert_eq!(held.spec, lease.spec);
    let candidates = ["b", "c", "d", "e"].map(|name| {
        let (api, mut mine) = (api.clone(), held.clone());
        mine.spec.as_mut().unwrap().holder_identity = Some(name.to_owned());
        tokio::spawn(async move { api.replace("leader", &PostParams::default(), &mine).await })
    });
    let mut holders = Vec::new();
    for candidate in candidates {
        match candidate.await.unwrap() {
            Ok(lease) => holders.push(lease),
            Err(kube::Error::Api(status)) => assert_eq!(status.code, 409),
            Err(problem) => panic!("{problem}"),
        }
    }
    assert_eq!(holders.len(), 1);
    assert_eq!(api.get("leader").await.unwrap().resource_version(), holders[0].resource_version());
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}
