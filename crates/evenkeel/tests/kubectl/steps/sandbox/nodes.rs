//! Nodes: cordoned, drained, tainted, new, unresponsive, gone; and the effect on Pods.

use crate::step::{Step, run, save};

const OBJECTS: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: a}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {topology.kubernetes.io/zone: b}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: 'img:1'}]}
";
const CREATED: &str = "node/n1 created\nnode/n2 created\ndaemonset.apps/agent created";
const THIRD: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n3, labels: {topology.kubernetes.io/zone: c}}
";
const STUCK: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: stuck}
spec: {nodeSelector: {disk: fast}, containers: [{name: c, image: 'img:1'}]}
";
const NODE: &str = "\
Name:               n1
Roles:              <none>
Labels:             kubernetes.io/hostname=n1
                    topology.kubernetes.io/zone=a
Annotations:        <none>
CreationTimestamp:  {any}
Taints:             node.kubernetes.io/unschedulable:NoSchedule
Unschedulable:      true
Lease:
  HolderIdentity:  n1
  AcquireTime:     <unset>
  RenewTime:       {any}
Conditions:
...
  Ready            True    {any}   KubeletReady                 kubelet is posting ready status
...
System Info:
...
  OS Image:                   Evenkeel sandbox
...
Non-terminated Pods:          (1 in total)
...
  $ns {any}agent-{any}
...
";
const WEB: &str = "rollout status deploy/web --timeout=30s";
const DONE: &str = "...\ndeployment \"web\" successfully rolled out";

const POD_ON_N3: &str =
    "get pods -l app=web --field-selector spec.nodeName=n3 -o 'jsonpath={.items[0].metadata.name}'";

pub(crate) fn steps() -> Vec<Step> {
    [created(), drained(), tainted(), gone(), refused()].into_iter().flatten().collect()
}

fn created() -> Vec<Step> {
    vec![
        run("create -f -", CREATED).stdin(OBJECTS),
        run(
            "rollout status ds/agent --timeout=30s",
            "...\ndaemon set \"agent\" successfully rolled out",
        ),
        run(
            "get pods -l app=agent -L topology.kubernetes.io/zone --sort-by=.spec.nodeName --no-headers",
            "agent-{any} 1/1 Running 0 {age} a\nagent-{any} 1/1 Running 0 {age} b",
        ),
        run("get node n1 -o 'jsonpath={.status.conditions[3].lastHeartbeatTime}'", "{time}"),
        run("create deployment web --image=img:1 --replicas=4", "deployment.apps/web created"),
        run(WEB, DONE),
        run(
            "get nodes",
            "NAME STATUS ROLES AGE VERSION\nn1 Ready <none> {age} v{any}\nn2 Ready <none> {age} v{any}",
        ),
    ]
}

fn drained() -> Vec<Step> {
    vec![
        run("cordon n1", "node/n1 cordoned"),
        run("get node n1 --no-headers", "n1 Ready,SchedulingDisabled <none> {age} v{any}"),
        // Before 1.22 it supports only an older version of eviction, and deletes.
        run(
            "drain n1 --ignore-daemonsets --delete-emptydir-data --force --timeout=40s",
            "node/n1 already cordoned\n...\npod/web-{any} {any}\npod/web-{any} {any}\nnode/n1 {any}",
        )
        .warns("{any}: ignoring DaemonSet-managed Pods: $ns/agent-{any}\n..."),
        run(WEB, DONE),
        run(
            "get pods --field-selector spec.nodeName=n1 -o wide --no-headers",
            "agent-{any} 1/1 Running 0 {age} {ip} n1 <none> <none>",
        ),
        run("describe node n1", NODE),
        run("uncordon n1", "node/n1 uncordoned"),
    ]
}

fn tainted() -> Vec<Step> {
    vec![
        run("taint nodes n2 dedicated=x:NoExecute", "node/n2 tainted"),
        run(
            "wait --for=delete pod -l app=web --field-selector spec.nodeName=n2 --timeout=30s",
            "...",
        )
        .since(23),
        run(WEB, DONE),
        run("get pods -l app=web -o 'jsonpath={.items[*].spec.nodeName}'", "n1 n1 n1 n1"),
        run("get node n1 -o 'jsonpath={.spec.taints}'", ""),
        run("taint nodes n2 dedicated-", "node/n2 untainted"),
    ]
}

fn gone() -> Vec<Step> {
    vec![
        run("create -f -", "node/n3 created").stdin(THIRD),
        run(
            "wait '--for=jsonpath={.status.numberReady}=3' ds/agent --timeout=30s",
            "daemonset.apps/agent condition met",
        )
        .since(23),
        run("scale deploy web --replicas=6", "deployment.apps/web scaled"),
        run(WEB, DONE),
        save(POD_ON_N3, "pod"),
        run("annotate node n3 sandbox.evenkeel.dev/heartbeat=off", "node/n3 annotated"),
        run("wait --for=condition=Ready=Unknown node/n3 --timeout=30s", "node/n3 condition met"),
        run("get node n3 --no-headers", "n3 NotReady <none> {age} v{any}"),
        run("wait --for=condition=Ready=false pod/$pod --timeout=30s", "pod/$pod condition met"),
        run("annotate node n3 sandbox.evenkeel.dev/heartbeat-", "node/n3 annotated"),
        run("wait --for=condition=Ready node/n3 --timeout=30s", "node/n3 condition met"),
        run("wait --for=condition=Ready pod/$pod --timeout=30s", "pod/$pod condition met"),
        run("delete node n3", "node \"n3\" deleted"),
        run("wait --for=delete pod/$pod --timeout=30s", "...").since(23),
        run(WEB, DONE),
        run(
            "wait '--for=jsonpath={.status.desiredNumberScheduled}=2' ds/agent --timeout=30s",
            "daemonset.apps/agent condition met",
        )
        .since(23),
    ]
}

fn refused() -> Vec<Step> {
    vec![
        run("create -f -", "pod/stuck created").stdin(STUCK),
        run(
            "wait --for=condition=PodScheduled=false pod/stuck --timeout=30s",
            "pod/stuck condition met",
        ),
        run(
            "get events --field-selector reason=FailedScheduling,involvedObject.name=stuck",
            "LAST SEEN TYPE REASON OBJECT MESSAGE\n{age} Warning FailedScheduling pod/stuck 0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.{any}",
        ),
        run("label node n2 disk=fast", "node/n2 labeled"),
        run("wait --for=condition=Ready pod/stuck --timeout=30s", "pod/stuck condition met"),
        run(
            "get pod stuck -o wide --no-headers",
            "stuck 1/1 Running 0 {age} {ip} n2 <none> <none>",
        ),
    ]
}
