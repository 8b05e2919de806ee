//! The quality of service class of a pod, from the requests and limits of its containers. Source:
//! `pkg/apis/core/helper/qos/qos.go`.

use evenkeel_model::quantity::Amount;
use serde_json::Value;

use crate::kinds::read::{list, quantity};

const BEST_EFFORT: &str = "BestEffort";
const BURSTABLE: &str = "Burstable";
const GUARANTEED: &str = "Guaranteed";

/// Guaranteed if all containers are, BestEffort if none has requests or limits, else Burstable.
pub(crate) fn class(spec: &Value) -> &'static str {
    if ["requests", "limits"]
        .iter()
        .any(|list| spec["resources"][list].as_object().is_some_and(|l| !l.is_empty()))
    {
        return of_requirements(&spec["resources"]);
    }
    let containers = list(spec, &["initContainers"]).iter().chain(list(spec, &["containers"]));
    let mut classes = containers.map(|container| of_requirements(&container["resources"]));
    let Some(first) = classes.next() else { return BEST_EFFORT };
    if classes.all(|class| class == first) { first } else { BURSTABLE }
}

fn of_requirements(resources: &Value) -> &'static str {
    let cpu = of_resource(resources, "cpu");
    let memory = of_resource(resources, "memory");
    if cpu == memory { cpu } else { BURSTABLE }
}

fn of_resource(resources: &Value, name: &str) -> &'static str {
    let amount = |list: &str| quantity(&resources[list][name]).unwrap_or(Amount::ZERO);
    let (request, limit) = (amount("requests"), amount("limits"));
    if request != limit {
        BURSTABLE
    } else if request.is_zero() {
        BEST_EFFORT
    } else {
        GUARANTEED
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_class_follows_requests_and_limits() {
        let all = json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}});
        let some = json!({"requests": {"cpu": "1"}});
        let other =
            json!({"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}});
        for (containers, class_) in [
            (vec![json!({})], BEST_EFFORT),
            (vec![all.clone()], GUARANTEED),
            (vec![all.clone(), json!({})], BURSTABLE),
            (vec![some], BURSTABLE),
            (vec![other], BEST_EFFORT),
            (vec![], BEST_EFFORT),
        ] {
            let containers: Vec<_> = containers.iter().map(|r| json!({"resources": r})).collect();
            assert_eq!(class(&json!({"containers": containers})), class_, "{containers:?}");
        }
    }
}
