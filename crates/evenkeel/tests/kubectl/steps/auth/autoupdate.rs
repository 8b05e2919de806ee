//! Default roles and bindings are completed at every start, unless that is switched off for one.

use super::no;
use crate::step::{Step, run};

pub(crate) fn before() -> Vec<Step> {
    vec![
        run("delete clusterrole system:node-proxier", "{any} deleted{any}"),
        run("delete clusterrolebinding system:discovery", "{any} deleted{any}"),
        no("auth can-i get /api --as=bob"),
        // Switched off.
        run(
            "annotate clusterrole system:public-info-viewer --overwrite \
             rbac.authorization.kubernetes.io/autoupdate=false",
            "clusterrole.rbac.authorization.k8s.io/system:public-info-viewer annotate{?d}",
        ),
        run(
            "patch clusterrole system:public-info-viewer --type=merge -p '{\"rules\":[]}'",
            "clusterrole.rbac.authorization.k8s.io/system:public-info-viewer patched",
        ),
        no("auth can-i get /version --as=bob"),
        // A rule of one's own, and those that should be there are missing.
        run(
            "patch clusterrole system:basic-user --type=json -p '[{\"op\":\"replace\",\"path\":\"/rules\",\
             \"value\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"list\"]}]}]'",
            "clusterrole.rbac.authorization.k8s.io/system:basic-user patched",
        ),
    ]
}

pub(crate) fn after() -> Vec<Step> {
    vec![
        run(
            "get clusterrole system:node-proxier -o name",
            "clusterrole.rbac.authorization.k8s.io/system:node-proxier",
        ),
        run("auth can-i get /api --as=bob", "yes"),
        run("auth can-i list pods --as=bob", "yes"),
        run("auth can-i create selfsubjectreviews.authentication.k8s.io --as=bob", "yes")
            .warns("?Warning: {any}\n?"),
        run("get clusterrole system:public-info-viewer -o 'jsonpath={.rules[*].verbs}'", ""),
        run(
            "get clusterrole system:public-info-viewer -o jsonpath='{.metadata.annotations}'",
            "{\"rbac.authorization.kubernetes.io/autoupdate\":\"false\"}",
        ),
    ]
}
