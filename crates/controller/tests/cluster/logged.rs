//! What controllers of this process log, kept for the tests that ask for it.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, Once},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{
    Layer, layer::Context, layer::SubscriberExt as _, registry, registry::LookupSpan,
};

/// A line of the log: its fields and those of its spans by name, its text under `message`.
pub(crate) type Line = BTreeMap<&'static str, String>;

static LINES: Mutex<Vec<Line>> = Mutex::new(Vec::new());
static START: Once = Once::new();

/// From now on lines are kept.
pub(crate) fn keep() {
    START.call_once(|| {
        tracing::subscriber::set_global_default(registry().with(Keeper)).unwrap();
    });
}

pub(crate) fn lines(wanted: impl Fn(&Line) -> bool) -> Vec<Line> {
    LINES.lock().unwrap().iter().filter(|line| wanted(line)).cloned().collect()
}

struct Keeper;

struct Fields(Line);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with("evenkeel_controller")
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields(Line::new());
        attributes.record(&mut fields);
        context.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields(Line::new());
        for span in context.event_scope(event).into_iter().flatten() {
            let extensions = span.extensions();
            fields.0.extend(extensions.get::<Fields>().unwrap().0.clone());
        }
        event.record(&mut fields);
        LINES.lock().unwrap().push(fields.0);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}
