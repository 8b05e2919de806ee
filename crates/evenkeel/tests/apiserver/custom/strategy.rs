//! `Api<MeshLoadBalancingStrategy>`: our type of a policy, through the definition that it makes.

use evenkeel_k8s::custom::mesh::{
    AffinityTag, CrossZone, Failover, FailoverThreshold, FromZones, LocalZone, LocalityAwareness,
    MeshLoadBalancingStrategy, MeshLoadBalancingStrategySpec, StrategyConf, StrategyTo, TargetKind,
    TargetRef, ToZones, ToZonesType, definitions,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::json;

use super::define;
use crate::process::{Server, folder};

/// With every field of the policy's own part.
fn spec() -> MeshLoadBalancingStrategySpec {
    let failover = |from: Option<&str>, r#type, zones: &[&str]| Failover {
        from: from.map(|zone| FromZones { zones: vec![zone.to_owned()] }),
        to: ToZones { r#type, zones: zones.iter().map(|zone| (*zone).to_owned()).collect() },
    };
    let awareness = LocalityAwareness {
        disabled: Some(false),
        local_zone: Some(LocalZone {
            affinity_tags: vec![
                AffinityTag { key: "k8s.io/node".to_owned(), weight: Some(9_000) },
                AffinityTag { key: "k8s.io/az".to_owned(), weight: Some(9) },
            ],
        }),
        cross_zone: Some(CrossZone {
            failover: vec![
                failover(Some("zone-1"), ToZonesType::Only, &["zone-2"]),
                failover(None, ToZonesType::AnyExcept, &["zone-3", "zone-4"]),
                failover(None, ToZonesType::None, &[]),
            ],
            failover_threshold: Some(FailoverThreshold {
                percentage: IntOrString::String("33.3".to_owned()),
            }),
        }),
    };
    let target =
        |kind, name: &str| TargetRef { kind, name: Some(name.to_owned()), ..TargetRef::default() };
    MeshLoadBalancingStrategySpec {
        target_ref: Some(target(TargetKind::MeshService, "web")),
        to: vec![StrategyTo {
            target_ref: target(TargetKind::MeshService, "backend"),
            default: Some(StrategyConf {
                locality_awareness: Some(awareness),
                ..StrategyConf::default()
            }),
        }],
    }
}

#[tokio::test]
async fn a_typed_policy_comes_back_as_it_was_written() {
    let data = folder("custom-strategy");
    let server = Server::start(&data);
    let client = server.client().await;
    let name = "meshloadbalancingstrategies.kuma.io";
    let definition = definitions().into_iter().find(|it| it["metadata"]["name"] == name).unwrap();
    define(&client, &serde_json::from_value(definition).unwrap()).await;
    let api: Api<MeshLoadBalancingStrategy> = Api::namespaced(client, "default");

    let (post, spec) = (PostParams::default(), spec());
    let strategy = MeshLoadBalancingStrategy::new("near", spec.clone());
    let created = api.create(&post, &strategy).await.unwrap();
    assert_eq!((&created.spec, created.metadata.generation), (&spec, Some(1)));
    assert_eq!(api.get("near").await.unwrap(), created);
    let listed = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items, std::slice::from_ref(&created));

    let mut changed = created.clone();
    let conf = changed.spec.to[0].default.as_mut().unwrap();
    let cross_zone = conf.locality_awareness.as_mut().unwrap().cross_zone.as_mut().unwrap();
    cross_zone.failover_threshold = Some(FailoverThreshold { percentage: IntOrString::Int(70) });
    let replaced = api.replace("near", &post, &changed).await.unwrap();
    assert_eq!((&replaced.spec, replaced.metadata.generation), (&changed.spec, Some(2)));

    // Without what is optional it has the form of the smallest policy, not nulls.
    let empty = Patch::Merge(json!({"spec": {"targetRef": null, "to": null}}));
    let patched = api.patch("near", &PatchParams::default(), &empty).await.unwrap();
    assert_eq!(patched.spec, MeshLoadBalancingStrategySpec::default());
    let smallest = MeshLoadBalancingStrategy::new("smallest", patched.spec);
    assert_eq!(api.create(&post, &smallest).await.unwrap().spec, smallest.spec);

    for (percentage, weight) in
        [(json!({}), json!(1)), (json!(true), json!(1)), (json!(1), json!("1"))]
    {
        let value = json!({"spec": {"to": [{
            "targetRef": {"kind": "MeshService", "name": "backend"},
            "default": {"localityAwareness": {
                "localZone": {"affinityTags": [{"key": "a", "weight": weight}]},
                "crossZone": {"failoverThreshold": {"percentage": percentage}},
            }},
        }]}});
        let refused = api.patch("near", &PatchParams::default(), &Patch::Merge(value)).await;
        let refused = refused.unwrap_err();
        assert!(matches!(&refused, kube::Error::Api(status) if status.code == 422), "{refused}");
        assert!(refused.to_string().contains("Invalid value"), "{refused}");
    }
    let deleted = api.delete("near", &DeleteParams::default()).await.unwrap();
    assert!(deleted.left().is_none_or(|object| object.name_any() == "near"));
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}
