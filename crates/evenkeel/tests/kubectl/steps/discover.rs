//! Discovery, the user's identity, and unsupported features.

use crate::step::{Step, fails, run};

const RESOURCES: &str = "\
NAME SHORTNAMES APIVERSION NAMESPACED KIND
...
configmaps cm v1 true ConfigMap
...
podtemplates v1 true PodTemplate
...
services svc v1 true Service
...
controllerrevisions apps/v1 true ControllerRevision
...
deployments deploy apps/v1 true Deployment
...
leases coordination.k8s.io/v1 true Lease
...
endpointslices discovery.k8s.io/v1 true EndpointSlice
...
";
const FIELD: &str = "\
KIND:       Service
VERSION:    v1

FIELD: trafficDistribution <string>

...
DESCRIPTION:
...
";
const FORBIDDEN: &str = r#"Error from server (Forbidden): configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" in the namespace "$ns""#;
const NO_LOG: &str =
    "Error from server (NotImplemented): pods/log is not supported: this server has no kubelets";
const NO_EXEC: &str = "...\nError from server (NotImplemented): pods/exec is not supported: this server has no kubelets";
const NO_ATTACH: &str = "...\nError from server (NotImplemented): pods/attach is not supported: this server has no kubelets";
const NO_FORWARD: &str = "...\n{any}pods/portforward is not supported: this server has no kubelets";
const RULES: &str = "\
Resources Non-Resource URLs Resource Names Verbs
*.* [] [] [*]
 [*] [] [*]
...
";
const RULES_OF_ALL: &str = "\
Resources Non-Resource URLs Resource Names Verbs
selfsubjectreviews.authentication.k8s.io [] [] [create]
selfsubjectaccessreviews.authorization.k8s.io [] [] [create]
selfsubjectrulesreviews.authorization.k8s.io [] [] [create]
 [/api/*] [] [get]
 [/api] [] [get]
 [/apis/*] [] [get]
 [/apis] [] [get]
 [/healthz] [] [get]
 [/healthz] [] [get]
 [/livez] [] [get]
 [/livez] [] [get]
 [/openapi/*] [] [get]
 [/openapi] [] [get]
 [/readyz] [] [get]
 [/readyz] [] [get]
 [/version/] [] [get]
 [/version/] [] [get]
 [/version] [] [get]
 [/version] [] [get]
";

pub(crate) fn steps() -> Vec<Step> {
    [discovery(), identity(), unsupported()].into_iter().flatten().collect()
}

fn discovery() -> Vec<Step> {
    vec![
        run("api-resources", RESOURCES),
        run("api-resources --namespaced=false -o name", "...\nnamespaces\n...\nnodes\n..."),
        run(
            "api-resources --api-group=apps -o name",
            "controllerrevisions.apps\ndaemonsets.apps\ndeployments.apps\nreplicasets.apps",
        ),
        run(
            "api-versions",
            "...\napps/v1\n...\ncoordination.k8s.io/v1\n...\ndiscovery.k8s.io/v1\n...\nv1",
        ),
        run("explain service.spec.trafficDistribution", FIELD),
        run("explain pods --recursive", "KIND: Pod\nVERSION: v1\n...\nnodeName{any}<string>\n..."),
        fails("explain pods.nope", r#"error: field "nope" does not exist"#)
            .but(1, "?KIND: Pod\n?VERSION: v1"),
        run(
            "version",
            "Client Version: {any}\nKustomize Version: {any}\nServer Version: {any}v1.{any}",
        )
        .warns("...")
        .since(28),
        run(
            "cluster-info",
            "{any}Kubernetes control plane{any} is running at {any}https://127.0.0.1:{n}{any}\n\nTo further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.",
        ),
    ]
}

fn identity() -> Vec<Step> {
    vec![
        run(
            "auth whoami",
            "ATTRIBUTE VALUE\nUsername kubernetes-admin\nGroups [system:masters system:authenticated]\nExtra: authentication.kubernetes.io/credential-id [X509SHA256={any}]",
        )
        .since(28),
        run(
            "auth whoami --as=bob --as-group=devs",
            "ATTRIBUTE VALUE\nUsername bob\nGroups [devs system:authenticated]",
        )
        .since(28),
        run("auth can-i create deployments", "yes"),
        run("auth can-i delete pods --as=bob", "no").but(1, "no"),
        run("auth can-i get /api --as=bob", "yes"),
        run("auth can-i --list", RULES),
        run("auth can-i --list --as=bob", RULES_OF_ALL),
        fails("get cm --as=bob", FORBIDDEN),
    ]
}

fn unsupported() -> Vec<Step> {
    vec![
        run("run p --image=img:1", "pod/p created"),
        fails("logs p", NO_LOG),
        fails("logs nope", r#"{any}rror from server (NotFound): pods "nope" not found{any}"#),
        fails("exec p -- true", NO_EXEC),
        fails("exec nope -- true", r#"Error from server (NotFound): pods "nope" not found"#),
        fails("attach p", NO_ATTACH),
        fails("cp kubeconfig p:/tmp/x", NO_EXEC),
        fails(
            "port-forward p 8080:80",
            "error: unable to forward port because pod is not running. Current status=Pending",
        ),
        run(
            r#"patch pod p --subresource=status -p '{"status":{"phase":"Running"}}'"#,
            "pod/p patched",
        )
        .since(24),
        fails("port-forward p :80", NO_FORWARD).since(24),
        fails("top pods", "error: Metrics API not available"),
        run("create serviceaccount sa", "serviceaccount/sa created"),
        run("create token sa", "ey{any}").since(24),
        fails(
            "create token nope",
            r#"error: failed to create token: serviceaccounts "nope" not found"#,
        )
        .since(24),
        fails("get hpa", r#"error: the server doesn't have a resource type "hpa""#),
    ]
}
