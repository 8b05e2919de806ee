//! The API server, as far as one Lease goes.

use k8s_openapi::api::coordination::v1::Lease;

use crate::lease::{Step, record};

#[derive(Default)]
pub(super) struct Store {
    lease: Option<Lease>,
    version: u64,
    pub(super) takeovers: u64,
    pub(super) releases: u64,
}

pub(super) struct Request {
    pub(super) step: Step,
    /// What to write; the Lease under its version.
    pub(super) lease: Option<Box<Lease>>,
}

pub(super) enum Reply {
    Lease(Option<Box<Lease>>),
    Conflict,
    Failed,
}

impl Store {
    pub(super) fn carry_out(&mut self, request: &Request) -> Reply {
        let Some(given) = &request.lease else { return self.read() };
        let version = |lease: &Lease| lease.metadata.resource_version.clone();
        if self.lease.as_ref().and_then(version) != version(given) {
            return Reply::Conflict;
        }
        // As in Kubernetes, an update that changes nothing gives no new version.
        if self.lease.as_ref() != Some(&**given) {
            self.write(request.step, (**given).clone());
        }
        self.read()
    }

    fn read(&self) -> Reply {
        Reply::Lease(self.lease.clone().map(Box::new))
    }

    fn write(&mut self, step: Step, mut lease: Lease) {
        let transitions =
            |lease: &Lease| lease.spec.as_ref().and_then(|spec| spec.lease_transitions);
        let holder = |lease: &Lease| record::seen(lease).holder;
        let before = self.lease.as_ref();
        let is_takeover = step == Step::Take;
        let expected = before.map_or(Some(0), |before| {
            transitions(before).map(|count| count + i32::from(is_takeover))
        });
        assert_eq!(transitions(&lease), expected, "transitions count");
        if let Some(before) = before {
            let has_changed = !holder(&lease).is_empty() && holder(before) != holder(&lease);
            assert_eq!(has_changed, is_takeover, "who changes the holder takes the lease");
        }
        self.takeovers += u64::from(is_takeover);
        self.releases += u64::from(step == Step::Release);
        self.version += 1;
        lease.metadata.resource_version = Some(self.version.to_string());
        self.lease = Some(lease);
    }
}
