//! What is read of watched objects, how leniently, and that kube can watch them.

use std::{fmt::Debug, sync::Arc, time::Duration};

use evenkeel_k8s::{
    live::{ClusterSource, client},
    watched,
};
use evenkeel_model::{Gone, PodPhase, SharesAnnotation, SharesError, Topology, Version, label};
use futures_util::StreamExt;
use k8s_openapi::api::{core::v1 as core, discovery::v1 as discovery};
use kube::{
    Api, Resource,
    api::{ListParams, ObjectList, WatchEvent},
    runtime::watcher::{self, Event},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    live::{kubeconfig, serve},
    object,
};

fn gone(namespace: &str, name: &str, uid: &str) -> Gone {
    Gone { namespace: namespace.into(), name: name.into(), uid: uid.into() }
}

#[test]
fn null_and_nothing_are_the_same_everywhere() {
    let nulls = [
        json!({}),
        json!({"metadata": null, "spec": null, "status": null, "endpoints": null, "ports": null}),
        json!({
            "metadata": {"name": null, "namespace": null, "uid": null, "resourceVersion": null,
                "generation": null, "labels": null, "annotations": null, "ownerReferences": null,
                "creationTimestamp": null, "deletionTimestamp": null, "managedFields": null},
            "spec": {"nodeName": null, "hostname": null, "subdomain": null, "containers": null,
                "initContainers": null, "nodeSelector": null, "affinity": null, "type": null,
                "clusterIP": null, "ipFamilies": null, "selector": null, "ports": null,
                "publishNotReadyAddresses": null, "trafficDistribution": null,
                "externalIPs": null},
            "status": {"phase": null, "podIP": null, "podIPs": null, "conditions": null,
                "allocatable": null, "loadBalancer": null},
        }),
        json!({
            "spec": {"affinity": {"nodeAffinity": null}},
            "status": {"conditions": [null, {"type": null, "status": null}],
                "allocatable": {"cpu": null}, "loadBalancer": {"ingress": [null, {"ip": null}]}},
        }),
        json!({"spec": {"affinity": {"nodeAffinity":
            {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [null]}}}}}),
    ];
    let mut topology = Topology::default();
    let [pod, node, service] = [(); 3].map(|()| json!({}));
    let pod = object::<watched::Pod>(pod).seen(&mut topology).unwrap();
    let node = object::<watched::Node>(node).seen(&mut topology);
    let service = object::<watched::Service>(service).seen();
    for given in nulls {
        assert_eq!(object::<watched::Pod>(given.clone()).seen(&mut topology).unwrap(), pod);
        assert_eq!(object::<watched::Node>(given.clone()).seen(&mut topology), node);
        assert_eq!(object::<watched::Service>(given.clone()).seen(), service);
        let mut slice = given;
        slice["addressType"] = "IPv4".into();
        let slice = object::<watched::EndpointSlice>(slice).seen(&mut topology).unwrap();
        assert_eq!(slice.version, Version::default());
        assert!(slice.slice.endpoints.is_empty() && slice.slice.ports.is_empty());
    }
    assert_eq!(pod.pod.phase, PodPhase::Pending);
}

#[test]
fn null_in_a_list_is_an_empty_item() {
    let given = json!({"addressType": "IPv4", "metadata": {"labels": {"a": null}},
        "ports": [null], "endpoints": [null, {"hints": {"forZones": [null]}}]});
    let slice = object::<watched::EndpointSlice>(given).seen(&mut Topology::default());
    let slice = slice.unwrap().slice;
    assert_eq!(slice.labels.get("a").map(|value| &**value), Some(""));
    assert_eq!((slice.ports[0].port, slice.endpoints.len()), (None, 2));
    assert_eq!(slice.endpoints[1].zone_hints().len(), 1);
}

#[test]
fn wrong_values_are_told_by_the_object_that_has_them() {
    let pod = |json| object::<watched::Pod>(json).seen(&mut Topology::default()).err();
    let slice = |json| object::<watched::EndpointSlice>(json).seen(&mut Topology::default()).err();
    let node = |json| object::<watched::Node>(json).seen(&mut Topology::default()).1;
    let port = |number: Value| {
        let ports = json!([{"name": "x", "containerPort": number}]);
        pod(json!({"spec": {"containers": [{"ports": ports}]}}))
    };
    let whole = "containerPort: 9223372036854775807 is not a port";
    let cases = [
        (pod(json!({"status": {"podIPs": [{"ip": "x"}]}})), "status.podIPs[0].ip: \"x\" is not"),
        (port(json!(65536)), "spec.containers[0].ports[0].containerPort: 65536 is not a port"),
        (port(json!(u64::MAX)), &format!("spec.containers[0].ports[0].{whole}")),
        (port(json!(1e300)), &format!("spec.containers[0].ports[0].{whole}")),
        (port(json!(i64::MIN)), "spec.containers[0].ports[0].containerPort: -922337203685"),
        (slice(json!({})), "addressType: \"\" is not an address type"),
        (
            slice(json!({"addressType": "IPv4", "ports": [{"port": 1u64 << 40}]})),
            "ports[0].port: 1099511627776 is not a port",
        ),
        (
            slice(json!({"addressType": "IPv4", "endpoints": [{"addresses": ["::1"]}]})),
            "endpoints[0].addresses[0]: \"::1\" is not an IPv4 address",
        ),
        (
            node(json!({"status": {"allocatable": {"cpu": "much"}}})),
            "status.allocatable.cpu: \"much\" is not a quantity",
        ),
    ];
    for (found, expected) in cases {
        let found = found.map(|error| error.to_string()).unwrap_or_default();
        assert!(found.starts_with(expected), "{found} instead of {expected}");
    }
}

#[test]
fn a_time_that_is_none_is_no_time_and_no_error() {
    let cases = [
        (json!("1970-01-01T00:00:10Z"), Some(10)),
        (json!("1970-01-01T02:00:10.999999+02:00"), Some(10)),
        (json!("2026-11-16T07:31:00Z"), Some(1_794_814_260)),
        (json!(""), None),
        (json!("yesterday"), None),
        (json!("2026-13-45T00:00:00Z"), None),
        (json!(null), None),
        (json!(true), None),
        (json!(17), None),
        (json!(-1.5), None),
        (json!(["2026-11-16T07:31:00Z", {}]), None),
        (json!({"seconds": 1}), None),
    ];
    for (time, expected) in cases {
        let given = json!({
            "metadata": {"creationTimestamp": time},
            "status": {"conditions": [
                {"type": "Initialized", "status": "True", "lastTransitionTime": "1970-01-01T00:00:01Z"},
                {"type": "Ready", "status": "True", "lastTransitionTime": time},
                {"type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:00:02Z"},
            ]},
        });
        assert_eq!(object::<watched::Service>(given.clone()).seen().created, expected, "{time}");
        let pod = object::<watched::Pod>(given).seen(&mut Topology::default()).unwrap();
        assert_eq!(pod.ready_since, expected, "{time}");
    }
}

#[test]
fn what_is_not_used_is_not_looked_at() {
    let deep = (0..100).fold(json!(1), |inner, _| json!({"f:a": [inner]}));
    let managed: Vec<_> = (0..1_000).map(|_| json!({"manager": 1, "fieldsV1": deep})).collect();
    let unused = json!({"finalizers": 1, "managedFields": managed, "selfLink": [],
        "annotations": 7, "generateName": {}});
    let mut metadata = unused.clone();
    metadata["name"] = "p".into();
    let given = json!({"metadata": metadata, "kind": 5, "apiVersion": [],
        "spec": {"volumes": 1, "containers": [{"name": 1, "env": 2, "image": {}}]},
        "status": {"ephemeralContainerStatuses": 1, "podIP": "10.0.0.1", "nodeInfo": []}});
    let pod = object::<watched::Pod>(given.clone());
    assert_eq!(pod.gone(), gone("", "p", ""));
    assert_eq!(pod.seen(&mut Topology::default()).unwrap().pod.ips.len(), 1);
    assert_eq!(object::<watched::Node>(given).gone(), gone("", "p", ""));
}

#[test]
fn a_node_keeps_its_zone_and_region() {
    let mut topology = Topology::default();
    let given = json!({"metadata": {"name": "n1", "labels": {"other": "x",
        "topology.kubernetes.io/zone": "zone-a", "topology.kubernetes.io/region": "eu"}}});
    let (node, problem) = object::<watched::Node>(given).seen(&mut topology);
    assert_eq!(problem, None);
    assert_eq!((node.zone, node.zone.is_some()), (topology.zones.find("zone-a"), true));
    assert_eq!((node.region, node.region.is_some()), (topology.regions.find("eu"), true));
    let none = json!({"metadata": {"name": "n2", "labels": {"topology.kubernetes.io/region": ""}}});
    assert_eq!(object::<watched::Node>(none).seen(&mut topology).0.region, None);
}

#[test]
fn a_slice_carries_zone_shares_whatever_they_hold() {
    let mut topology = Topology::default();
    let mut shares = |annotations: Value| {
        let given = json!({"addressType": "IPv4", "metadata": {"annotations": annotations}});
        let slice = object::<watched::EndpointSlice>(given).seen(&mut topology);
        slice.expect("shares never spoil a slice").slice.shares
    };
    let key = label::ZONE_SHARES;
    assert_eq!(shares(json!({"other": "x"})), None);
    let text = r#"{"zone-a":{"zone-a":1000},"zone-b":{"zone-a":250,"zone-b":750}}"#;
    let Some(SharesAnnotation::Valid(valid)) = shares(json!({"other": "x", key: text})) else {
        panic!("the table is right")
    };
    assert_eq!(valid.rows().len(), 2);
    let invalid = |found| match found {
        Some(SharesAnnotation::Invalid(why)) => why,
        other => panic!("{other:?}"),
    };
    let broken = invalid(shares(json!({key: "{"})));
    assert!(matches!(broken, SharesError::SharesNotJson { .. }), "{broken:?}");
    let long = format!("{text}{}", " ".repeat(200 * 1024 - text.len()));
    let long = invalid(shares(json!({key: long})));
    assert!(matches!(long, SharesError::SharesTooLong { bytes: 204_800, .. }), "{long:?}");
}

#[test]
fn equal_kinds_and_namespaces_of_targets_are_kept_once() {
    let target =
        |name: &str| json!({"kind": "Pod", "namespace": "shop", "name": name, "uid": name});
    let endpoints: Vec<_> = ["a", "b", "c"].map(|name| json!({"targetRef": target(name)})).into();
    let given = json!({"addressType": "IPv4", "endpoints": endpoints});
    let slice = object::<watched::EndpointSlice>(given).seen(&mut Topology::default()).unwrap();
    let targets: Vec<_> = slice.slice.endpoints.iter().flat_map(|e| &e.target).collect();
    let names: Vec<_> = targets.iter().map(|target| &*target.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    for target in &targets {
        assert!(Arc::ptr_eq(&target.kind, &targets[0].kind));
        assert!(Arc::ptr_eq(&target.namespace, &targets[0].namespace));
    }
}

#[test]
fn an_object_that_is_gone_is_known_by_namespace_name_and_uid() {
    let given = json!({"metadata": {"namespace": "shop", "name": "web", "uid": "u1"}});
    let expected = gone("shop", "web", "u1");
    assert_eq!(object::<watched::Pod>(given.clone()).gone(), expected);
    assert_eq!(object::<watched::Node>(given.clone()).gone(), expected);
    assert_eq!(object::<watched::Service>(given.clone()).gone(), expected);
    assert_eq!(object::<watched::EndpointSlice>(given).gone(), expected);
}

#[test]
fn of_the_answer_to_a_write_the_version_is_read() {
    let answer = json!({"kind": "EndpointSlice", "endpoints": [1], "metadata":
        {"uid": "u1", "resourceVersion": "184607", "generation": 3, "labels": 1}});
    let version = object::<watched::Written>(answer).version();
    let expected = Version { uid: "u1".into(), resource_version: "184607".into(), generation: 3 };
    assert_eq!(version, expected);
    for none in [json!({}), json!({"metadata": null}), json!({"metadata": {"generation": null}})] {
        assert_eq!(object::<watched::Written>(none).version(), Version::default());
    }
}

#[test]
fn watched_kinds_are_found_where_their_whole_objects_are() {
    fn check<S: Resource<DynamicType = ()>, W: Resource<DynamicType = ()>>() {
        assert_eq!(S::url_path(&(), Some("shop")), W::url_path(&(), Some("shop")));
        assert_eq!((S::kind(&()), S::api_version(&())), (W::kind(&()), W::api_version(&())));
        assert_eq!((S::group(&()), S::version(&())), (W::group(&()), W::version(&())));
        assert_eq!(S::plural(&()), W::plural(&()));
    }
    check::<watched::Pod, core::Pod>();
    check::<watched::Service, core::Service>();
    check::<watched::EndpointSlice, discovery::EndpointSlice>();
    assert_eq!(watched::Node::url_path(&(), None), core::Node::url_path(&(), None));
    assert_eq!(watched::Node::plural(&()), "nodes");
}

#[test]
fn a_bad_object_in_a_list_leaves_the_others() {
    let pod = |name: &str, ip: Value| json!({"metadata": {"name": name}, "status": {"podIP": ip}});
    let list: ObjectList<watched::Pod> = object(json!({"kind": "PodList", "apiVersion": "v1",
        "metadata": {"resourceVersion": "9"},
        "items": [pod("a", json!("10.0.0.1")), pod("b", json!("x")), pod("c", json!(null))]}));
    let mut topology = Topology::default();
    let seen: Vec<_> = list.items.iter().map(|pod| pod.seen(&mut topology)).collect();
    assert!(seen[0].is_ok() && seen[2].is_ok());
    assert_eq!(seen[1].as_ref().unwrap_err().field, "status.podIP");
}

/// The type may come after the object, which is then kept until it is known.
#[test]
fn lines_of_a_watch_are_read_in_either_order() {
    fn check<T: Resource<DynamicType = ()> + DeserializeOwned + Debug>(object: &str) {
        for line in [
            format!(r#"{{"type":"MODIFIED","object":{object}}}"#),
            format!(r#"{{"object":{object},"type":"MODIFIED"}}"#),
        ] {
            match serde_json::from_str::<WatchEvent<T>>(&line) {
                Ok(WatchEvent::Modified(read)) => {
                    assert_eq!(read.meta().name.as_deref(), Some("x"), "{line}");
                }
                other => panic!("{other:?} for {line}"),
            }
        }
    }
    let meta = r#""metadata":{"name":"x","generation":1,"labels":{"a":"b"},"annotations":{"evenkeel.dev/selector":"a=b"},"creationTimestamp":"2026-11-16T07:31:00Z"}"#;
    check::<watched::Pod>(&format!(
        r#"{{{meta},"spec":{{"nodeSelector":{{}},"containers":[{{"ports":[{{"containerPort":1}}]}}]}}}}"#
    ));
    check::<watched::Node>(&format!(r#"{{{meta},"status":{{"allocatable":{{"cpu":4}}}}}}"#));
    check::<watched::Service>(&format!(
        r#"{{{meta},"spec":{{"ports":[{{"port":1,"targetPort":"a"}},{{"port":1,"targetPort":2}}]}}}}"#
    ));
    check::<watched::EndpointSlice>(&format!(
        r#"{{{meta},"addressType":"IPv4","ports":[{{"port":80}}],"endpoints":null}}"#
    ));
}

fn pods(path: &str) -> (u16, Value) {
    let pod = |name: &str, ip: &str| {
        json!({"metadata": {"name": name, "namespace": "shop", "uid": name,
            "resourceVersion": "1"}, "status": {"podIP": ip}})
    };
    match path {
        path if path.contains("watch=true") => {
            (200, json!({"type": "ADDED", "object": pod("new", "10.0.0.3")}))
        }
        path if path.starts_with("/api/v1/pods?") => {
            let items = json!([pod("good", "10.0.0.1"), pod("bad", "x")]);
            (200, json!({"metadata": {"resourceVersion": "1"}, "items": items}))
        }
        _ => (404, json!({"kind": "Status", "code": 404, "message": "not here", "reason": "X"})),
    }
}

#[tokio::test]
async fn kube_lists_and_watches_them() {
    let config = kubeconfig("watched", &serve(pods).await);
    let client = client(&ClusterSource::file(config.0.clone(), None)).await.unwrap();
    let api: Api<watched::Pod> = Api::all(client);
    let listed = api.list(&ListParams::default()).await.unwrap();
    let names: Vec<_> = listed.items.iter().map(|pod| pod.gone().name.to_string()).collect();
    assert_eq!(names, ["good", "bad"]);

    let events = watcher::watcher(api, watcher::Config::default()).take(5).collect::<Vec<_>>();
    let events = tokio::time::timeout(Duration::from_secs(60), events).await.unwrap();
    let shown = events.into_iter().map(|event| match event.unwrap() {
        Event::Init => "restarted".to_owned(),
        Event::InitApply(pod) => format!("listed {}", pod.gone().name),
        Event::InitDone => "complete".to_owned(),
        Event::Apply(pod) => format!("applied {}", pod.gone().name),
        Event::Delete(pod) => format!("deleted {}", pod.gone().name),
    });
    let expected = ["restarted", "listed good", "listed bad", "complete", "applied new"];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}
