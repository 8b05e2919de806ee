//! Lists that replace what was known.

use evenkeel_model::{Gone, SeenService, SeenSlice, Version, Watched};
use evenkeel_topology::consumer::View;

use crate::world::{at, changed, endpoints, key, namespace, service_of, slice, view};

fn seen(name: &str) -> SeenService {
    SeenService {
        service: service_of(name, &["http"]),
        version: Version::default(),
        created: None,
        conditions: Vec::new(),
        problem: None,
        frontend_problem: None,
    }
}

fn seen_slice(name: &str, service: &str) -> SeenSlice {
    let slice = slice(name, service, vec![at(1)]);
    SeenSlice { namespace: namespace(), slice, version: Version::default(), deleting: false }
}

fn loaded() -> View {
    let mut view = view();
    for name in ["web", "api"] {
        view.watch_service(Watched::Applied(seen(name)));
        view.watch_slice(Watched::Applied(seen_slice(&format!("{name}-1"), name)));
    }
    changed(&mut view);
    view
}

#[test]
fn what_a_list_lacks_is_gone_at_its_end() {
    let mut view = loaded();
    view.watch_service(Watched::Restarted);
    view.watch_service(Watched::Listed(seen("web")));
    view.watch_slice(Watched::Restarted);
    view.watch_slice(Watched::Listed(seen_slice("api-1", "api")));
    assert!(changed(&mut view).is_empty(), "not before the end");
    view.watch_service(Watched::Complete);
    assert_eq!(view.find(&key("api")), None);
    view.watch_slice(Watched::Complete);
    assert!(endpoints(&view, "web", 0).is_empty());
    let kinds: Vec<_> = changed(&mut view).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, ["removed", "endpoints"]);
}

#[test]
fn a_list_of_the_same_changes_nothing() {
    let mut view = loaded();
    view.watch_service(Watched::Restarted);
    view.watch_slice(Watched::Restarted);
    for name in ["api", "web"] {
        view.watch_slice(Watched::Listed(seen_slice(&format!("{name}-1"), name)));
        view.watch_service(Watched::Listed(seen(name)));
    }
    view.watch_service(Watched::Complete);
    view.watch_slice(Watched::Complete);
    assert!(changed(&mut view).is_empty());
}

#[test]
fn the_end_of_an_older_service_leaves_the_newer() {
    let mut view = loaded();
    let gone = |uid: &str| Gone { namespace: namespace(), name: "web".into(), uid: uid.into() };
    view.watch_service(Watched::Deleted(gone("older")));
    assert!(view.find(&key("web")).is_some());
    view.watch_service(Watched::Deleted(gone("uid-web")));
    assert_eq!(view.find(&key("web")), None);
    let slice = Gone { name: "api-1".into(), ..gone("") };
    view.watch_slice(Watched::Deleted(slice));
    assert!(endpoints(&view, "api", 0).is_empty());
}
