//! `wait` and `rollout`, as far as possible without controllers.

use crate::step::{Step, fails, run};

const AVAILABLE: &str = r#"patch deploy web --subresource=status --type=merge -p '{"status":{"observedGeneration":9,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[{"type":"Available","status":"True"}]}}'"#;

/// Some builds print a line about a watch cut short by the timeout.
const TIMED_OUT: &str = "...\nerror: timed out waiting for the condition on deployments/web";

pub(crate) fn steps() -> Vec<Step> {
    [waits(), rollouts()].into_iter().flatten().collect()
}

fn waits() -> Vec<Step> {
    vec![
        run("create configmap cfg --from-literal=a=2", "configmap/cfg created"),
        run("create deployment web --image=img:1", "deployment.apps/web created"),
        run("wait '--for=jsonpath={.data.a}=2' cm/cfg --timeout=5s", "configmap/cfg condition met")
            .since(23),
        run("wait --for=delete cm/nope --timeout=5s", "").since(23),
        fails("wait --for=condition=Available deploy/web --timeout=2s", TIMED_OUT),
        run(
            "wait --for=condition=Available deploy/web --timeout=30s",
            "deployment.apps/web condition met",
        )
        .meanwhile(run(AVAILABLE, "deployment.apps/web patched"))
        .since(24),
        fails(
            "wait --for=condition=Available deploy/nope --timeout=1s",
            r#"Error from server (NotFound): deployments.apps "nope" not found"#,
        ),
    ]
}

fn rollouts() -> Vec<Step> {
    vec![
        run("rollout status deploy/web --timeout=5s", "deployment \"web\" successfully rolled out")
            .since(24),
        run("rollout restart deploy/web", "deployment.apps/web restarted"),
        run("rollout pause deploy/web", "deployment.apps/web paused"),
        fails("rollout pause deploy/web", r#"error: deployments.apps "web" is already paused"#),
        run("rollout resume deploy/web", "deployment.apps/web resumed"),
        run(
            "rollout history deploy/web",
            "deployment.apps/web\n{any}No rollout history found.{any}",
        ),
    ]
}
