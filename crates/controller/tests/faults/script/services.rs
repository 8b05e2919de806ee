//! What happens to Services.

use evenkeel_controller::engine::Scope;
use evenkeel_model::{AddressType, Protocol, Service, ServiceKey, ServicePort, TargetPort, label};
use evenkeel_testkit::{
    self as testkit,
    sim::{Key, Rng, Store},
};

use super::{MOST_SERVICES, Script, TIERS, namespace, pick};

impl Script {
    pub(super) fn add_service(&mut self, store: &mut Store, rng: &mut Rng) -> String {
        if store.services.len() >= MOST_SERVICES {
            return "enough Services".into();
        }
        self.services += 1;
        let number = rng.between(1, self.apps + 1);
        let namespace = namespace(store, rng);
        let key = Key::new(namespace, format!("web-{number}"));
        if store.services.get(&key).is_some() {
            return format!("{key} is there");
        }
        let mut service = testkit::service(&key.name);
        service.key = ServiceKey::new(namespace, key.name.clone());
        service.uid = format!("uid-{}-{}", key.name, self.services).into();
        service.selector = Some([("app".into(), self.app(rng).into())].into());
        service.opted_in = self.scope == Scope::Annotated && rng.chance(700);
        for _ in 0..rng.below(3) {
            change(&mut service, rng);
        }
        let what = format!("{key} comes, {:?}", service.selector);
        store.add_service(service);
        what
    }

    /// A Service opts in, gets its selector back, or has neither.
    pub(crate) fn opt(&mut self, store: &mut Store, rng: &mut Rng) -> String {
        let Some(key) = pick(store.services.iter().map(|(key, _)| key.clone()), rng) else {
            return "no Service to opt".into();
        };
        let app = self.app(rng);
        let selector = || Some([("app".into(), app.into())].into());
        let mut said = "";
        store.change_service(&key, |service| {
            (service.opted_in, service.selector, said) = match rng.below(5) {
                0 | 1 => (true, selector(), "opts in"),
                2 | 3 => (false, selector(), "has a selector"),
                _ => (false, None, "has neither selector nor annotation"),
            };
        });
        format!("{key} {said}")
    }

    pub(super) fn change_service(&mut self, store: &mut Store, rng: &mut Rng) -> String {
        let Some(key) = pick(store.services.iter().map(|(key, _)| key.clone()), rng) else {
            return "no Service to change".into();
        };
        let app = self.app(rng);
        let mut said = "";
        store.change_service(&key, |service| {
            said = if rng.chance(150) {
                let tier = rng.chance(400).then(|| ("tier".into(), TIERS[rng.below(2)].into()));
                let app = ("app".into(), app.into());
                let selector = std::iter::once(app).chain(tier).collect();
                service.selector = Some(selector).filter(|_| rng.chance(850));
                "selector"
            } else {
                change(service, rng)
            };
        });
        format!("{key} changes: {said}")
    }
}

/// Something of a Service's spec or metadata changes.
fn change(service: &mut Service, rng: &mut Rng) -> &'static str {
    match rng.below(12) {
        0 | 1 => {
            service.ports = ports(rng);
            "ports"
        }
        2 => {
            let value = ["blue", "green"][rng.below(2)];
            service.labels.insert("colour".into(), value.into());
            "labels"
        }
        3 => {
            service.labels.clear();
            "no labels"
        }
        4 => {
            use AddressType::{IPv4, IPv6};
            service.families = [vec![IPv4], vec![IPv4, IPv6], vec![IPv6]][rng.below(3)].clone();
            "families"
        }
        5 => {
            service.annotations.clear();
            service.traffic_distribution = None;
            "asks for nothing"
        }
        6 => {
            service.annotations.insert(label::TOPOLOGY_MODE.into(), "Auto".into());
            "asks for Auto"
        }
        7 => {
            let value = ["PreferClose", "PreferSameZone", "PreferSameNode", "Odd"][rng.below(4)];
            service.traffic_distribution = Some(value.into());
            "asks for a distribution"
        }
        8 | 9 => {
            let values = [
                "Balanced",
                "Balanced",
                "PreferSameRegion",
                "PreferSameZoneThenRegion",
                "RequireSameZone",
            ];
            let value = values[rng.below(values.len())];
            service.annotations.insert(label::TRAFFIC_DISTRIBUTION.into(), value.into());
            "asks for a policy of our own"
        }
        10 => {
            let value = ["0%", "40%", "much"][rng.below(3)];
            service.annotations.insert(label::OVERLOAD_THRESHOLD.into(), value.into());
            "accepts another overload"
        }
        _ => {
            service.publish_not_ready = rng.chance(300);
            service.headless = rng.chance(300);
            service.cluster_ip_none = service.headless;
            "publishes and heads"
        }
    }
}

fn ports(rng: &mut Rng) -> Vec<ServicePort> {
    let port = |name: &str, target: TargetPort| ServicePort {
        name: name.into(),
        port: 80,
        target,
        protocol: Protocol::default(),
        app_protocol: None,
        node_port: None,
    };
    match rng.below(5) {
        0 => Vec::new(),
        1 => vec![port("http", TargetPort::Number(8081))],
        2 => vec![port("http", TargetPort::Number(8080)), port("m", TargetPort::Number(9))],
        _ => vec![port("http", TargetPort::Name("web".into()))],
    }
}

pub(super) fn remove_service(store: &mut Store, rng: &mut Rng) -> Option<String> {
    let key = pick(store.services.iter().map(|(key, _)| key.clone()), rng)?;
    store.services.remove(&key);
    Some(format!("{key} goes"))
}

pub(super) fn end_service(store: &mut Store, rng: &mut Rng) -> Option<Key> {
    let key = pick(store.services.iter().map(|(key, _)| key.clone()), rng)?;
    store.change_service(&key, |service| service.deleting = true);
    Some(key)
}
