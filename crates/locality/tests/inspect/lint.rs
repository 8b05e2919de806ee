use crate::setup::{instance, only_zone, resource, strategy};
use evenkeel_locality::{Compat, Finding, lint_resources};

#[test]
fn policies_are_checked_against_the_zones_of_dataplanes() {
    let resources = [
        resource(&instance("b1", "10.0.0.1", "backend", &["kuma.io/zone=zone-1"])),
        resource(&instance("b2", "10.0.0.2", "backend", &[])),
        resource(&strategy("typo", "backend", &only_zone("zone-9"))),
        resource(&strategy("fine", "backend", &only_zone("zone-2"))),
    ];
    let unknown = |zone: Option<&std::sync::Arc<str>>| {
        let found = lint_resources(&resources, zone, Compat::Record);
        let unknown = found.into_iter().filter_map(|found| match found.finding {
            Finding::UnknownZone { zone, .. } => Some((found.policy.name, found.to, zone)),
            _ => None,
        });
        unknown.map(|(policy, to, zone)| format!("{policy} {to} {zone}")).collect::<Vec<_>>()
    };
    assert_eq!(unknown(None), ["typo 0 zone-9", "fine 0 zone-2"]);
    assert_eq!(unknown(Some(&"zone-2".into())), ["typo 0 zone-9"]);
}
