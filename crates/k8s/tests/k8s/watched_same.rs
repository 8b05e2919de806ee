//! Objects of a watch are seen as their whole objects are converted.

use std::{fs, path::Path};

use evenkeel_k8s::{Objects, convert, manifest, watched};
use evenkeel_model::{
    Condition, SeenPod, SeenService, SeenSlice, Service, Topology, Version, label,
};
use k8s_openapi::{
    api::{core::v1 as core, discovery::v1::EndpointSlice},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::Resource;
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    slice_given::{any_slice, spelled},
    watched_given::{any_node, any_pod, any_service},
};

/// Both ways use one table of names: what both read then has the same ids.
fn check_pod(json: &str) {
    let (whole, slim): (core::Pod, watched::Pod) = both(json);
    let mut topology = Topology::default();
    let expected = convert::pod(&mut topology, &whole).map(|pod| {
        let conditions = whole.status.iter().flat_map(|status| &status.conditions).flatten();
        let ready = conditions.clone().find(|condition| condition.type_ == "Ready");
        let since = ready.and_then(|ready| ready.last_transition_time.as_ref());
        SeenPod {
            pod,
            labels: whole.metadata.labels.clone().unwrap_or_default(),
            ready_since: since.map(|time| time.0.as_second()),
        }
    });
    assert_eq!(slim.seen(&mut topology), expected, "{json}");
}

fn check_node(json: &str) {
    let (whole, slim): (core::Node, watched::Node) = both(json);
    let mut topology = Topology::default();
    let expected = convert::node(&mut topology, &whole);
    let (seen, problem) = slim.seen(&mut topology);
    assert_eq!(problem.map_or(Ok(seen), Err), expected, "{json}");
}

fn check_slice(json: &str) {
    let (whole, slim): (EndpointSlice, watched::EndpointSlice) = both(json);
    let mut topology = Topology::default();
    let meta = &whole.metadata;
    let expected = convert::endpoint_slice(&mut topology, &whole).map(|slice| SeenSlice {
        namespace: meta.namespace.as_deref().unwrap_or_default().into(),
        slice,
        version: version(meta),
        deleting: meta.deletion_timestamp.is_some(),
    });
    assert_eq!(slim.seen(&mut topology), expected, "{json}");
}

/// Where something is wrong, what is wrong is the same, and the rest is there all the same.
fn check_service(json: &str) {
    let (whole, slim): (core::Service, watched::Service) = both(json);
    let meta = &whole.metadata;
    let seen = slim.seen();
    let expected = match convert::service(&whole) {
        Ok(service) => (without_other_annotations(service), None),
        Err(error) => (seen.service.clone(), Some(error.to_string().into())),
    };
    assert_eq!(seen.problem.as_ref().or(seen.frontend_problem.as_ref()), expected.1.as_ref());
    let expected = SeenService {
        service: expected.0,
        version: version(meta),
        created: meta.creation_timestamp.as_ref().map(|time| time.0.as_second()),
        conditions: conditions(&whole),
        problem: seen.problem.clone(),
        frontend_problem: seen.frontend_problem.clone(),
    };
    assert_eq!(seen, expected, "{json}");
    let key = format!("{}/{}", text(&meta.namespace), text(&meta.name));
    assert_eq!((seen.service.key.to_string(), &*seen.service.uid), (key, text(&meta.uid)));
    let labels = meta.labels.clone().unwrap_or_default();
    let seen_labels = seen.service.labels.iter().map(|(k, v)| (k.to_string(), v.to_string()));
    assert_eq!(seen_labels.collect::<Vec<_>>(), labels.into_iter().collect::<Vec<_>>());
}

fn both<W, S>(json: &str) -> (W, S)
where
    W: DeserializeOwned + Resource<DynamicType = ()>,
    S: DeserializeOwned + Resource<DynamicType = ()>,
{
    let whole: W = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let slim: S = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let given = whole.meta();
    let expected = ObjectMeta {
        name: given.name.clone(),
        namespace: given.namespace.clone(),
        uid: given.uid.clone(),
        resource_version: given.resource_version.clone(),
        ..ObjectMeta::default()
    };
    assert_eq!(*slim.meta(), expected, "{json}");
    (whole, slim)
}

fn text(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

fn version(meta: &ObjectMeta) -> Version {
    Version {
        uid: text(&meta.uid).into(),
        resource_version: text(&meta.resource_version).into(),
        generation: meta.generation.unwrap_or_default(),
    }
}

fn without_other_annotations(mut service: Service) -> Service {
    let kept = [
        label::TOPOLOGY_MODE,
        label::TOPOLOGY_AWARE_HINTS,
        label::TRAFFIC_DISTRIBUTION,
        label::SELECTOR,
    ];
    service.annotations.retain(|key, _| kept.contains(&&**key));
    service
}

fn conditions(service: &core::Service) -> Vec<Condition> {
    let given = service.status.iter().flat_map(|status| &status.conditions).flatten();
    let kinds = [
        "TrafficDistributionAccepted",
        "TrafficDistributionProgrammed",
        "evenkeel.dev/TrafficDistributionAccepted",
        "evenkeel.dev/TrafficDistributionProgrammed",
    ];
    let ours = given.filter(|given| kinds.contains(&given.type_.as_str()));
    let ours = ours.map(|given| Condition {
        kind: given.type_.as_str().into(),
        status: given.status == "True",
        reason: given.reason.as_str().into(),
        message: given.message.as_str().into(),
    });
    ours.collect()
}

proptest! {
    #[test]
    fn any_pod_is_seen_as_it_is_converted(object in any_pod(), seed: u64) {
        check_pod(&spelled(&object, seed));
    }

    #[test]
    fn any_node_is_seen_as_it_is_converted(object in any_node(), seed: u64) {
        check_node(&spelled(&object, seed));
    }

    #[test]
    fn any_service_is_seen_as_it_is_converted(object in any_service(), seed: u64) {
        check_service(&spelled(&object, seed));
    }

    #[test]
    fn any_slice_is_seen_as_it_is_converted(object in any_slice(), seed: u64) {
        check_slice(&spelled(&serde_json::to_value(&object).unwrap(), seed));
    }
}

#[test]
fn odd_slices_are_seen_as_they_are_converted() {
    let cases = [
        "{}",
        r#"{"addressType":null}"#,
        r#"{"addressType":"IPv4","metadata":null,"endpoints":null,"ports":null}"#,
        r#"{"addressType":"IPv4","metadata":{},"endpoints":[],"ports":[]}"#,
        r#"{"addressType":"ipv4"}"#,
        r#"{"addressType":"IPv4","metadata":{"labels":{"b":"1","a":"2","b":"3"}}}"#,
        r#"{"addressType":"IPv4","metadata":{"deletionTimestamp":null}}"#,
        r#"{"addressType":"IPv4","metadata":{"ownerReferences":[{"uid":"a"},
            {"apiVersion":"v1","kind":"Service"},{"apiVersion":"v1","kind":"Service","uid":"b"}]}}"#,
        r#"{"addressType":"IPv4","metadata":{"annotations":{"a":"b","evenkeel.dev/zone-shares":"{}"}}}"#,
        r#"{"addressType":"IPv4","endpoints":[{},{"addresses":["1.2.3.4","x"]},{"addresses":["y"]}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"addresses":["1.2.3.4","1.2.3.5","1.2.3.6"]}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"z\u006fne":"\u0061\n","\u0061ddresses":[]}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"conditions":null,"hints":null,"targetRef":null}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"conditions":{"ready":null},"targetRef":{}}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"hints":{"forZones":[{},{"name":null}]}}]}"#,
        r#"{"addressType":"IPv4","endpoints":[{"hints":{"forZones":null,"forNodes":[]}}]}"#,
        r#"{"addressType":"FQDN","endpoints":[{"addresses":["","a.b","10.0.0.1"]}]}"#,
        r#"{"addressType":"IPv6","endpoints":[{"addresses":["::ffff:1.2.3.4"]}]}"#,
        r#"{"endpoints":[{"addresses":["x"]}],"ports":[{"port":0}],"addressType":"IPv4"}"#,
        r#"{"addressType":"IPv4","ports":[{"port":0,"protocol":"x"}]}"#,
        r#"{"addressType":"IPv4","ports":[{},{"port":-1},{"port":65536}]}"#,
        r#"{"addressType":"IPv4","ports":[{"port":65535,"protocol":"","appProtocol":""}]}"#,
        r#"{"addressType":"IPv4","ports":[{"protocol":"udp"}],"endpoints":[{"addresses":["x"]}]}"#,
        r#"{"addressType":"IPv4","unknown":{"deep":[{"zone":1}]}}"#,
    ];
    for json in cases {
        check_slice(json);
    }
}

/// Checks all objects of a text, and says how many there were of each kind.
fn check_all(name: &str, text: &str, counts: &mut [usize; 4]) {
    fn all<'a, T: Serialize + 'a>(
        objects: impl IntoIterator<Item = &'a evenkeel_k8s::Item<T>>,
        check: fn(&str),
    ) -> usize {
        let objects = objects.into_iter();
        objects.map(|item| check(&serde_json::to_string(&item.object).unwrap())).count()
    }
    let mut objects = Objects::default();
    manifest::parse(name, text, &mut objects).unwrap();
    counts[0] += all(&objects.pods, check_pod);
    counts[1] += all(&objects.nodes, check_node);
    counts[2] += all(&objects.services, check_service);
    counts[3] += all(&objects.slices, check_slice);
}

#[test]
fn the_objects_of_the_examples_are_seen_as_they_are_converted() {
    let mut counts = [0; 4];
    check_all("seed.yaml", include_str!("seed.yaml"), &mut counts);
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/three-zones");
    for name in ["pods.yaml", "nodes.yaml", "services.yaml", "endpointslices.yaml"] {
        check_all(name, &fs::read_to_string(example.join(name)).unwrap(), &mut counts);
    }
    assert!(counts.iter().all(|count| *count > 3), "{counts:?}");
}
