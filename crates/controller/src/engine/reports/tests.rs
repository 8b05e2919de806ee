//! What many nodes and Services cost.

use evenkeel_model::{Id as _, ProxyReport, Version};

use super::*;

const SERVICES: u32 = 10_000;
const NODES: u64 = 1_000;

fn revision(n: u64) -> Revision {
    Revision::new(&n.to_string()).unwrap()
}

fn report(node: u64, slices: u64, serial: u64) -> Watched<SeenReport> {
    let node: Arc<str> = format!("node-{node}").into();
    let resource_version = serial.to_string().into();
    Watched::Applied(SeenReport {
        version: Version { uid: Arc::clone(&node), resource_version, generation: 0 },
        report: ProxyReport {
            node,
            services: Some(revision(1)),
            slices: Some(revision(slices)),
            exceptions: Vec::new(),
            left_out: 0,
        },
        renewed: Some(0),
        valid_for: Duration::from_secs(3600),
    })
}

/// Each of a thousand nodes reports each of a hundred changes of one Service or another: what is
/// looked at are those Services, not all of them with each report.
#[test]
fn the_cost_of_a_report_is_that_of_the_services_it_changes() {
    let mut reports = Reports::default();
    let second = Duration::from_secs(1);
    for n in 0..SERVICES {
        let key = ServiceKey::new("ns", format!("s{n}"));
        let needs = Needs { service: revision(1), slices: Some(revision(u64::from(n) + 1)) };
        reports.need(ServiceId::from_index(n), &key, needs, || None, second);
    }
    reports.see(Watched::Restarted, 0);
    reports.see(Watched::Complete, 0);
    let (mut serial, last) = (0, u64::from(SERVICES));
    for node in 0..NODES {
        serial += 1;
        reports.see(report(node, last, serial), 0);
    }
    let changed = reports.advance(second, false, |_| true);
    assert_eq!(changed.len(), SERVICES as usize, "all are in force");
    reports.n_assessed = 0;
    let mut n_reports = 0;
    for change in 1..=100 {
        let index = change % 7;
        let (id, key) = (ServiceId::from_index(index), ServiceKey::new("ns", format!("s{index}")));
        let newest = last + u64::from(change);
        let needs = Needs { service: revision(1), slices: Some(revision(newest)) };
        reports.need(id, &key, needs, || None, second);
        for node in 0..NODES {
            (serial, n_reports) = (serial + 1, n_reports + 1);
            reports.see(report(node, newest, serial), 0);
            assert_eq!(reports.advance(second, false, |_| true), []);
        }
    }
    assert_eq!(n_reports, 100_000);
    assert_eq!(reports.n_assessed, 200, "each change when it is there, and when all have it");
}
