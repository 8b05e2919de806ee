//! Events to the Services they are about.

use evenkeel_model::{EventNote, Service};
use k8s_openapi::{api::core::v1::Event, jiff::Timestamp};

use super::find;
use crate::Collected;

/// The Events about each Service by its place, newest last.
pub(super) fn by_service(services: &[Service], given: &Collected<Event>) -> Vec<Vec<EventNote>> {
    let mut found: Vec<Vec<(Option<Timestamp>, &str, EventNote)>> =
        vec![Vec::new(); services.len()];
    for item in given {
        let event = &item.object;
        if let Some(place) = place(services, event) {
            let name = event.metadata.name.as_deref().unwrap_or_default();
            found[place].push((last_seen(event), name, note(event)));
        }
    }
    let sorted = found.into_iter().map(|mut notes| {
        notes.sort_by(|(time, name, _), (time2, name2, _)| (time, name).cmp(&(time2, name2)));
        notes.into_iter().map(|(_, _, note)| note).collect()
    });
    sorted.collect()
}

/// An Event about an earlier Service of the same name is not about this one.
fn place(services: &[Service], event: &Event) -> Option<usize> {
    let about = &event.involved_object;
    let is_core = matches!(about.api_version.as_deref(), None | Some("" | "v1"));
    if !is_core || about.kind.as_deref() != Some("Service") {
        return None;
    }
    let namespace = about.namespace.as_deref().filter(|name| !name.is_empty());
    let namespace = namespace.or(event.metadata.namespace.as_deref())?;
    let place = find(services, namespace, about.name.as_deref()?)?;
    let known = &*services[place].uid;
    let uid = about.uid.as_deref().unwrap_or_default();
    (uid.is_empty() || known.is_empty() || uid == known).then_some(place)
}

/// Which of the five timestamps is set depends on who wrote the Event, and with which library.
fn last_seen(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref();
    let observed = series.and_then(|series| series.last_observed_time.as_ref());
    let precise = observed.or(event.event_time.as_ref()).map(|time| time.0);
    let coarse = event.last_timestamp.as_ref().or(event.first_timestamp.as_ref());
    let created = event.metadata.creation_timestamp.as_ref();
    let coarse = coarse.map(|time| time.0);
    coarse.max(precise).or(created.map(|time| time.0))
}

fn note(event: &Event) -> EventNote {
    EventNote {
        reason: event.reason.as_deref().unwrap_or_default().into(),
        message: event.message.as_deref().unwrap_or_default().into(),
        warning: event.type_.as_deref() == Some("Warning"),
    }
}
