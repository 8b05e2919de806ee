//! `get --watch`, while other commands change the watched objects.

use crate::step::{Step, run};

const RUNNING: &str = r#"patch pod p --subresource=status --type=merge -p '{"status":{"phase":"Running","podIP":"10.1.0.5","podIPs":[{"ip":"10.1.0.5"}],"containerStatuses":[{"name":"p","ready":true,"restartCount":1,"image":"img:1","imageID":"x","state":{"running":{}}}]}}'"#;
const PODS: &str = "\
NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES
p 0/1 Pending 0 {age} <none> <none> <none> <none>
";
const DELETED: &str = r#"configmap "a" deleted{? from $ns namespace}"#;

pub(crate) fn steps() -> Vec<Step> {
    vec![
        run("create configmap a --from-literal=k=1", "configmap/a created"),
        run("get cm --watch", "NAME DATA AGE\na 1 {age}\nkube-root-ca.crt 1 {age}")
            .then(run("create configmap b", "configmap/b created"), "b 0 {age}")
            .then(run("label cm b x=1", "configmap/b labeled"), "b 0 {age}")
            .then(run("delete cm b --wait=false", "{any}"), "b 0 {age}"),
        run("get cm --watch --output-watch-events -l x", "")
            .then(
                run("label cm a x=1", "configmap/a labeled"),
                "EVENT NAME DATA AGE\nADDED a 1 {age}",
            )
            .then(
                run(r#"patch cm a --type=merge -p '{"data":{"l":"2"}}'"#, "configmap/a patched"),
                "MODIFIED a 2 {age}",
            )
            .then(run("label cm a x-", "configmap/a {any}"), "DELETED a 2 {age}"),
        run("get cm a --watch -o 'jsonpath={.data.k}{\"\\n\"}'", "1")
            .then(run(r#"patch cm a -p '{"data":{"k":"2"}}'"#, "configmap/a patched"), "2"),
        run("get cm a --watch -o name", "configmap/a")
            .then(run("delete cm a", DELETED), "configmap/a"),
        run("run p --image=img:1", "pod/p created"),
        run("get pods --watch -o wide", PODS)
            .then(
                run(RUNNING, "pod/p patched"),
                "p 1/1 Running 1 {age} 10.1.0.5 <none> <none> <none>",
            )
            .since(24),
        run("get svc --watch", "").then(
            run("create service clusterip web --tcp=80:8080", "service/web created"),
            "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE\nweb ClusterIP {ip} <none> 80/TCP {age}",
        ),
    ]
}
