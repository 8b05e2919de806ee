//! The configurations of the scenarios, in the proposal's dialect.

/// The objects that the proposal exhibits.
pub(crate) const EXHIBITED: &str = concat!(
    include_str!("../../../fairness/tests/proposal/level-system-top.yaml"),
    "\n---\n",
    include_str!("../../../fairness/tests/proposal/level-system-high.yaml"),
    "\n---\n",
    include_str!("../../../fairness/tests/proposal/level-system-low.yaml"),
    "\n---\n",
    include_str!("../../../fairness/tests/proposal/level-workload-high.yaml"),
    "\n---\n",
    include_str!("../../../fairness/tests/proposal/level-workload-low.yaml"),
    "\n---\n",
    include_str!("../../../fairness/tests/proposal/schema-system-top.yaml"),
    "\n---\n",
    include_str!("../../../fairness/tests/proposal/schema-system-high.yaml"),
    "\n---\n",
    include_str!("../../../fairness/tests/proposal/schema-system-low.yaml"),
    "\n---\n",
    include_str!("../../../fairness/tests/proposal/schema-workload-high.yaml"),
    "\n---\n",
    include_str!("../../../fairness/tests/proposal/schema-workload-low.yaml"),
);

/// For the requests that aggregated API servers make while they serve others.
pub(crate) const REVIEWS: &str = r#"
apiVersion: evenkeel.dev/v1alpha1
kind: FlowSchema
metadata: {name: reviews}
spec:
  matchingPriority: 900
  requestPriority: {name: system-top}
  match:
  - and:
    - inSet: {field: resource, set: [tokenreviews, subjectaccessreviews]}
    - equals: {field: user, value: "system:serviceaccount:example-com:network-apiserver"}
"#;

pub(crate) const HIGH_AND_LOW: &str = r#"
apiVersion: evenkeel.dev/v1alpha1
kind: RequestPriority
metadata: {name: high}
spec: {assuredConcurrencyShares: 80, queues: 16, handSize: 4, queueLengthLimit: 50}
---
apiVersion: evenkeel.dev/v1alpha1
kind: RequestPriority
metadata: {name: low}
spec: {catchAll: true, assuredConcurrencyShares: 20, queues: 16, handSize: 4, queueLengthLimit: 50}
---
apiVersion: evenkeel.dev/v1alpha1
kind: FlowSchema
metadata: {name: high}
spec:
  requestPriority: {name: high}
  match:
  - and:
    - superSet: {field: groups, set: [high]}
---
apiVersion: evenkeel.dev/v1alpha1
kind: FlowSchema
metadata: {name: low}
spec:
  matchingPriority: 9000
  requestPriority: {name: low}
  match:
  - and: []
"#;

/// Controllers compete by user.
pub(crate) const CONTROLLERS: &str = r#"
apiVersion: evenkeel.dev/v1alpha1
kind: RequestPriority
metadata: {name: controllers}
spec: {catchAll: true, assuredConcurrencyShares: 1, queues: 128, handSize: 6, queueLengthLimit: 50}
---
apiVersion: evenkeel.dev/v1alpha1
kind: FlowSchema
metadata: {name: controllers}
spec:
  requestPriority: {name: controllers}
  flowDistinguisher: {source: user}
  match:
  - and:
    - patternMatch: {field: user, pattern: "system:controller:.*"}
"#;

pub(crate) const ONE_QUEUE: &str = r#"
apiVersion: evenkeel.dev/v1alpha1
kind: RequestPriority
metadata: {name: all}
spec: {catchAll: true, assuredConcurrencyShares: 1, queues: 1, queueLengthLimit: 1000}
"#;

/// Tests that only requests for resources pass.
pub(crate) const RESOURCES: &str = r#"[{notEquals: {field: resource, value: ""}}]"#;

/// One level whose flows are told apart like this.
pub(crate) fn tenants(distinguisher: &str, tests: &str) -> String {
    format!(
        r#"
apiVersion: evenkeel.dev/v1alpha1
kind: RequestPriority
metadata: {{name: tenants}}
spec: {{catchAll: true, assuredConcurrencyShares: 1, queues: 128, handSize: 6, queueLengthLimit: 50}}
---
apiVersion: evenkeel.dev/v1alpha1
kind: FlowSchema
metadata: {{name: tenants}}
spec:
  requestPriority: {{name: tenants}}
  flowDistinguisher: {distinguisher}
  match:
  - and: {tests}
"#
    )
}
