use kube::core::Status;
use serde_json::{Value, json};

use super::*;
use crate::watched::Node;

const LONG: Duration = Duration::from_secs(15);

fn reflector() -> Reflector<Node> {
    Reflector::new(Node::gone)
}

fn node(name: &str, version: &str) -> Value {
    json!({"metadata": {"name": name, "uid": format!("{name}-uid"), "resourceVersion": version}})
}

fn page(names: &[&str], version: &str, token: &str) -> ObjectList<Node> {
    let items: Vec<_> = names.iter().map(|name| node(name, "1")).collect();
    let metadata = json!({"resourceVersion": version, "continue": token});
    let list = json!({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items});
    serde_json::from_value(list).unwrap()
}

fn event(kind: &str, object: &Value) -> WatchEvent<Node> {
    serde_json::from_value(json!({"type": kind, "object": object})).unwrap()
}

fn refused(verb: Verb, code: u16) -> Failure {
    let status = Status::failure("no", "No").with_code(code).boxed();
    Failure { verb, cause: Cause::Request(kube::Error::Api(status)) }
}

fn said(watched: &Watched<Node>) -> String {
    match watched {
        Watched::Restarted => "restarted".to_owned(),
        Watched::Listed(node) => format!("listed {}", node.gone().name),
        Watched::Complete => "complete".to_owned(),
        Watched::Applied(node) => format!("applied {}", node.gone().name),
        Watched::Deleted(gone) => format!("deleted {} {}", gone.name, gone.uid),
    }
}

fn told(batch: &[Watched<Node>]) -> Vec<String> {
    batch.iter().map(said).collect()
}

fn list(token: Option<&str>) -> Step {
    Step::List { limit: Some(PAGE), token: token.map(str::to_owned) }
}

fn watch(version: &str) -> Step {
    Step::Watch { version: version.to_owned() }
}

/// One that watches from version 7 on.
fn watching() -> Reflector<Node> {
    let mut reflector = reflector();
    reflector.page(page(&[], "7", "")).unwrap();
    assert_eq!(reflector.next(), watch("7"));
    reflector
}

#[test]
fn pages_are_listed_and_then_watched_from_their_version() {
    let mut reflector = reflector();
    assert_eq!(reflector.next(), list(None));
    let first = reflector.page(page(&["a", "b"], "7", "more")).unwrap();
    assert_eq!(told(&first), ["restarted", "listed a", "listed b"]);
    assert_eq!(reflector.next(), list(Some("more")));
    let last = reflector.page(page(&["c"], "7", "")).unwrap();
    assert_eq!(told(&last), ["listed c", "complete"]);
    assert_eq!(reflector.next(), watch("7"));
}

#[test]
fn a_watch_goes_on_from_the_last_event_or_bookmark() {
    let mut reflector = watching();
    let mut tell = |kind, object| {
        let told = reflector.event(event(kind, &object)).unwrap();
        let Step::Watch { version } = reflector.next() else { panic!("it watches") };
        (told.as_ref().map_or_else(String::new, said), version)
    };
    assert_eq!(tell("ADDED", node("a", "8")), ("applied a".to_owned(), "8".to_owned()));
    assert_eq!(tell("MODIFIED", node("a", "9")), ("applied a".to_owned(), "9".to_owned()));
    assert_eq!(tell("DELETED", node("a", "10")), ("deleted a a-uid".to_owned(), "10".to_owned()));
    let bookmark =
        json!({"kind": "Node", "apiVersion": "v1", "metadata": {"resourceVersion": "99"}});
    assert_eq!(tell("BOOKMARK", bookmark), (String::new(), "99".to_owned()));
    reflector.ended(LONG, false).unwrap();
    assert_eq!(reflector.next(), watch("99"));
}

#[test]
fn a_failed_watch_goes_on_where_it_was_unless_its_version_is_forgotten() {
    let mut reflector = watching();
    let broken = Failure { verb: Verb::Watch, cause: Cause::Silent { since: LONG } };
    for failure in [refused(Verb::Watch, 403), refused(Verb::Watch, 500), broken] {
        reflector.failed(&failure, 0.0);
        assert_eq!(reflector.next(), watch("7"), "{failure}");
    }
    let gone = json!({"kind": "Status", "code": 410, "message": "too old"});
    let too_old = reflector.event(event("ERROR", &gone)).unwrap_err();
    assert_eq!(too_old.to_string(), "watch failed: too old (410)");
    reflector.failed(&too_old, 0.0);
    assert_eq!(reflector.next(), list(None));
    let listed = reflector.page(page(&[], "8", "")).unwrap();
    assert_eq!(told(&listed), ["restarted", "complete"]);
}

#[test]
fn a_failed_list_begins_anew_and_in_one_answer_if_its_pages_were_too_slow() {
    let mut reflector = reflector();
    reflector.page(page(&["a"], "7", "more")).unwrap();
    reflector.failed(&refused(Verb::List, 500), 0.0);
    assert_eq!(reflector.next(), list(None));
    reflector.page(page(&["a"], "7", "more")).unwrap();
    reflector.failed(&refused(Verb::List, 410), 0.0);
    assert_eq!(reflector.next(), Step::List { limit: None, token: None });
    let all = reflector.page(page(&["a"], "7", "")).unwrap();
    assert_eq!(told(&all), ["restarted", "listed a", "complete"]);
}

#[test]
fn what_has_no_version_is_listed_anew() {
    let failure = reflector().page(page(&["a"], "", "")).unwrap_err();
    assert_eq!(failure.to_string(), "list failed: no resourceVersion received");
    let mut reflector = watching();
    let failure = reflector.event(event("ADDED", &json!({"metadata": {"name": "a"}}))).unwrap_err();
    reflector.failed(&failure, 0.0);
    assert_eq!(reflector.next(), list(None));
}

#[test]
fn pauses_grow_until_a_watch_has_lasted_or_brought_something() {
    let mut reflector = watching();
    let pause = |reflector: &mut Reflector<Node>| {
        reflector.failed(&refused(Verb::Watch, 500), 0.0).as_millis()
    };
    assert_eq!([pause(&mut reflector), pause(&mut reflector)], [100, 200]);
    let short = reflector.ended(TOO_SHORT / 2, false).unwrap_err();
    assert_eq!(short.to_string(), "watch failed: ended at once without an event");
    assert_eq!(pause(&mut reflector), 400, "it ended at once");
    reflector.ended(LONG, false).unwrap();
    assert_eq!([pause(&mut reflector), pause(&mut reflector)], [100, 200]);
    reflector.event(event("ADDED", &node("a", "8"))).unwrap();
    assert_eq!(pause(&mut reflector), 100);
    reflector.ended(TOO_SHORT / 2, true).unwrap();
}

#[test]
fn the_api_server_may_ask_for_a_longer_pause() {
    let mut reflector = watching();
    let busy = |seconds: u32| {
        let status = json!({"code": 429, "details": {"retryAfterSeconds": seconds}});
        let status = serde_json::from_value(status).unwrap();
        Failure { verb: Verb::Watch, cause: Cause::Status(status) }
    };
    assert_eq!(reflector.failed(&busy(5), 0.0), Duration::from_secs(5));
    assert_eq!(reflector.failed(&busy(100_000), 0.0), LONGEST_PAUSE);
}
