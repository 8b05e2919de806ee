//! ServiceAccounts and their Secrets.

use crate::step::{Step, run, save};

const TOKEN: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: own, annotations: {kubernetes.io/service-account.name: bot}}
type: kubernetes.io/service-account-token
";

const SECRET: &str = "\
Name:         own
Namespace:    $ns
Labels:       <none>
Annotations:  kubernetes.io/service-account.name: bot
              kubernetes.io/service-account.uid: $uid
...
Type:  kubernetes.io/service-account-token
...
Data
====
...
token: {any}
...
";

pub(crate) fn steps() -> Vec<Step> {
    vec![
        run("create serviceaccount bot", "serviceaccount/bot created"),
        run("get sa", "NAME AGE\nbot {age}\ndefault {age}"),
        run("get secrets", "").warns("No resources found in $ns namespace."),
        run("create -f -", "secret/own created").stdin(TOKEN),
        run(
            "wait --for=jsonpath={.data.token} secret/own --timeout=30s",
            "secret/own condition met",
        )
        .since(31),
        run("get cm", "NAME DATA AGE\nkube-root-ca.crt 1 {age}"),
        save("get sa bot -o 'jsonpath={.metadata.uid}'", "uid"),
        run("get secrets", "NAME TYPE DATA AGE\nown kubernetes.io/service-account-token 3 {age}"),
        run("describe secret own", SECRET),
        run("create token bot", "ey{any}").since(24),
        run("delete sa bot", "serviceaccount \"bot\" deleted{? from $ns namespace}"),
        run("wait --for=delete secret/own --timeout=30s", "...").since(23),
        run("create namespace other", "namespace/other created"),
        run("delete namespace other", "namespace \"other\" deleted"),
    ]
}
