//! Pods, Nodes and Services as an API server could send them, and some as it never would.

use proptest::{collection, option, prelude::*, sample};
use serde_json::{Value, json};

/// Half of them with values that no API server takes.
pub(crate) fn any_pod() -> impl Strategy<Value = Value> {
    prop_oneof![pod(true), pod(false)]
}

pub(crate) fn any_node() -> impl Strategy<Value = Value> {
    let cpu = some([json!("3920m"), json!("4"), json!(4), json!("banana"), json!("-1"), json!("")]);
    let allocatable = fields(vec![("cpu", cpu), ("memory", some([json!("1Gi")]))]);
    let status = fields(vec![("allocatable", allocatable), ("conditions", conditions())]);
    fields(vec![("metadata", metadata()), ("spec", some([json!({})])), ("status", status)])
}

/// Half of them with values that no API server takes.
pub(crate) fn any_service() -> impl Strategy<Value = Value> {
    prop_oneof![service(true), service(false)]
}

type Given = BoxedStrategy<Value>;

/// One of these.
fn some<const N: usize>(values: [Value; N]) -> Given {
    sample::select(values.to_vec()).boxed()
}

/// One of these if all must be right, or of the `wrong` ones too.
fn checked<const N: usize, const M: usize>(
    right: bool,
    good: [Value; N],
    bad: [Value; M],
) -> Given {
    let bad = bad.into_iter().filter(|_| !right);
    sample::select(good.into_iter().chain(bad).collect::<Vec<_>>()).boxed()
}

fn list(item: Given) -> Given {
    collection::vec(item, 0..3).prop_map(Value::Array).boxed()
}

/// An object in which each of these fields may be missing.
fn fields(fields: Vec<(&'static str, Given)>) -> Given {
    let (keys, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    let values: Vec<_> = values.into_iter().map(|value| option::weighted(0.8, value)).collect();
    let object = values.prop_map(move |values| {
        let given = keys.iter().zip(values).filter_map(|(key, value)| Some((key, value?)));
        given.map(|(key, value)| ((*key).to_owned(), value)).collect()
    });
    object.prop_map(Value::Object).boxed()
}

fn name() -> Given {
    some(["", "a", "web", "n1", "zone-a", "ä\"\\\n😀"].map(Value::from))
}

fn time() -> Given {
    some([
        json!("2026-03-03T09:10:31Z"),
        json!("1969-12-31T23:59:59Z"),
        json!("2026-03-03T09:10:31.123456Z"),
        json!("2026-03-03T09:10:31+02:00"),
    ])
}

fn metadata() -> Given {
    let labels = some([
        json!({}),
        json!({"app": "web", "tier": ""}),
        json!({"topology.kubernetes.io/zone": "zone-a"}),
        json!({"topology.kubernetes.io/zone": "zone-a", "topology.kubernetes.io/region": "eu"}),
        json!({"topology.kubernetes.io/zone": "", "node-role.kubernetes.io/control-plane": ""}),
        json!({"node-role.kubernetes.io/master": "x", "app": "web"}),
    ]);
    let annotations = some([
        json!({}),
        json!({"evenkeel.dev/selector": "app=web, tier==front"}),
        json!({"evenkeel.dev/selector": "app in (web)", "x": "y"}),
        json!({"service.kubernetes.io/topology-mode": "Auto", "kubectl": "{\"long\": 1}",
            "service.kubernetes.io/topology-aware-hints": "", "a": "b"}),
        json!({"evenkeel.dev/traffic-distribution": "x", "evenkeel.dev/other": "y"}),
    ]);
    fields(vec![
        ("name", name()),
        ("namespace", name()),
        ("uid", name()),
        ("resourceVersion", some([json!("1"), json!("184607")])),
        ("generation", some([json!(0), json!(7), json!(i64::MAX)])),
        ("labels", labels),
        ("annotations", annotations),
        ("creationTimestamp", time()),
        ("deletionTimestamp", time()),
        ("managedFields", some([json!([{"manager": "kubelet", "fieldsV1": {"f:a": {}}}])])),
        (
            "ownerReferences",
            some([json!([{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}])]),
        ),
    ])
}

fn conditions() -> Given {
    list(fields(vec![
        ("type", some([json!("Ready"), json!("Ready"), json!("PodScheduled"), json!("")])),
        ("status", some([json!("True"), json!("False"), json!("Unknown"), json!("true")])),
        ("lastTransitionTime", time()),
        ("message", name()),
    ]))
}

fn protocol(right: bool) -> Given {
    checked(right, ["", "TCP", "UDP", "SCTP"].map(Value::from), ["tcp", "banana"].map(Value::from))
}

fn port(right: bool) -> Given {
    checked(right, [1, 80, 65535].map(Value::from), [-1, 0, 65536, i32::MIN].map(Value::from))
}

fn address(right: bool) -> Given {
    let good = ["10.0.0.1", "fd00::1", "010.0.0.08", "::ffff:10.0.0.1"];
    checked(right, good.map(Value::from), ["x", "10.0.0.256"].map(Value::from))
}

fn pod(right: bool) -> Given {
    // What a port must have in all Pods that are right.
    let port = (name(), port(right), option::of(protocol(right))).prop_map(|(name, port, protocol)| {
        json!({"name": name, "containerPort": port, "protocol": protocol, "hostPort": 1})
    });
    let container = fields(vec![
        ("name", name()),
        ("image", name()),
        ("restartPolicy", some([json!("Always"), json!("Never"), json!("")])),
        ("ports", list(port.boxed())),
        ("env", some([json!([{"name": "A", "value": "B"}])])),
    ]);
    let expression = json!({"key": "disk", "operator": "In", "values": ["ssd"]});
    let terms = list(some([
        json!({}),
        json!({"matchExpressions": []}),
        json!({"matchExpressions": [expression]}),
        json!({"matchFields": [expression]}),
    ]));
    let required = fields(vec![("nodeSelectorTerms", terms)]);
    let key = "requiredDuringSchedulingIgnoredDuringExecution";
    let affinity = fields(vec![("nodeAffinity", fields(vec![(key, required)]))]);
    let spec = fields(vec![
        ("nodeName", name()),
        ("hostname", name()),
        ("subdomain", name()),
        ("containers", list(container.clone())),
        ("initContainers", list(container)),
        ("nodeSelector", some([json!({}), json!({}), json!({"disk": "ssd"})])),
        ("affinity", affinity),
        ("priority", some([json!(0)])),
    ]);
    let ips = list(address(right).prop_map(|ip| json!({"ip": ip})).boxed());
    let status = fields(vec![
        ("phase", some(["", "Pending", "Running", "Succeeded", "Failed", "Odd"].map(Value::from))),
        ("podIP", prop_oneof![address(right), Just(json!(""))].boxed()),
        ("podIPs", ips),
        ("conditions", conditions()),
        ("qosClass", name()),
    ]);
    fields(vec![("metadata", metadata()), ("spec", spec), ("status", status)])
}

fn service(right: bool) -> Given {
    let target = checked(right, [json!(0), json!(""), json!("http"), json!(8080)], [json!(-1)]);
    let extras = (option::of(target), option::of(protocol(right)), option::of(name()));
    let port = (name(), port(right), extras, option::of(some([json!(0), json!(30080)]))).prop_map(
        |(name, port, (target, protocol, app), node_port)| {
            json!({"name": name, "port": port, "targetPort": target, "protocol": protocol,
                "appProtocol": app, "nodePort": node_port})
        },
    );
    let families = checked(right, [json!("IPv4"), json!("IPv6")], [json!("IPv5")]);
    let cluster_ip = checked(
        right,
        [json!("None"), json!(""), json!("10.0.0.1"), json!("fd00::1")],
        [json!("x")],
    );
    let policy = || some([json!("Local"), json!("Cluster"), json!("")]);
    let kinds = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName", ""].map(Value::from);
    let spec = fields(vec![
        ("type", some(kinds)),
        ("clusterIP", cluster_ip),
        ("ipFamilies", list(families)),
        ("selector", some([json!({}), json!({}), json!({"app": "web"})])),
        ("ports", list(port.boxed())),
        ("publishNotReadyAddresses", some([json!(true), json!(false)])),
        ("trafficDistribution", some([json!("PreferClose"), json!("")])),
        ("internalTrafficPolicy", policy()),
        ("externalTrafficPolicy", policy()),
        ("externalIPs", some([json!([]), json!(["1.2.3.4"])])),
        ("sessionAffinity", name()),
    ]);
    let ingress =
        list(fields(vec![("ip", some([json!(""), json!("1.2.3.4")])), ("hostname", name())]));
    let status = fields(vec![
        ("loadBalancer", fields(vec![("ingress", ingress)])),
        ("conditions", list(service_condition())),
    ]);
    fields(vec![("metadata", metadata()), ("spec", spec), ("status", status)])
}

/// Those of Services always have the time of their last transition.
fn service_condition() -> Given {
    let kinds = [
        "TrafficDistributionAccepted",
        "evenkeel.dev/TrafficDistributionProgrammed",
        "example.org/TrafficDistributionAccepted",
        "Ready",
    ];
    let others = fields(vec![
        ("type", some(kinds.map(Value::from))),
        ("status", some([json!("True"), json!("False")])),
        ("reason", name()),
        ("message", name()),
    ]);
    let timed = (others, time()).prop_map(|(mut condition, time)| {
        condition["lastTransitionTime"] = time;
        condition
    });
    timed.boxed()
}
