//! Services that another controller writes: those that opted out, and those that are left to
//! Kubernetes' own.

use std::sync::Arc;

use evenkeel_model::{SeenService, Service, label};

use super::{SyncWork, conditions, delete};
use crate::engine::{
    Action, ServiceEvent, Settings,
    cache::{Cache, ServiceEntry, Slot},
    conditions::{ServiceState, WHY_WITHDRAWN, WITHDRAWN},
    event_reason,
    names::Names,
    ownership,
};

impl SyncWork {
    /// The Service is not ours, or no longer: slices of ours go once others' cover them. Returns how
    /// many stay until then, and are out of date.
    pub(super) fn opt_out(
        &mut self,
        cache: &Cache,
        slot: &Slot,
        entry: &ServiceEntry,
        settings: &Settings,
    ) -> usize {
        let service = &entry.seen.service;
        let ours = &settings.topology.controller_name;
        let (n, covered) = match service.deleting {
            // The garbage collector takes them with the Service.
            true => (0, Vec::new()),
            false => ownership::left_behind(cache, slot, entry, ours),
        };
        let stale = n - covered.len();
        let message = why_not_updated(service, stale, ours);
        let state = ServiceState::OptedOut(&message);
        let conditions = conditions(&entry.seen, Some(&state).filter(|_| stale > 0), settings);
        let is_known = conditions.is_none() && settings.conditions;
        if stale > 0 && slot.sums.stale == 0 && !is_known {
            let warning = service.selector.is_none();
            self.events.push(event(&entry.seen, warning, event_reason::NOT_UPDATED, message));
        }
        if !covered.is_empty() {
            let message = format!(
                "Deleted {} of {ours}: EndpointSlices of other controllers list the Pods of this \
                 Service",
                counted(covered.len())
            );
            self.events.push(event(&entry.seen, false, event_reason::RELEASED, message));
        }
        self.report.slices_deleted = covered.len();
        self.then(covered.iter().map(|name| delete(slot, name)));
        self.then(conditions);
        stale
    }

    /// Leaves the Service to the built-in controller. That is recorded before anything is deleted,
    /// or a restart in between would take the Service back.
    pub(super) fn withdraw(
        &mut self,
        slot: &Slot,
        entry: &ServiceEntry,
        recorded: bool,
        covered: &[Arc<str>],
        settings: &Settings,
    ) {
        let service = &entry.seen.service;
        if service.deleting {
            return;
        }
        if !recorded {
            let mut slice = ownership::record(service, &settings.topology.controller_name);
            slice.name = Names::default().name(service, &slice, |name| slot.is_taken(name));
            self.report.slices_created = 1;
            self.then([Action::Create { slice, trigger: None }]);
            if !slot.sums.withdrawn {
                self.events.push(event(&entry.seen, true, WITHDRAWN, WHY_WITHDRAWN.to_owned()));
            }
            // What the other lists may have changed by the time the record is there.
            self.again = true;
            return;
        }
        self.report.slices_deleted = covered.len();
        self.then(covered.iter().map(|name| delete(slot, name)));
        self.then(conditions(&entry.seen, Some(&ServiceState::Withdrawn), settings));
    }
}

fn why_not_updated(service: &Service, stale: usize, ours: &str) -> String {
    let slices = format!("No longer updating {} of {ours}", counted(stale));
    let annotation = label::SELECTOR;
    if service.external_name {
        return format!("{slices}: the Service is of type ExternalName");
    }
    match service.selector {
        Some(_) => format!(
            "{slices}: the Service has spec.selector, so it has not opted in. Waiting for \
             EndpointSlices of another controller to list its Pods before deleting"
        ),
        None => format!(
            "{slices}: the Service has neither spec.selector nor the annotation {annotation}. Set \
             one of them, or delete the EndpointSlices"
        ),
    }
}

fn counted(n: usize) -> String {
    match n {
        1 => "1 EndpointSlice".to_owned(),
        n => format!("{n} EndpointSlices"),
    }
}

fn event(seen: &SeenService, warning: bool, reason: &'static str, message: String) -> ServiceEvent {
    let service = seen.service.key.clone();
    ServiceEvent { service, uid: Arc::clone(&seen.version.uid), warning, reason, message }
}
