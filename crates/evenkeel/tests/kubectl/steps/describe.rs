//! `describe` with events, and the events themselves.

use crate::step::{Step, run, save};

const OBJECTS: &str = "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80}], trafficDistribution: PreferSameNode}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: 'img:1'}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {nodeName: n1, containers: [{name: c, image: 'img:1'}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: a}}
";
const EVENTS: &str = "\
apiVersion: v1
kind: Event
metadata: {name: p.1, namespace: $ns}
involvedObject: {apiVersion: v1, kind: Pod, name: p, namespace: $ns, uid: $pod}
reason: Pulled
message: The image is here
type: Normal
source: {component: kubelet}
firstTimestamp: '2026-01-01T00:00:00Z'
lastTimestamp: '2026-01-01T00:00:00Z'
count: 3
---
apiVersion: v1
kind: Event
metadata: {name: web.1, namespace: $ns}
involvedObject: {apiVersion: v1, kind: Service, name: web, namespace: $ns, uid: $service}
reason: Odd
message: No endpoint
type: Warning
source: {component: evenkeel}
firstTimestamp: '2026-01-01T00:00:00Z'
lastTimestamp: '2026-01-01T00:00:00Z'
count: 1
";
const SERVICE: &str = "\
Name:                     web
Namespace:                $ns
Labels:                   <none>
Annotations:              <none>
Selector:                 app=web
Type:                     ClusterIP
IP Family Policy:         SingleStack
IP Families:              IPv4
IP:                       {ip}
IPs:                      {ip}
Port:                     http  80/TCP
TargetPort:               80/TCP
Endpoints:                {any}
Session Affinity:         None
?Internal Traffic Policy:  Cluster
?Traffic Distribution:     PreferSameNode
Events:
  Type     Reason  Age    From      Message
  ----     ------  ----   ----      -------
  Warning  Odd     {age}  evenkeel  No endpoint
";
const DEPLOYMENT: &str = "\
Name:                   web
Namespace:              $ns
CreationTimestamp:      {any}
Labels:                 <none>
Annotations:            <none>
Selector:               app=web
Replicas:               1 desired | 0 updated | 0 total | 0 available | 0 unavailable
StrategyType:           RollingUpdate
MinReadySeconds:        0
RollingUpdateStrategy:  25% max unavailable, 25% max surge
Pod Template:
  Labels:  app=web
  Containers:
   c:
    Image:         img:1
    Port:          <none>
    Host Port:     <none>
    Environment:   <none>
    Mounts:        <none>
  Volumes:         <none>
?  Node-Selectors:  <none>
?  Tolerations:     <none>
?OldReplicaSets:   <none>
?NewReplicaSet:    <none>
Events:            <none>
";
const POD: &str = "\
Name:             p
Namespace:        $ns
?Priority:         0
?Service Account:  {any}
Node:             n1/
Labels:           <none>
Annotations:      <none>
Status:           Pending
...
QoS Class:        BestEffort
...
Events:
  Type    Reason  Age                        From     Message
  ----    ------  ----                       ----     -------
  Normal  Pulled  {age} (x3 over {age})  kubelet  The image is here
";
const NODE: &str = "\
Name:               n1
Roles:              <none>
Labels:             topology.kubernetes.io/zone=a
Annotations:        <none>
CreationTimestamp:  {any}
Taints:             <none>
Unschedulable:      false
...
Non-terminated Pods: (1 in total)
...
{any}p{any}
...
Events:              <none>
";

pub(crate) fn steps() -> Vec<Step> {
    vec![
        run(
            "create -f -",
            "service/web created\ndeployment.apps/web created\npod/p created\nnode/n1 created",
        )
        .stdin(OBJECTS),
        save("get pod p -o 'jsonpath={.metadata.uid}'", "pod"),
        save("get svc web -o 'jsonpath={.metadata.uid}'", "service"),
        run("create -f -", "event/p.1 created\nevent/web.1 created").stdin(EVENTS),
        run("describe svc web", SERVICE),
        run("describe deploy web", DEPLOYMENT),
        run("describe pod p", POD),
        run("describe node n1", NODE),
        run(
            "describe ns $ns",
            "Name: $ns\nLabels: kubernetes.io/metadata.name=$ns\nAnnotations: <none>\nStatus: Active\n...",
        ),
        run("describe secrets", "").warns("No resources found in $ns namespace."),
        run(
            "get events --field-selector involvedObject.name=p",
            "LAST SEEN TYPE REASON OBJECT MESSAGE\n{age} Normal Pulled pod/p The image is here",
        ),
        run(
            "events --for pod/p",
            "LAST SEEN TYPE REASON OBJECT MESSAGE\n{age} (x3 over {age}) Normal Pulled Pod/p The image is here",
        )
        .since(26),
        run("events --types=Warning", "LAST SEEN TYPE REASON OBJECT MESSAGE\n{age} Warning Odd Service/web No endpoint").since(26),
    ]
}
