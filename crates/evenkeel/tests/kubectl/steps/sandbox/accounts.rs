//! ServiceAccounts and their Secrets.

use crate::step::{Step, fails, run, save};

const SECRET: &str = "\
Name:         $secret
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
        run(
            "wait --for=jsonpath={.secrets[0].name} sa/bot --timeout=30s",
            "serviceaccount/bot condition met",
        )
        .since(31),
        run("get sa", "NAME AGE\nbot {age}\ndefault {age}"),
        run(
            "get secrets",
            "NAME TYPE DATA AGE\nbot-token-{any} kubernetes.io/service-account-token 3 {age}\ndefault-token-{any} kubernetes.io/service-account-token 3 {age}",
        ),
        run("get cm", "NAME DATA AGE\nkube-root-ca.crt 1 {age}"),
        save("get sa bot -o 'jsonpath={.metadata.uid}'", "uid"),
        save("get sa bot -o 'jsonpath={.secrets[0].name}'", "secret"),
        run("describe secret $secret", SECRET),
        fails(
            "create token bot",
            "error: failed to create token: serviceaccounts/token is not offered: this server signs no tokens",
        )
        .since(24),
        run("delete sa bot", "serviceaccount \"bot\" deleted{? from $ns namespace}"),
        run("wait --for=delete secret/$secret --timeout=30s", "...").since(23),
        run("create namespace other", "namespace/other created"),
        run("delete namespace other", "namespace \"other\" deleted"),
    ]
}
