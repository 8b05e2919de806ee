//! Deployments: rolled out, scaled, changed, rolled back, paused; their Pods are recreated.

use crate::step::{Step, run, save};

const NODES: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: a}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {topology.kubernetes.io/zone: b}}
";
const STATUS: &str = "rollout status deploy/web --timeout=30s";
const DONE: &str = "...\ndeployment \"web\" successfully rolled out";
const PODS: &str = "\
NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES
web-{any} 1/1 Running 0 {age} {ip} n1 <none> <none>
web-{any} 1/1 Running 0 {age} {ip} n2 <none> <none>
";
const DEPLOYMENT: &str = "\
Name:                   web
Namespace:              $ns
CreationTimestamp:      {any}
Labels:                 app=web
Annotations:            deployment.kubernetes.io/revision: 1
Selector:               app=web
Replicas:               4 desired | 4 updated | 4 total | 4 available | 0 unavailable
...
Conditions:
  Type           Status  Reason
  ----           ------  ------
?  Progressing    True    NewReplicaSetAvailable
  Available      True    MinimumReplicasAvailable
?  Progressing    True    NewReplicaSetAvailable
OldReplicaSets: <none>
NewReplicaSet: web-{any} (4/4 replicas created)
Events:
...
  Normal  ScalingReplicaSet  {age}    sandbox  Scaled up replica set web-{any} from 0 to 2
...
";
const POD: &str = "\
Name:         $pod
Namespace:    $ns
...
Node:         n{n}/{ip}
Start Time: {any}
Labels:       app=web
              pod-template-hash={any}
              topology.kubernetes.io/zone={any}
Annotations:  <none>
Status:       Running
IP:           {ip}
IPs:
  IP:           {ip}
Controlled By:  ReplicaSet/web-{any}
Containers:
  img:
    Container ID:   sandbox://{any}
    Image:          img:1
...
    State:          Running
      Started:      {any}
    Ready:          True
...
Tolerations:                  node.kubernetes.io/not-ready:NoExecute op=Exists for 300s
                              node.kubernetes.io/unreachable:NoExecute op=Exists for 300s
Events:
  Type    Reason     Age   From     Message
  ----    ------     ----  ----     -------
  Normal  Scheduled  {age}    sandbox  Successfully assigned $ns/$pod to n{n}
";
const HOLD: &str = r#"patch pod $pod --type=merge -p '{"metadata":{"finalizers":["x.io/held"]}}'"#;
const FREE: &str = r#"patch pod $pod --type=merge -p '{"metadata":{"finalizers":null}}'"#;

pub(crate) fn steps() -> Vec<Step> {
    [created(), changed(), held(), replaced()].into_iter().flatten().collect()
}

fn created() -> Vec<Step> {
    vec![
        run("create -f -", "node/n1 created\nnode/n2 created").stdin(NODES),
        run(
            "wait --for=condition=Ready node --all --timeout=30s",
            "node/n1 condition met\nnode/n2 condition met",
        ),
        run("create deployment web --image=img:1 --replicas=2", "deployment.apps/web created"),
        run(STATUS, DONE),
        // The revision written by the controller does not count as a change.
        run("get deploy web -o 'jsonpath={.metadata.generation}'", "1"),
        run("get pods -o wide --sort-by=.spec.nodeName", PODS),
        run("scale deploy web --replicas=4", "deployment.apps/web scaled"),
        run(STATUS, DONE),
        run("get deploy", "NAME READY UP-TO-DATE AVAILABLE AGE\nweb 4/4 4 4 {age}"),
        run("describe deploy web", DEPLOYMENT).since(27),
        save("get pods -o 'jsonpath={.items[0].metadata.name}'", "pod"),
        run("describe pod $pod", POD),
        run("wait --for=condition=Ready pod/$pod --timeout=30s", "pod/$pod condition met"),
        run("expose deploy web --port=80", "service/web exposed"),
        run(
            "get events --field-selector reason=ScalingReplicaSet",
            "LAST SEEN TYPE REASON OBJECT MESSAGE\n{age} Normal ScalingReplicaSet deployment/web Scaled up replica set web-{any} from {n} to {n}\n{age} Normal ScalingReplicaSet deployment/web Scaled up replica set web-{any} from {n} to {n}",
        ),
    ]
}

fn changed() -> Vec<Step> {
    vec![
        run("set image deploy/web img=img:2", "deployment.apps/web image updated"),
        run(STATUS, DONE),
        run(
            "rollout history deploy/web",
            "deployment.apps/web\nREVISION CHANGE-CAUSE\n1 <none>\n2 <none>",
        ),
        run("get deploy web -o 'jsonpath={.spec.template.spec.containers[0].image}'", "img:2"),
        run("rollout undo deploy/web", "deployment.apps/web rolled back"),
        run(STATUS, DONE),
        run("get deploy web -o 'jsonpath={.spec.template.spec.containers[0].image}'", "img:1"),
        run(
            "rollout history deploy/web",
            "deployment.apps/web\nREVISION CHANGE-CAUSE\n2 <none>\n3 <none>",
        ),
        run("rollout undo deploy/web --to-revision=2", "deployment.apps/web rolled back"),
        run(STATUS, DONE),
        run("rollout restart deploy/web", "deployment.apps/web restarted"),
        run(STATUS, DONE),
        run(
            "rollout history deploy/web",
            "deployment.apps/web\nREVISION CHANGE-CAUSE\n3 <none>\n4 <none>\n5 <none>",
        ),
    ]
}

fn held() -> Vec<Step> {
    vec![
        run("rollout pause deploy/web", "deployment.apps/web paused"),
        run("set image deploy/web img=img:3", "deployment.apps/web image updated"),
        save("get deploy web -o 'jsonpath={.metadata.generation}'", "generation"),
        run(
            "wait '--for=jsonpath={.status.observedGeneration}=$generation' deploy/web --timeout=30s",
            "deployment.apps/web condition met",
        )
        .since(23),
        run("get deploy web --no-headers", "web 4/4 0 4 {age}"),
        run("rollout resume deploy/web", "deployment.apps/web resumed"),
        run(STATUS, DONE),
        run(
            "get deploy web -o 'jsonpath={.metadata.annotations}'",
            r#"{"deployment.kubernetes.io/revision":"6"}"#,
        ),
    ]
}

fn replaced() -> Vec<Step> {
    vec![
        // Pods of the replaced template may still be terminating.
        save(
            "get rs -o 'jsonpath={.items[?(@.spec.replicas==4)].metadata.labels.pod-template-hash}'",
            "hash",
        ),
        save("get pods -l pod-template-hash=$hash -o 'jsonpath={.items[0].metadata.name}'", "pod"),
        run(HOLD, "pod/$pod patched"),
        run("delete pod $pod --wait=false", "pod \"$pod\" deleted{? from $ns namespace}"),
        run("get pod $pod", "NAME READY STATUS RESTARTS AGE\n$pod {n}/1 Terminating 0 {age}"),
        run(FREE, "pod/$pod patched"),
        run("wait --for=delete pod/$pod --timeout=30s", "...").since(23),
        run(STATUS, DONE),
        run("delete deploy web", "deployment.apps \"web\" deleted{? from $ns namespace}"),
        run("wait --for=delete pod -l app=web --timeout=30s", "...").since(23),
        run("get rs,pods", "").warns("No resources found in $ns namespace."),
    ]
}
