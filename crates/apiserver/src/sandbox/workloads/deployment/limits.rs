//! The maximum number of Pods and the minimum of available ones. Source:
//! `k8s.io/kubernetes/pkg/controller/deployment/util`, `ResolveFenceposts`.

use k8s_openapi::api::apps::v1::DeploymentSpec;

use crate::sandbox::workloads::share::{self, Rounding};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) replicas: i64,
    pub(super) surge: i64,
    pub(super) unavailable: i64,
}

impl Limits {
    pub(super) fn of(spec: &DeploymentSpec) -> Limits {
        let total = spec.replicas.unwrap_or(1).max(0);
        let replicas = i64::from(total);
        if is_recreate(spec) {
            return Limits { replicas, surge: 0, unavailable: 0 };
        }
        let rolling = spec.strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
        let surge = rolling.and_then(|rolling| rolling.max_surge.as_ref());
        let unavailable = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
        let surge = i64::from(share::of(surge, total, Rounding::Up));
        let unavailable = i64::from(share::of(unavailable, total, Rounding::Down));
        // If both were zero, nothing could ever be replaced.
        let unavailable = if surge == 0 { unavailable.max(1) } else { unavailable };
        Limits { replicas, surge, unavailable: unavailable.min(replicas) }
    }

    /// Maximum total number of Pods.
    pub(super) fn most(&self) -> i64 {
        self.replicas + self.surge
    }

    /// Minimum number of available Pods, once reached.
    pub(super) fn least(&self) -> i64 {
        self.replicas - self.unavailable
    }
}

pub(super) fn is_recreate(spec: &DeploymentSpec) -> bool {
    let strategy = spec.strategy.as_ref().and_then(|strategy| strategy.type_.as_deref());
    strategy == Some("Recreate")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn surge_is_rounded_up_and_unavailable_down_and_not_both_are_zero() {
        for (replicas, surge, unavailable, expected) in [
            (10, json!("25%"), json!("25%"), (3, 2)),
            (1, json!("25%"), json!("25%"), (1, 0)),
            (2, json!("0%"), json!("1%"), (0, 1)),
            (2, json!("1%"), json!("0%"), (1, 0)),
            (0, json!("25%"), json!("25%"), (0, 0)),
            (3, json!(1), json!(0), (1, 0)),
            (3, json!(0), json!(5), (0, 3)),
        ] {
            let spec: Value = json!({"replicas": replicas, "selector": {}, "template": {},
                "strategy": {"type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}});
            let limits = Limits::of(&serde_json::from_value(spec).unwrap());
            assert_eq!((limits.surge, limits.unavailable), expected, "{replicas} {surge}");
        }
    }

    #[test]
    fn recreate_has_no_surge() {
        let spec = json!({"replicas": 4, "selector": {}, "template": {},
            "strategy": {"type": "Recreate"}});
        let limits = Limits::of(&serde_json::from_value(spec).unwrap());
        assert_eq!((limits.most(), limits.least()), (4, 4));
    }
}
