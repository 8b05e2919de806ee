//! The health checks, with kube-apiserver's names for the same components.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use evenkeel_admin::{
    health::{CheckScope, Health},
    supervisor::Supervisor,
};
use tokio::sync::watch;

use crate::{journal::Writable, shutdown::Stop};

/// Post-start hooks: one-time work that others depend on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Started(Arc<Hooks>);

#[derive(Debug, Default)]
struct Hooks {
    namespaces: AtomicBool,
    kubernetes: AtomicBool,
    roles: AtomicBool,
    flow_control: AtomicBool,
}

impl Started {
    /// The namespaces of every cluster exist.
    pub(super) fn namespaces(&self) {
        self.0.namespaces.store(true, Ordering::Release);
    }

    /// The Service `kubernetes` and its slice exist.
    pub(super) fn kubernetes(&self) {
        self.0.kubernetes.store(true, Ordering::Release);
    }

    /// The default roles and bindings exist.
    pub(super) fn roles(&self) {
        self.0.roles.store(true, Ordering::Release);
    }

    /// The default FlowSchemas and PriorityLevelConfigurations exist.
    pub(crate) fn flow_control(&self) {
        self.0.flow_control.store(true, Ordering::Release);
    }
}

/// `etcd` is the store, under the name that existing probes use. It lives as long as its writer:
/// without the writer only a restart of the process helps, which replays the journal. Whether the
/// journal accepts writes is a matter of readiness.
pub(super) fn health(
    stop: &Stop,
    has_writer: impl Fn() -> bool + Send + Sync + 'static,
    writable: watch::Receiver<Writable>,
    started: &Started,
    supervisor: &Supervisor,
) -> Health {
    let stop = stop.clone();
    let is_ready = move || match stop.is_stopping() {
        true => Err("process is shutting down".to_owned()),
        false => Ok(()),
    };
    let store = move || match has_writer() {
        true => Ok(()),
        false => Err("the writer is not running".to_owned()),
    };
    let hook = |is_done: fn(&Hooks) -> &AtomicBool| {
        let started = started.clone();
        move || match is_done(&started.0).load(Ordering::Acquire) {
            true => Ok(()),
            false => Err("post-start hook not finished".to_owned()),
        }
    };
    Health::new()
        .with("etcd", CheckScope::Everywhere, store)
        .with("etcd-readiness", CheckScope::Readiness, move || writable.borrow().clone())
        .with(
            "poststarthook/start-system-namespaces-controller",
            CheckScope::Everywhere,
            hook(|hooks| &hooks.namespaces),
        )
        .with(
            "poststarthook/bootstrap-controller",
            CheckScope::Everywhere,
            hook(|hooks| &hooks.kubernetes),
        )
        .with(
            "poststarthook/rbac/bootstrap-roles",
            CheckScope::Everywhere,
            hook(|hooks| &hooks.roles),
        )
        .with(
            "poststarthook/priority-and-fairness-config-producer",
            CheckScope::Everywhere,
            hook(|hooks| &hooks.flow_control),
        )
        .with_tasks(supervisor)
        .with("shutdown", CheckScope::Readiness, is_ready)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(health: &Health, path: &str) -> (u16, String) {
        let answer = health.answer(path, Some("verbose")).unwrap();
        (answer.status().as_u16(), answer.into_body())
    }

    #[test]
    fn a_journal_that_takes_no_writes_is_alive_and_not_ready() {
        let (journal, writable) = watch::channel(Ok(()));
        let (stop, started) = (Stop::default(), Started::default());
        let supervisor = Supervisor::new(stop.watches_end().clone(), |_, _| {});
        let health = health(&stop, || true, writable, &started, &supervisor);
        assert_eq!(ask(&health, "/livez").0, 500, "hooks have not finished");
        started.namespaces();
        started.kubernetes();
        started.roles();
        started.flow_control();
        let hooks = "[+]poststarthook/start-system-namespaces-controller ok\n\
                     [+]poststarthook/bootstrap-controller ok\n\
                     [+]poststarthook/rbac/bootstrap-roles ok\n\
                     [+]poststarthook/priority-and-fairness-config-producer ok\n";
        let live = format!("[+]ping ok\n[+]log ok\n[+]etcd ok\n{hooks}livez check passed\n");
        let ready = |journal: &str, end: &str| {
            format!(
                "[+]ping ok\n[+]log ok\n[+]etcd ok\n{journal}\n{hooks}[+]shutdown ok\nreadyz check {end}\n"
            )
        };
        assert_eq!(ask(&health, "/livez"), (200, live.clone()));
        assert_eq!(ask(&health, "/readyz"), (200, ready("[+]etcd-readiness ok", "passed")));
        journal.send(Err("no space left".to_owned())).unwrap();
        assert_eq!(ask(&health, "/livez"), (200, live));
        let failed = ready("[-]etcd-readiness failed: reason withheld", "failed");
        assert_eq!(ask(&health, "/readyz"), (500, failed));
        assert_eq!(ask(&health, "/livez/etcd-readiness").0, 404);
        let one = ask(&health, "/readyz/etcd-readiness");
        assert_eq!(one, (500, "internal server error: no space left\n".to_owned()));
        journal.send(Ok(())).unwrap();
        assert_eq!(ask(&health, "/readyz").0, 200);
    }
}
