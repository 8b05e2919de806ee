//! The states of Services and their slices.

use std::collections::BTreeMap;

use evenkeel_model::{Revision, Revisions, Service, label};
use k8s_openapi::{
    api::{core::v1 as core, discovery::v1::EndpointSlice},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
    jiff::Timestamp,
};

use super::find;
use crate::Collected;

/// Of each Service by its place; `None` where one revision is not known or can't be compared.
pub(super) fn of(
    services: &[Service],
    objects: &Collected<core::Service>,
    slices: &Collected<EndpointSlice>,
) -> Vec<Option<Revisions>> {
    let mut revisions = vec![None; services.len()];
    for item in objects {
        let meta = &item.object.metadata;
        if let Some(place) = place(services, meta, meta.name.as_deref())
            && let Some(service) = revision(meta)
        {
            revisions[place] = Some(Revisions { service, slices: None, changed: None });
        }
    }
    for item in slices {
        let meta = &item.object.metadata;
        let name = value(meta.labels.as_ref(), label::SERVICE_NAME);
        let Some(place) = place(services, meta, name) else { continue };
        let Some(known) = &mut revisions[place] else { continue };
        match revision(meta) {
            None => revisions[place] = None,
            Some(revision) if known.slices.as_ref() < Some(&revision) => {
                (known.slices, known.changed) = (Some(revision), changed(meta));
            }
            Some(_) => {}
        }
    }
    revisions
}

fn place(services: &[Service], meta: &ObjectMeta, name: Option<&str>) -> Option<usize> {
    find(services, meta.namespace.as_deref().unwrap_or_default(), name?)
}

fn revision(meta: &ObjectMeta) -> Option<Revision> {
    Revision::new(meta.resource_version.as_deref()?)
}

fn changed(meta: &ObjectMeta) -> Option<i64> {
    let time = value(meta.annotations.as_ref(), label::TRIGGER_TIME)?;
    Some(time.parse::<Timestamp>().ok()?.as_second())
}

fn value<'a>(given: Option<&'a BTreeMap<String, String>>, key: &str) -> Option<&'a str> {
    given?.get(key).map(String::as_str)
}
