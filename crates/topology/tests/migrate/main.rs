//! What becomes of removed and deprecated settings.

#![expect(clippy::unwrap_used, reason = "tests")]

mod keys;
mod properties;
mod settings;

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{Service, ServiceState};
use evenkeel_topology::{
    Environment, Profile, Server, ServerVersion,
    migrate::{AutoTarget, Migration, migrate},
};

const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
const OWN: &str = "evenkeel.dev/traffic-distribution";
const FIELD: &str = "spec.trafficDistribution";

const KUBERNETES: Profile = Profile::Kubernetes;
const EVENKEEL: Profile = Profile::Evenkeel;

/// Whose controller writes the hints, and the API server's minor version.
#[derive(Clone, Copy, Debug)]
struct On(Profile, u16);

impl On {
    fn migrate(self, service: &Service, keys: Option<&[&str]>, auto: AutoTarget) -> Migration {
        let server = Server::given(ServerVersion::new(1, self.1));
        let environment = Environment::new(Some(self.0), server, |_| ()).unwrap();
        let keys: Option<Vec<Arc<str>>> =
            keys.map(|keys| keys.iter().map(|key| Arc::from(*key)).collect());
        migrate(&ServiceState::new(service.clone()), keys.as_deref(), auto, &environment)
    }
}

/// `place: value`, in order.
fn to(migration: &Migration) -> Vec<String> {
    migration.to.iter().map(|to| format!("{}: {}", to.place, to.value)).collect()
}

/// The name of each reason's variant.
fn codes(migration: &Migration) -> Vec<String> {
    let name = |debug: String| debug.split([' ', '{']).next().unwrap().to_owned();
    migration.notes.iter().map(|note| name(format!("{:?}", note.because.reason))).collect()
}

fn annotations(migration: &Migration) -> BTreeMap<&'static str, Option<&'static str>> {
    migration.patch.metadata.annotations.clone()
}
