//! Who somebody is and what they may do: `auth whoami`, `auth can-i`, and what creates roles, bindings
//! and tokens.

use super::no;
use crate::step::{Step, fails, run, save};

const WHOAMI: &str = "\
ATTRIBUTE VALUE
Username kubernetes-admin
Groups [system:masters system:authenticated]
?Extra: authentication.kubernetes.io/credential-id [X509SHA256={any}]
";

const WHOAMI_BOB: &str = "\
ATTRIBUTE VALUE
Username bob
UID u-1
Groups [devs ops system:authenticated]
";

const RULES_OF_ADMIN: &str = "\
Resources Non-Resource URLs Resource Names Verbs
*.* [] [] [*]
 [*] [] [*]
...
";

const ROLE: &str = "\
Name: reader
Labels: <none>
Annotations: <none>
PolicyRule:
  Resources Non-Resource URLs Resource Names Verbs
  --------- ----------------- -------------- -----
  configmaps [] [] [get list watch]
";

const BINDING: &str = "\
Name: readers
Labels: <none>
Annotations: <none>
Role:
  Kind: Role
  Name: reader
Subjects:
  Kind Name Namespace
  ---- ---- ---------
  User bob
  Group devs
  ServiceAccount bot $ns
";

pub(crate) fn steps() -> Vec<Step> {
    super::all([whoami(), create(), can_i(), impersonated(), tokens()])
}

fn whoami() -> Vec<Step> {
    vec![
        run("auth whoami", WHOAMI).since(28),
        run("auth whoami --as=bob --as-group=devs --as-group=ops --as-uid=u-1", WHOAMI_BOB)
            .since(28),
    ]
}

fn create() -> Vec<Step> {
    vec![
        run("create serviceaccount bot", "serviceaccount/bot created"),
        run(
            "create role reader --verb=get,list,watch --resource=configmaps",
            "role.rbac.authorization.k8s.io/reader created",
        ),
        run(
            "create role login --verb=get --resource=secrets --resource-name=login",
            "role.rbac.authorization.k8s.io/login created",
        ),
        run(
            "create clusterrole metrics --verb=get --non-resource-url=/metrics",
            "clusterrole.rbac.authorization.k8s.io/metrics created",
        ),
        run(
            "create rolebinding readers --role=reader --user=bob --group=devs --serviceaccount=$ns:bot",
            "rolebinding.rbac.authorization.k8s.io/readers created",
        ),
        run(
            "create rolebinding login --role=login --user=bob",
            "rolebinding.rbac.authorization.k8s.io/login created",
        ),
        run(
            "create clusterrolebinding metrics --clusterrole=metrics --user=bob",
            "clusterrolebinding.rbac.authorization.k8s.io/metrics created",
        ),
        run("describe role reader", ROLE),
        run("describe rolebinding readers", BINDING),
        run(
            "get rolebindings -o wide",
            "NAME ROLE AGE USERS GROUPS SERVICEACCOUNTS\n\
             login Role/login {age} bob\n\
             readers Role/reader {age} bob devs $ns/bot",
        ),
    ]
}

fn can_i() -> Vec<Step> {
    vec![
        run("auth can-i --list", RULES_OF_ADMIN),
        run("auth can-i --list --as=bob", "...\nconfigmaps [] [] [get list watch]\n..."),
        run("auth can-i --list --as=bob", "...\nsecrets [] [login] [get]\n..."),
        run("auth can-i --list --as=bob", "...\n[/metrics] [] [get]\n..."),
        run("auth can-i list configmaps --as=bob", "yes"),
        run("auth can-i list configmaps --as=eve --as-group=devs", "yes"),
        run("auth can-i list configmaps --as=system:serviceaccount:$ns:bot", "yes"),
        run("auth can-i get secrets/login --as=bob", "yes"),
        no("auth can-i get secrets --as=bob"),
        no("auth can-i list configmaps -n default --as=bob"),
        no("auth can-i list configmaps -A --as=bob"),
        run("auth can-i get /metrics --as=bob", "yes"),
        no("auth can-i get /metrics --as=eve"),
        run("auth can-i '*' '*'", "yes"),
    ]
}

fn impersonated() -> Vec<Step> {
    vec![
        run("create configmap a", "configmap/a created"),
        run("get configmap a -o name --as=bob", "configmap/a"),
        run("get configmap a -o name --as=eve --as-group=devs --as-uid=u-1", "configmap/a")
            .since(24),
        fails(
            "delete configmap a --as=bob",
            "Error from server (Forbidden): configmaps \"a\" is forbidden: User \"bob\" cannot delete \
             resource \"configmaps\" in API group \"\" in the namespace \"$ns\"",
        ),
        fails(
            "get configmap a --as=eve",
            "Error from server (Forbidden): configmaps \"a\" is forbidden: User \"eve\" cannot get \
             resource \"configmaps\" in API group \"\" in the namespace \"$ns\"",
        ),
        fails(
            "get --raw /metrics --as=eve",
            "Error from server (Forbidden): forbidden: User \"eve\" cannot get path \"/metrics\"",
        ),
    ]
}

fn tokens() -> Vec<Step> {
    vec![
        save("create token bot --audience=vault --duration=1h", "foreign").since(24),
        run("config set-credentials foreign --token=$foreign", "User \"foreign\" set."),
        run(
            "config set-context foreign --cluster=evenkeel --user=foreign",
            "Context \"foreign\" created.",
        ),
        fails(
            "--context=foreign get configmaps",
            "...\nerror: You must be logged in to the server (Unauthorized)",
        ),
        fails(
            "create token nobody",
            "error: failed to create token: serviceaccounts \"nobody\" not found",
        )
        .since(24),
        fails(
            "create token bot --duration=5m",
            "error: failed to create token: TokenRequest.authentication.k8s.io \"\" is invalid: \
             spec.expirationSeconds: Invalid value: 300: may not specify a duration less than 10 minutes",
        )
        .since(24),
    ]
}
