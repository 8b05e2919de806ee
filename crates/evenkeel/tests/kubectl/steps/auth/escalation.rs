//! Nobody gets rights that they don't have: not by a role, a binding or an aggregation, not as another
//! user and not by a token of another account.

use super::no;
use crate::step::{Step, fails, run};

/// `bob` may write roles and bindings in one namespace, `carol` cluster roles and their bindings.
fn granters() -> Vec<Step> {
    vec![
        run(
            "create role granter --verb=get,create,update,patch \
             --resource=roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io",
            "role.rbac.authorization.k8s.io/granter created",
        ),
        run(
            "create rolebinding granter --role=granter --user=bob",
            "rolebinding.rbac.authorization.k8s.io/granter created",
        ),
        run(
            "create clusterrole granter --verb=get,create,update,patch \
             --resource=clusterroles.rbac.authorization.k8s.io,clusterrolebindings.rbac.authorization.k8s.io",
            "clusterrole.rbac.authorization.k8s.io/granter created",
        ),
        run(
            "create clusterrolebinding granter --clusterrole=granter --user=carol",
            "clusterrolebinding.rbac.authorization.k8s.io/granter created",
        ),
    ]
}

pub(crate) fn by_role() -> Vec<Step> {
    let own = vec![
        // What he has himself.
        run(
            "create role mine --verb=get --resource=roles.rbac.authorization.k8s.io --as=bob",
            "role.rbac.authorization.k8s.io/mine created",
        ),
        fails(
            "create role more --verb=get --resource=secrets --as=bob",
            "Error from server (Forbidden): roles.rbac.authorization.k8s.io \"more\" is forbidden: user \
             \"bob\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not \
             currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}",
        ),
        // By a change of one that exists.
        fails(
            "patch role granter --type=merge --as=bob \
             -p '{\"rules\":[{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}]}'",
            "Error from server (Forbidden): roles.rbac.authorization.k8s.io \"granter\" is forbidden: user \
             \"bob\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not \
             currently held:\n{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}",
        ),
        // In another namespace he has nothing.
        fails(
            "create role mine -n default --verb=get --resource=roles.rbac.authorization.k8s.io --as=bob",
            "Error from server (Forbidden): roles.rbac.authorization.k8s.io is forbidden: User \"bob\" \
             cannot create resource \"roles\" in API group \"rbac.authorization.k8s.io\" in the namespace \
             \"default\"",
        ),
        no("auth can-i get secrets --as=bob"),
    ];
    super::all([granters(), own])
}

pub(crate) fn by_cluster_role() -> Vec<Step> {
    let own = vec![
        fails(
            "create clusterrole more --verb=get --resource=secrets --as=carol",
            "Error from server (Forbidden): clusterroles.rbac.authorization.k8s.io \"more\" is forbidden: \
             user \"carol\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not \
             currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}",
        ),
        fails(
            "create clusterrole more --verb=get --non-resource-url=/logs/* --as=carol",
            "Error from server (Forbidden): clusterroles.rbac.authorization.k8s.io \"more\" is forbidden: \
             user \"carol\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not \
             currently held:\n{NonResourceURLs:[\"/logs/*\"], Verbs:[\"get\"]}",
        ),
        // A right in one namespace is none in all of them.
        fails(
            "create clusterrole more --verb=get --resource=roles.rbac.authorization.k8s.io --as=carol",
            "Error from server (Forbidden): clusterroles.rbac.authorization.k8s.io \"more\" is forbidden: \
             user \"carol\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not \
             currently held:\n{APIGroups:[\"rbac.authorization.k8s.io\"], Resources:[\"roles\"], \
             Verbs:[\"get\"]}",
        ),
        // The role that she has, with one rule more.
        fails(
            "patch clusterrole granter --type=json --as=carol -p '[{\"op\":\"add\",\"path\":\"/rules/-\",\
             \"value\":{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"*\"]}}]'",
            "Error from server (Forbidden): clusterroles.rbac.authorization.k8s.io \"granter\" is \
             forbidden: user \"carol\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC \
             permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"*\"]}",
        ),
    ];
    super::all([granters(), own])
}

pub(crate) fn by_binding() -> Vec<Step> {
    let own = vec![
        fails(
            "create rolebinding up --clusterrole=cluster-admin --user=bob --as=bob",
            "error: failed to create rolebinding: rolebindings.rbac.authorization.k8s.io \"up\" is \
             forbidden: user \"bob\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC \
             permissions not currently held:\n\
             {APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n\
             {NonResourceURLs:[\"*\"], Verbs:[\"*\"]}",
        ),
        fails(
            "create clusterrolebinding up --clusterrole=cluster-admin --user=carol --as=carol",
            "error: failed to create clusterrolebinding: clusterrolebindings.rbac.authorization.k8s.io \
             \"up\" is forbidden: user \"carol\" (groups=[\"system:authenticated\"]) is attempting to grant \
             RBAC permissions not currently held:\n\
             {APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n\
             {NonResourceURLs:[\"*\"], Verbs:[\"*\"]}",
        ),
        // To join those that a strong role is bound to.
        fails(
            "patch clusterrolebinding cluster-admin --type=json --as=carol \
             -p '[{\"op\":\"add\",\"path\":\"/subjects/-\",\"value\":{\"kind\":\"User\",\"name\":\"carol\",\
             \"apiGroup\":\"rbac.authorization.k8s.io\"}}]'",
            "Error from server (Forbidden): clusterrolebindings.rbac.authorization.k8s.io \
             \"cluster-admin\" is forbidden: user \"carol\" (groups=[\"system:authenticated\"]) is \
             attempting to grant RBAC permissions not currently held:\n...",
        ),
        // A role that is not there yet: its rules are not known.
        fails(
            "create rolebinding later --role=later --user=bob --as=bob",
            "error: failed to create rolebinding: rolebindings.rbac.authorization.k8s.io \"later\" not found",
        ),
        no("auth can-i '*' '*' --as=bob"),
        no("auth can-i '*' '*' --as=carol"),
    ];
    super::all([granters(), own])
}

pub(crate) fn by_aggregation() -> Vec<Step> {
    let own = vec![
        fails(
            "create clusterrole sum --aggregation-rule=rbac.authorization.k8s.io/aggregate-to-admin=true \
             --as=carol",
            "Error from server (Forbidden): clusterroles.rbac.authorization.k8s.io \"sum\" is forbidden: \
             must have cluster-admin privileges to use the aggregationRule",
        ),
        // A rule for the role that others are bound to, by a label.
        fails(
            "create -f - --as=carol",
            "Error from server (Forbidden): error when creating \"STDIN\": \
             clusterroles.rbac.authorization.k8s.io \"more\" is forbidden: user \"carol\" \
             (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently \
             held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}",
        )
        .stdin(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: more\n  \
             labels: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}\nrules:\n\
             - {apiGroups: [''], resources: [secrets], verbs: [get]}\n",
        ),
        // The rules of a role that exists.
        fails(
            "label clusterrole cluster-admin rbac.authorization.k8s.io/aggregate-to-view=true --as=carol",
            "Error from server (Forbidden): clusterroles.rbac.authorization.k8s.io \"cluster-admin\" is \
             forbidden: user \"carol\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC \
             permissions not currently held:\n...",
        ),
        // What she has may be added, and takes effect.
        run(
            "label clusterrole granter rbac.authorization.k8s.io/aggregate-to-view=true --as=carol",
            "clusterrole.rbac.authorization.k8s.io/granter labeled",
        ),
    ];
    super::all([granters(), own])
}

pub(crate) fn by_impersonation() -> Vec<Step> {
    let own = vec![
        run(
            "create clusterrole as-dave --verb=impersonate --resource=users --resource-name=dave",
            "clusterrole.rbac.authorization.k8s.io/as-dave created",
        ),
        run(
            "create clusterrolebinding as-dave --clusterrole=as-dave --serviceaccount=$ns:bot",
            "clusterrolebinding.rbac.authorization.k8s.io/as-dave created",
        ),
        run("--context=bot auth whoami --as=dave", "ATTRIBUTE VALUE\nUsername dave\nGroups [system:authenticated]").since(28),
        fails(
            "--context=bot get secrets --as=dave",
            "Error from server (Forbidden): secrets is forbidden: User \"dave\" cannot list resource \
             \"secrets\" in API group \"\" in the namespace \"$ns\"",
        ),
        fails(
            "--context=bot get secrets --as=kubernetes-admin",
            "Error from server (Forbidden): secrets is forbidden: User \"system:serviceaccount:$ns:bot\" \
             cannot impersonate-on:user-info:list resource \"secrets\" in API group \"\" in the namespace \
             \"$ns\"",
        ),
        fails(
            "--context=bot get secrets --as=dave --as-group=system:masters",
            "Error from server (Forbidden): secrets is forbidden: User \"system:serviceaccount:$ns:bot\" \
             cannot impersonate-on:user-info:list resource \"secrets\" in API group \"\" in the namespace \
             \"$ns\"",
        ),
        fails(
            "--context=bot get secrets --as=dave --as-uid=u-1",
            "Error from server (Forbidden): secrets is forbidden: User \"system:serviceaccount:$ns:bot\" \
             cannot impersonate-on:user-info:list resource \"secrets\" in API group \"\" in the namespace \
             \"$ns\"",
        )
        .since(24),
        fails(
            "--context=bot get secrets --as=system:node:node-a",
            "Error from server (Forbidden): secrets is forbidden: User \"system:serviceaccount:$ns:bot\" \
             cannot impersonate-on:arbitrary-node:list resource \"secrets\" in API group \"\" in the \
             namespace \"$ns\"",
        ),
        fails(
            "--context=bot get secrets --as=system:serviceaccount:kube-system:default",
            "Error from server (Forbidden): secrets is forbidden: User \"system:serviceaccount:$ns:bot\" \
             cannot impersonate-on:serviceaccount:list resource \"secrets\" in API group \"\" in the \
             namespace \"$ns\"",
        ),
    ];
    super::all([super::as_bot(), own])
}

/// With the right to ask for tokens in one namespace.
pub(crate) fn by_token_of_another_namespace() -> Vec<Step> {
    let own = vec![
        run(
            "create role issuer --verb=create --resource=serviceaccounts/token",
            "role.rbac.authorization.k8s.io/issuer created",
        ),
        run(
            "create rolebinding issuer --role=issuer --serviceaccount=$ns:bot",
            "rolebinding.rbac.authorization.k8s.io/issuer created",
        ),
        run("create namespace other", "namespace/other created"),
        run("create serviceaccount strong -n other", "serviceaccount/strong created"),
        run(
            "create clusterrolebinding strong --clusterrole=cluster-admin --serviceaccount=other:strong",
            "clusterrolebinding.rbac.authorization.k8s.io/strong created",
        ),
        run("--context=bot create token bot", "ey{any}").since(24),
        fails(
            "--context=bot create token strong -n other",
            "error: failed to create token: serviceaccounts \"strong\" is forbidden: User \
             \"system:serviceaccount:$ns:bot\" cannot create resource \"serviceaccounts/token\" in API \
             group \"\" in the namespace \"other\"",
        )
        .since(24),
        // An account of the same name is another account.
        run("create serviceaccount strong", "serviceaccount/strong created"),
        no("auth can-i '*' '*' --as=system:serviceaccount:$ns:strong"),
    ];
    super::all([super::as_bot(), own])
}

/// `bind` and `escalate` allow what is refused otherwise.
pub(crate) fn allowed() -> Vec<Step> {
    let own = vec![
        run(
            "create role binder --verb=bind --resource=clusterroles.rbac.authorization.k8s.io \
             --resource-name=view",
            "role.rbac.authorization.k8s.io/binder created",
        ),
        run(
            "create rolebinding binder --role=binder --user=bob",
            "rolebinding.rbac.authorization.k8s.io/binder created",
        ),
        run(
            "create rolebinding view --clusterrole=view --user=dave --as=bob",
            "rolebinding.rbac.authorization.k8s.io/view created",
        ),
        run("auth can-i list pods --as=dave", "yes"),
        fails(
            "create rolebinding edit --clusterrole=edit --user=dave --as=bob",
            "error: failed to create rolebinding: rolebindings.rbac.authorization.k8s.io \"edit\" is \
             forbidden: user \"bob\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC \
             permissions not currently held:\n...",
        ),
        run(
            "create role escalator --verb=escalate --resource=roles.rbac.authorization.k8s.io",
            "role.rbac.authorization.k8s.io/escalator created",
        ),
        run(
            "create rolebinding escalator --role=escalator --user=bob",
            "rolebinding.rbac.authorization.k8s.io/escalator created",
        ),
        run(
            "create role secrets --verb=get --resource=secrets --as=bob",
            "role.rbac.authorization.k8s.io/secrets created",
        ),
        // The verb is for roles: to bind it is another thing.
        fails(
            "create rolebinding secrets --role=secrets --user=bob --as=bob",
            "error: failed to create rolebinding: rolebindings.rbac.authorization.k8s.io \"secrets\" is \
             forbidden: user \"bob\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC \
             permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}",
        ),
    ];
    super::all([granters(), own])
}
