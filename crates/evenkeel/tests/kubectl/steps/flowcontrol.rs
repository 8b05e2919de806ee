//! FlowSchemas and PriorityLevelConfigurations.

use crate::step::{Step, fails, run};

const OBJECTS: &str = "\
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: batch, labels: {app: batch}}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 7
    limitResponse: {type: Queue, queuing: {handSize: 4}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: batch-jobs, labels: {app: batch}}
spec:
  priorityLevelConfiguration: {name: batch}
  distinguisherMethod: {type: ByNamespace}
  rules:
  - subjects: [{kind: Group, group: {name: jobs}}]
    resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*']}]
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: batch-probes, labels: {app: batch}}
spec:
  priorityLevelConfiguration: {name: batch}
  matchingPrecedence: 700
  rules:
  - subjects: [{kind: User, user: {name: prober}}]
    nonResourceRules: [{verbs: [get], nonResourceURLs: [/healthz]}]
";
const CREATED: &str = "\
prioritylevelconfiguration.flowcontrol.apiserver.k8s.io/batch created
flowschema.flowcontrol.apiserver.k8s.io/batch-jobs created
flowschema.flowcontrol.apiserver.k8s.io/batch-probes created
";
const LEVEL: &str = "\
NAME TYPE NOMINALCONCURRENCYSHARES QUEUES HANDSIZE QUEUELENGTHLIMIT AGE
batch Limited 7 64 4 50 {age}
";
const SCHEMAS: &str = "\
NAME PRIORITYLEVEL MATCHINGPRECEDENCE DISTINGUISHERMETHOD AGE MISSINGPL
batch-probes batch 700 <none> {age} {any}
batch-jobs batch 1000 ByNamespace {age} {any}
";
const FIELD: &str = "\
GROUP: flowcontrol.apiserver.k8s.io
KIND: PriorityLevelConfiguration
VERSION: v1

FIELD: lendablePercent <integer>
...
";
const RESOURCES: &str = "\
NAME SHORTNAMES APIVERSION NAMESPACED KIND
flowschemas {? }flowcontrol.apiserver.k8s.io/v1 false FlowSchema
prioritylevelconfigurations {? }flowcontrol.apiserver.k8s.io/v1 false PriorityLevelConfiguration
";
const ONE: &str = "\
The FlowSchema \"batch-jobs\" is invalid: spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1
";
const EDITED: &str = "flowschema.flowcontrol.apiserver.k8s.io/batch-jobs edited";
const PATCHED: &str = "prioritylevelconfiguration.flowcontrol.apiserver.k8s.io/batch patched";
const DELETED: &str = "\
prioritylevelconfiguration.flowcontrol.apiserver.k8s.io \"batch\" deleted
flowschema.flowcontrol.apiserver.k8s.io \"batch-jobs\" deleted
flowschema.flowcontrol.apiserver.k8s.io \"batch-probes\" deleted
";

/// Takes precedence over all but the mandatory schema, and leads nowhere.
const NOWHERE: &str = "\
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: nowhere}
spec:
  priorityLevelConfiguration: {name: nowhere}
  matchingPrecedence: 2
  rules:
  - subjects: [{kind: Group, group: {name: '*'}}]
    resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true}]
    nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]
";

pub(crate) fn steps() -> Vec<Step> {
    vec![
        run("api-resources --api-group=flowcontrol.apiserver.k8s.io", RESOURCES),
        run("create -f objects.yaml", CREATED).file("objects.yaml", OBJECTS),
        run("get prioritylevelconfigurations -l app=batch", LEVEL),
        run("get flowschemas -l app=batch", SCHEMAS),
        run("explain prioritylevelconfiguration.spec.limited.lendablePercent", FIELD).since(31),
        run("edit flowschema batch-jobs", EDITED)
            .editor("s/matchingPrecedence: 1000/matchingPrecedence: 600/"),
        run(
            "get flowschema batch-jobs -o 'jsonpath={.spec.matchingPrecedence} {.metadata.generation}'",
            "600 2",
        ),
        fails(
            "patch flowschema batch-jobs --type merge -p '{\"spec\":{\"matchingPrecedence\":1}}'",
            ONE,
        ),
        run(
            "patch prioritylevelconfiguration batch -p '{\"spec\":{\"limited\":{\"limitResponse\":{\"queuing\":{\"queues\":16}}}}}'",
            PATCHED,
        ),
        run(
            "patch prioritylevelconfiguration batch --subresource=status -p '{\"status\":{\"conditions\":[{\"type\":\"Tuned\",\"status\":\"True\"}]}}'",
            PATCHED,
        ),
        run(
            "get prioritylevelconfiguration batch -o 'jsonpath={.spec.limited.limitResponse.queuing.queues} {.metadata.generation} {.status.conditions[*].type}'",
            "16 2 Tuned",
        ),
        run("delete -f objects.yaml", DELETED),
        // Nobody locks out the administrator.
        run("delete flowschemas --all", "...\n{any}\"exempt\" deleted\n..."),
        run("delete prioritylevelconfigurations --all", "...\n{any}\"exempt\" deleted\n..."),
        run("create -f nowhere.yaml", "flowschema.flowcontrol.apiserver.k8s.io/nowhere created")
            .file("nowhere.yaml", NOWHERE),
        run("get namespace default -o name", "namespace/default"),
        run(
            "delete flowschema nowhere",
            "flowschema.flowcontrol.apiserver.k8s.io \"nowhere\" deleted",
        ),
    ]
}
