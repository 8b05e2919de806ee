//! Users, roles and tokens. `--as` sends what another user would; accounts use their own tokens.

pub(crate) mod autoupdate;
pub(crate) mod defaults;
pub(crate) mod escalation;
pub(crate) mod limited;
pub(crate) mod nodes;
pub(crate) mod reconcile;
pub(crate) mod users;

use crate::step::{Step, run, save};

/// A context `bot` that uses a token of the ServiceAccount `bot` in the namespace of the session.
pub(super) fn as_bot() -> Vec<Step> {
    vec![
        run("create serviceaccount bot", "serviceaccount/bot created"),
        save("create token bot --duration 20m", "token").since(24),
        run("config set-credentials bot --token=$token", "User \"bot\" set."),
        run(
            "config set-context bot --cluster evenkeel --user bot --namespace $ns",
            "Context \"bot\" created.",
        ),
    ]
}

/// A question of `auth can-i` that is answered with no.
pub(super) fn no(command: &'static str) -> Step {
    run(command, "").but(1, "no")
}

/// Steps one after the other.
fn all<const N: usize>(parts: [Vec<Step>; N]) -> Vec<Step> {
    parts.into_iter().flatten().collect()
}
