//! Kubernetes' own controller, at work beside ours.

use evenkeel_model::{Slice, label};
use evenkeel_testkit::sim::Key;
use evenkeel_topology::Settings;

use super::Run;
use crate::checks::{is_built_ins, planned, slices_of};

impl Run {
    /// It looks at all Services that are its own, and knows all there is.
    pub(super) fn built_in(&mut self) {
        self.built_in_due = false;
        let head = self.store.slices.head();
        let services = self.store.services.iter().map(|(_, seen)| &seen.service);
        let services: Vec<_> = services.filter(|service| is_built_ins(service)).cloned().collect();
        for service in services {
            let mut plan =
                planned(&self.store, &service, &built_in_settings(&self.profile.settings));
            let there = slices_of(&self.store, &service, &[label::BUILT_IN]);
            // What a webhook makes of it again is not worth a write.
            let admission = self.profile.admission;
            let is_there =
                |slice: &Slice| there.iter().any(|seen| seen.slice == admission.admit(slice));
            plan.update.retain(|slice| !is_there(slice));
            let key = |name| Key::new(service.key.namespace.clone(), name);
            for slice in plan.create {
                self.tally.built_in += 1;
                let name = format!("{}-x{}", service.key.name, self.tally.built_in);
                let slice = Slice { name: name.into(), ..slice };
                self.store.add_slice(&service.key.namespace, &slice);
            }
            for slice in plan.update {
                self.tally.built_in += 1;
                self.store
                    .change_slice(&key(slice.name.clone()), |old| *old = admission.admit(&slice));
            }
            for name in plan.delete {
                self.tally.built_in += 1;
                self.store.remove_slice(&key(name));
            }
        }
        if self.store.slices.head() > head {
            self.note(|| "Kubernetes' own controller writes".into());
            self.notify();
        }
    }
}

/// How it plans, with slices as small as ours.
fn built_in_settings(ours: &evenkeel_controller::engine::Settings) -> Settings {
    Settings {
        controller_name: label::BUILT_IN.into(),
        max_endpoints_per_slice: ours.topology.max_endpoints_per_slice,
        ..Settings::kubernetes()
    }
}
