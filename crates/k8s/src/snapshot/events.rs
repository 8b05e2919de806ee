//! Events to the Services they are about.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{EventNote, Service, ServiceKey};
use k8s_openapi::{api::core::v1::Event, jiff::Timestamp};

use crate::Collected;

/// An Event, and the uid of the Service that it is about; empty if it does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct About {
    uid: Arc<str>,
    note: EventNote,
}

/// The Events about Services, newest last.
pub(super) type Events = BTreeMap<ServiceKey, Vec<About>>;

/// What Events are sorted by, and one of them.
type Dated<'a> = (Option<Timestamp>, &'a str, About);

pub(super) fn by_service(given: &Collected<Event>) -> Events {
    let mut found: BTreeMap<ServiceKey, Vec<Dated<'_>>> = BTreeMap::new();
    for item in given {
        let event = &item.object;
        if let Some((key, uid)) = service(event) {
            let name = event.metadata.name.as_deref().unwrap_or_default();
            let about = About { uid: uid.into(), note: note(event) };
            found.entry(key).or_default().push((last_seen(event), name, about));
        }
    }
    let sorted = found.into_iter().map(|(key, mut notes)| {
        notes.sort_by(|(time, name, _), (time2, name2, _)| (time, name).cmp(&(time2, name2)));
        (key, notes.into_iter().map(|(_, _, about)| about).collect())
    });
    sorted.collect()
}

/// An Event about an earlier Service of the same name is not about this one.
pub(super) fn about(events: &Events, service: &Service) -> Vec<EventNote> {
    let found = events.get(&service.key).into_iter().flatten();
    let is_same = |uid: &str| uid.is_empty() || service.uid.is_empty() || *uid == *service.uid;
    found.filter(|about| is_same(&about.uid)).map(|about| about.note.clone()).collect()
}

/// The Service that an Event is about, and its uid.
fn service(event: &Event) -> Option<(ServiceKey, &str)> {
    let about = &event.involved_object;
    let is_core = matches!(about.api_version.as_deref(), None | Some("" | "v1"));
    if !is_core || about.kind.as_deref() != Some("Service") {
        return None;
    }
    let namespace = about.namespace.as_deref().filter(|name| !name.is_empty());
    let namespace = namespace.or(event.metadata.namespace.as_deref())?;
    let key = ServiceKey::new(namespace, about.name.as_deref()?);
    Some((key, about.uid.as_deref().unwrap_or_default()))
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
