//! `get -o wide` of every kind.

use crate::step::{Step, run};

const OBJECTS: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: web}}
spec: {nodeName: n1, containers: [{name: c, image: 'img:1'}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {node-role.kubernetes.io/worker: ''}}
status:
  nodeInfo: {kubeletVersion: v1.35.0, osImage: Debian, kernelVersion: 6.1.0, containerRuntimeVersion: 'containerd://2.0', machineID: m, systemUUID: s, bootID: b, kubeProxyVersion: v1.35.0, operatingSystem: linux, architecture: amd64}
  addresses: [{type: InternalIP, address: 10.0.0.1}]
  conditions: [{type: Ready, status: 'True'}]
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: l}
spec: {holderIdentity: me, leaseDurationSeconds: 15}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 80}]
endpoints: [{addresses: [10.1.0.5]}, {addresses: [10.1.0.6], conditions: {ready: false}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: 'img:1'}, {name: d, image: 'img:2'}]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ds}
spec: {selector: {matchLabels: {app: ds}}, template: {metadata: {labels: {app: ds}}, spec: {nodeSelector: {a: b}, containers: [{name: c, image: 'img:1'}]}}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: rs}
spec: {replicas: 2, selector: {matchLabels: {app: rs}}, template: {metadata: {labels: {app: rs}}, spec: {containers: [{name: c, image: 'img:1'}]}}}
---
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {k: v}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: sa}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm}
data: {k: v}
---
apiVersion: v1
kind: Event
metadata: {name: p.1, namespace: $ns}
involvedObject: {apiVersion: v1, kind: Pod, name: p, namespace: $ns, fieldPath: 'spec.containers{c}'}
reason: Pulled
message: The image is here
type: Normal
source: {component: kubelet, host: n1}
firstTimestamp: '2026-01-01T00:00:00Z'
lastTimestamp: '2026-01-01T00:00:00Z'
count: 3
";
const CREATED: &str = "\
pod/p created
node/n1 created
lease.coordination.k8s.io/l created
endpointslice.discovery.k8s.io/web-1 created
service/web created
deployment.apps/web created
daemonset.apps/ds created
replicaset.apps/rs created
secret/s created
serviceaccount/sa created
configmap/cm created
event/p.1 created
";
const ALL: &str = "\
NAME READY STATUS RESTARTS AGE
pod/p 0/1 Pending 0 {age}

NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE
service/web LoadBalancer {ip} <pending> 80:{n}/TCP,53:{n}/UDP {age}

NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE SELECTOR AGE
daemonset.apps/ds 0 0 0 0 0 a=b {age}

NAME READY UP-TO-DATE AVAILABLE AGE
deployment.apps/web 0/1 0 0 {age}

NAME DESIRED CURRENT READY AGE
replicaset.apps/rs 2 0 0 {age}
";

pub(crate) fn steps() -> Vec<Step> {
    vec![
        run("create -f -", CREATED).stdin(OBJECTS),
        run(
            "get po -o wide",
            "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES\np 0/1 Pending 0 {age} <none> n1 <none> <none>",
        ),
        run(
            "get no -o wide",
            "NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME\nn1 Ready worker {age} v1.35.0 10.0.0.1 <none> Debian 6.1.0 (amd64) containerd://2.0",
        ),
        run("get lease -o wide", "NAME HOLDER AGE\nl me {age}"),
        run(
            "get endpointslices -o wide",
            "NAME ADDRESSTYPE PORTS ENDPOINTS AGE\nweb-1 IPv4 80 10.1.0.5,10.1.0.6 {age}",
        ),
        run(
            "get svc -o wide",
            "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE SELECTOR\nweb LoadBalancer {ip} <pending> 80:{n}/TCP,53:{n}/UDP {age} app=web",
        ),
        run(
            "get deploy -o wide",
            "NAME READY UP-TO-DATE AVAILABLE AGE CONTAINERS IMAGES SELECTOR\nweb 0/1 0 0 {age} c,d img:1,img:2 app=web",
        ),
        run(
            "get ds -o wide",
            "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE SELECTOR AGE CONTAINERS IMAGES SELECTOR\nds 0 0 0 0 0 a=b {age} c img:1 app=ds",
        ),
        run(
            "get rs -o wide",
            "NAME DESIRED CURRENT READY AGE CONTAINERS IMAGES SELECTOR\nrs 2 0 0 {age} c img:1 app=rs",
        ),
        run("get secret -o wide", "NAME TYPE DATA AGE\ns Opaque 1 {age}"),
        run("get sa -o wide", "NAME AGE\ndefault {age}\nsa {age}"),
        run("get cm -o wide", "NAME DATA AGE\ncm 1 {age}\nkube-root-ca.crt 1 {age}"),
        run("get ns $ns -o wide", "NAME STATUS AGE\n$ns Active {age}"),
        run(
            "get events -o wide",
            "LAST SEEN TYPE REASON OBJECT SUBOBJECT SOURCE MESSAGE FIRST SEEN COUNT NAME\n{age} Normal Pulled pod/p spec.containers{c} kubelet, n1 The image is here {age} 3 p.1",
        ),
        run("get events.events.k8s.io -o name", "event.events.k8s.io/p.1"),
        run("get all", ALL),
    ]
}
