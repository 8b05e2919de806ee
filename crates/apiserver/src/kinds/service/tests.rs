use proptest::{prelude::*, strategy::Strategy};
use serde_json::{Value, json};

use super::*;
use crate::{
    kinds::{endpointslice::ENDPOINT_SLICE, metadata, read::remove},
    pools::Pools,
};

fn admission(service_traffic_distribution: bool) -> Admission {
    Admission {
        now: "2026-01-01T00:00:00Z".parse().unwrap(),
        features: Features { service_traffic_distribution, ..Features::default() },
    }
}

/// A complete Service, with these fields merged into its spec (`null`: removed).
fn service(spec: &Value) -> Value {
    let mut service = json!({"metadata": {"name": "a"}, "spec": {
        "type": "ClusterIP", "clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"],
        "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "ports": [{"port": 80}],
    }});
    for (name, value) in spec.as_object().unwrap() {
        match value.is_null() {
            true => drop(remove(&mut service, &["spec", name])),
            false => *entry(&mut service, &["spec", name]) = value.clone(),
        }
    }
    SERVICE.strategy.default(&mut service, &admission(true));
    service
}

fn texts(errors: &Errors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_distribution_with_a_domain_needs_the_gate() {
    let with_gate = |on| Admission {
        features: Features { traffic_distribution_domains: on, ..Features::default() },
        ..admission(true)
    };
    let valid = |value: &str, on| {
        let object = service(&json!({"trafficDistribution": value}));
        SERVICE.strategy.validate_create(&object, &with_gate(on)).is_empty()
    };
    for value in ["evenkeel.dev/Balanced", "example.com/anything"] {
        assert!(valid(value, true), "{value}");
        assert!(!valid(value, false), "{value}");
    }
    for value in ["Balanced", "/Balanced", "evenkeel.dev/", "a/b/c", "evenkeel dev/Balanced", ""] {
        assert!(!valid(value, true), "{value}");
    }
    // The gate was turned off after the value was stored.
    let stored = service(&json!({"trafficDistribution": "evenkeel.dev/Balanced"}));
    let other = service(&json!({"trafficDistribution": "evenkeel.dev/Other"}));
    let update =
        |new| SERVICE.strategy.validate_update(Part::Main, new, &stored, &with_gate(false));
    assert!(update(&stored).is_empty());
    assert!(!update(&other).is_empty());
}

#[test]
fn a_service_is_refused_in_the_words_of_kubernetes() {
    for (spec, wrong) in [
        (json!({}), &[][..]),
        (json!({"type": "LoadBalancer", "loadBalancerSourceRanges": [" 10.0.0.0/8 "]}), &[]),
        (
            json!({"loadBalancerSourceRanges": ["10.0.0.0"]}),
            &[
                "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
                "spec.LoadBalancerSourceRanges[0]: Invalid value: \"10.0.0.0\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            ],
        ),
        (
            json!({"loadBalancerClass": "x"}),
            &["spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"],
        ),
        (
            json!({"allocateLoadBalancerNodePorts": true}),
            &[
                "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
            ],
        ),
        (
            json!({"healthCheckNodePort": 30000}),
            &[
                "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
            ],
        ),
        (
            json!({"externalIPs": ["1.2.3", "127.0.0.1"]}),
            &[
                "spec.externalIPs[0]: Invalid value: \"1.2.3\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
                "spec.externalIPs[1]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)",
            ],
        ),
        (
            json!({"ports": [{"port": 80, "nodePort": 30001}]}),
            &["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            json!({"type": "NodePort", "externalTrafficPolicy": "Some"}),
            &[
                "spec.externalTrafficPolicy: Unsupported value: \"Some\": supported values: \"Cluster\", \"Local\"",
            ],
        ),
        (
            json!({"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]}),
            &[
                "spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\"TargetPort\":0,\"NodePort\":0}",
            ],
        ),
        (
            json!({"type": "ExternalName", "externalName": "x.example.com."}),
            &[
                "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
                "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
                "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services",
            ],
        ),
        (
            json!({"sessionAffinity": "Some"}),
            &[
                "spec.sessionAffinity: Unsupported value: \"Some\": supported values: \"ClientIP\", \"None\"",
            ],
        ),
    ] {
        let service = service(&spec);
        assert_eq!(
            texts(&SERVICE.strategy.validate_create(&service, &admission(true))),
            wrong,
            "{spec}"
        );
    }
}

#[test]
fn what_a_load_balancer_was_made_with_stays() {
    let old = service(&json!({
        "type": "LoadBalancer", "loadBalancerClass": "x.io/y", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30001,
    }));
    let mut new = old.clone();
    *entry(&mut new, &["spec", "loadBalancerClass"]) = json!("x.io/z");
    *entry(&mut new, &["spec", "healthCheckNodePort"]) = json!(30002);
    assert_eq!(
        texts(&SERVICE.strategy.validate_update(Part::Main, &new, &old, &admission(true))),
        [
            "spec.loadBalancerClass: Invalid value: \"x.io/z\": may not change once set",
            "spec.healthCheckNodePort: Forbidden: field is immutable",
        ]
    );
}

#[test]
fn a_status_belongs_to_load_balancers() {
    let old = service(&json!({"type": "LoadBalancer"}));
    for (type_, ingress, wrong) in [
        ("LoadBalancer", json!([{"ip": "1.2.3.4"}]), &[][..]),
        (
            "LoadBalancer",
            json!([{"hostname": "1.2.3.4"}]),
            &[
                "status.loadBalancer.ingress[0].hostname: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address",
            ],
        ),
        (
            "LoadBalancer",
            json!([{"hostname": "a", "ipMode": "VIP"}]),
            &[
                "status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set",
            ],
        ),
        (
            "LoadBalancer",
            json!([{"ip": "1.2.3.4", "ipMode": "X"}]),
            &[
                "status.loadBalancer.ingress[0].ipMode: Unsupported value: \"X\": supported values: \"Proxy\", \"VIP\"",
            ],
        ),
        (
            "ClusterIP",
            json!([{"ip": "1.2.3.4"}]),
            &[
                "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
            ],
        ),
    ] {
        let mut old = old.clone();
        *entry(&mut old, &["spec", "type"]) = json!(type_);
        let mut new = old.clone();
        *entry(&mut new, &["status", "loadBalancer", "ingress"]) = ingress;
        *entry(&mut new, &["spec", "externalName"]) = json!("ignored");
        let at = admission(true);
        SERVICE.strategy.default(&mut new, &at);
        SERVICE.strategy.prepare_update(Part::Status, &mut new, &old, &at);
        assert_eq!(new["spec"], old["spec"]);
        assert_eq!(texts(&SERVICE.strategy.validate_update(Part::Status, &new, &old, &at)), wrong);
    }
}

#[test]
fn without_the_gate_the_distribution_is_kept_only_where_it_is_stored() {
    let with = service(&json!({"trafficDistribution": "PreferSameZone"}));
    let without = service(&json!({}));
    for (gate, old, new, kept) in [
        (true, None, &with, true),
        (true, Some(&with), &without, false),
        (false, None, &with, false),
        (false, Some(&without), &with, false),
        (false, Some(&with), &with, true),
        (false, Some(&with), &without, true),
    ] {
        let mut new = new.clone();
        let at = admission(gate);
        match old {
            None => SERVICE.strategy.prepare_create(&mut new, &at),
            Some(old) => SERVICE.strategy.prepare_update(Part::Main, &mut new, old, &at),
        }
        assert_eq!(!new["spec"]["trafficDistribution"].is_null(), kept, "{gate} {old:?}");
    }
}

#[test]
fn warnings_name_what_is_deprecated_or_ignored() {
    for (spec, warnings) in [
        (json!({}), &[][..]),
        (
            json!({"trafficDistribution": "PreferClose"}),
            &["spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""],
        ),
        (
            json!({"externalIPs": ["1.2.3.4"], "externalName": "x"}),
            &[
                "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
                "spec.externalName is ignored when spec.type is not \"ExternalName\"",
            ],
        ),
        (
            json!({"clusterIP": "None", "externalIPs": ["1.2.3.4"], "sessionAffinity": "ClientIP", "loadBalancerIP": "1.1.1.1"}),
            &[
                "spec.loadBalancerIP is ignored for headless services",
                "spec.externalIPs is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
            ],
        ),
        (
            json!({"type": "ExternalName", "externalIPs": ["1.2.3.4"]}),
            &["spec.externalIPs is ignored when spec.type is \"ExternalName\""],
        ),
    ] {
        assert_eq!(SERVICE.strategy.warnings(&service(&spec), None), warnings, "{spec}");
    }
}

/// Any JSON, with names of fields that the validation reads.
fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "metadata",
        "spec",
        "status",
        "ports",
        "port",
        "nodePort",
        "targetPort",
        "name",
        "type",
        "clusterIP",
        "clusterIPs",
        "ipFamilies",
        "ipFamilyPolicy",
        "selector",
        "loadBalancer",
        "ingress",
        "ip",
        "endpoints",
        "addresses",
        "hints",
        "forZones",
        "ownerReferences",
        "finalizers",
        "labels",
        "annotations",
        "generateName",
        "sessionAffinityConfig",
        "clientIP",
    ]);
    let texts = prop::sample::select(vec![
        "",
        "-",
        "é-",
        "None",
        "ClusterIP",
        "ExternalName",
        "LoadBalancer",
        "NodePort",
        "IPv4",
        "IPv6",
        "10.0.0.1",
        "::",
        "1.2.3.4/8",
        "::ffff:1.2.3.4/8",
        "/",
        "a/b/c",
        "99999999999999",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(|number| json!(number)),
        any::<bool>().prop_map(|flag| json!(flag)),
        texts.prop_map(|text| json!(text)),
        any::<String>().prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(names.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_a_client_sends_makes_the_rules_panic(new in any_json(), old in any_json()) {
        let at = admission(true);
        for kind in [&SERVICE, &ENDPOINT_SLICE] {
            let pools = std::sync::Arc::new(Pools::new(&[], (1, 0)));
            for old in [None, Some(&old)] {
                let mut new = new.clone();
                kind.strategy.default(&mut new, &at);
                metadata::drop_duplicate_owners(&mut new);
                match old {
                    None => metadata::prepare_create(&mut new, &at, "u", "abcde"),
                    Some(old) => metadata::prepare_update(&mut new, old),
                }
                let _ = pools.reserve(&mut new, old, false, &mut |_| 0).map(drop);
                match old {
                    None => {
                        kind.strategy.prepare_create(&mut new, &at);
                        metadata::validate_create(kind, &new);
                        kind.strategy.validate_create(&new, &at);
                    }
                    Some(old) => {
                        for part in [Part::Main, Part::Status] {
                            kind.strategy.prepare_update(part, &mut new, old, &at);
                            metadata::validate_update(kind, &new, old);
                            kind.strategy.validate_update(part, &new, old, &at);
                        }
                    }
                }
                kind.strategy.warnings(&new, old);
                for column in kind.columns {
                    (column.cell)(&new, at.now);
                }
            }
        }
    }
}
