//! Services that are seen although something is wrong with them, and those that opted in.

use evenkeel_k8s::{convert, watched};
use evenkeel_model::SeenService;
use serde_json::{Value, json};

use crate::object;

fn seen(json: Value) -> SeenService {
    object::<watched::Service>(json).seen()
}

fn annotated(selector: &str, spec: Value) -> Value {
    json!({
        "metadata": {"namespace": "shop", "name": "web", "uid": "u1", "resourceVersion": "7",
            "annotations": {"evenkeel.dev/selector": selector}},
        "spec": spec,
    })
}

#[test]
fn a_service_without_selector_takes_that_of_its_annotation() {
    for spec in [json!({}), json!({"selector": null}), json!({"selector": {}})] {
        let given = annotated("app = web,tier==front", spec);
        let seen = seen(given.clone());
        assert_eq!(seen.problem, None);
        assert_eq!(convert::service(&object(given)).unwrap(), seen.service);
        let selector = seen.service.selector.unwrap();
        let selector: Vec<_> = selector.iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(selector, [("app", "web"), ("tier", "front")]);
        assert!(seen.service.opted_in);
    }
}

#[test]
fn a_selector_of_its_own_comes_before_the_annotation_whatever_that_says() {
    for text in ["app=web", "app in (web)"] {
        let given = annotated(text, json!({"selector": {"app": "own"}}));
        let seen = seen(given.clone());
        assert_eq!((seen.problem, seen.service.opted_in), (None, false));
        let selector = seen.service.selector.unwrap();
        assert_eq!(selector.get("app").map(|value| &**value), Some("own"));
        assert!(!convert::service(&object(given)).unwrap().opted_in);
    }
}

#[test]
fn a_wrong_annotation_is_a_problem_that_says_what_to_write() {
    let given = annotated("tier notin (front)", json!({"ports": [{"port": 80}]}));
    let seen = seen(given.clone());
    let expected = "metadata.annotations[evenkeel.dev/selector]: \"tier notin (front)\" is not a \
        pair; expected pairs of key=value with commas between, such as app=web,tier=front";
    assert_eq!(seen.problem.as_deref(), Some(expected));
    assert_eq!(convert::service(&object(given)).unwrap_err().to_string(), expected);
    assert_eq!((seen.service.selector, seen.service.opted_in), (None, true));
    assert_eq!(seen.service.ports.len(), 1);
}

/// Slices don't depend on frontends: the controller goes on.
#[test]
fn a_wrong_frontend_is_no_problem_of_the_slices() {
    let wrong = [
        json!({"loadBalancerSourceRanges": ["0.0.0.0"]}),
        json!({"externalIPs": ["x"]}),
        json!({"sessionAffinity": "Odd"}),
        json!({"ports": [{"port": 80, "nodePort": 99_999}]}),
    ];
    for spec in wrong {
        let seen = seen(annotated("app=web", spec));
        assert_eq!(seen.problem, None);
        assert!(seen.frontend_problem.is_some(), "{:?}", seen.service.frontends);
    }
}

#[test]
fn the_first_problem_is_told_and_the_rest_is_there() {
    let ours = "evenkeel.dev/TrafficDistributionProgrammed";
    let seen = seen(json!({
        "metadata": {"namespace": "shop", "name": "web", "uid": "u1", "resourceVersion": "7",
            "generation": 3, "creationTimestamp": "1970-01-01T00:01:00Z", "labels": {"a": "b"}},
        "spec": {"clusterIP": "10.0.0.1", "selector": {"app": "web"}, "ipFamilies": ["IPv9"],
            "ports": [{"port": 80}, {"port": 99_999_999_999i64}]},
        "status": {"conditions": [
            {"type": "Ready", "status": "True"},
            {"type": ours, "status": "True", "reason": "R", "message": "M"},
            {"type": "TrafficDistributionAccepted", "status": "False"},
            {"type": "other.dev/TrafficDistributionAccepted", "status": "True"},
            {"type": "evenkeel.dev/evenkeel.dev/TrafficDistributionAccepted", "status": "True"},
        ]},
    }));
    let expected =
        "spec.ports[1].port: 99999999999 is not a port; expected a number from 1 to 65535";
    assert_eq!(seen.problem.as_deref(), Some(expected));
    assert_eq!(seen.service.key.to_string(), "shop/web");
    assert_eq!((&*seen.version.uid, &*seen.version.resource_version), ("u1", "7"));
    assert_eq!((seen.version.generation, seen.created), (3, Some(60)));
    assert_eq!((seen.service.headless, seen.service.selector.is_some()), (false, true));
    let conditions: Vec<_> =
        seen.conditions.iter().map(|c| (&*c.kind, c.status, &*c.reason, &*c.message)).collect();
    assert_eq!(
        conditions,
        [(ours, true, "R", "M"), ("TrafficDistributionAccepted", false, "", "")]
    );
}

#[test]
fn of_annotations_only_those_that_are_read_are_kept() {
    let seen = seen(json!({"metadata": {"annotations": {
        "kubectl.kubernetes.io/last-applied-configuration": "x".repeat(200_000),
        "service.kubernetes.io/topology-mode": "Auto",
        "service.kubernetes.io/topology-aware-hints": null,
        "evenkeel.dev/traffic-distribution": "x",
        "evenkeel.dev/selector": "app=web",
        "odd": {"not": ["a", "text"]},
    }}}));
    let kept: Vec<_> =
        seen.service.annotations.iter().map(|(key, value)| (&**key, &**value)).collect();
    let expected = [
        ("evenkeel.dev/selector", "app=web"),
        ("evenkeel.dev/traffic-distribution", "x"),
        ("service.kubernetes.io/topology-aware-hints", ""),
        ("service.kubernetes.io/topology-mode", "Auto"),
    ];
    assert_eq!(kept, expected);
}
