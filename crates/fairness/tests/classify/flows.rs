//! Which flow a classified request belongs to.

use evenkeel_fairness::{
    Request,
    classify::Classifier,
    config::{Conjunction, Distinguisher, Handling, Predicate, Source},
    flow::{Flow, flow_hash},
};

use crate::{config_of, defaults::queue};

const REQUEST: Request<'static> = Request {
    user: "jane",
    groups: evenkeel_fairness::Groups::Borrowed(&[]),
    verb: "get",
    is_resource: true,
    api_group: "",
    resource: "",
    subresource: "",
    namespace: "shop",
    name: "",
    path: "",
    method: "",
    headers: &[],
};

#[test]
fn flows_are_told_apart_where_there_is_more_than_one_queue() {
    let none = Flow::default();
    let of = |distinguisher| Flow { distinguisher, hash: flow_hash("tested", distinguisher) };
    let cases = [
        (Handling::Exempt, Some(Source::User), none),
        (Handling::Reject, Some(Source::User), none),
        (queue(1, 1), Some(Source::User), none),
        (queue(1, 1), None, none),
        (queue(2, 1), Some(Source::User), of("jane")),
        (queue(2, 1), Some(Source::Namespace), of("shop")),
        (queue(2, 1), Some(Source::Group), of("")),
        (queue(2, 1), None, of("")),
    ];
    for (handling, source, expected) in cases {
        let mut config = config_of(Predicate::Match(vec![Conjunction::default()]));
        config.levels[0].handling = handling;
        config.schemas[0].distinguisher =
            source.map(|source| Distinguisher { source, transform: None });
        let classifier = Classifier::new(&config);
        let flow = classifier.flow(classifier.classify(&REQUEST), &REQUEST);
        assert_eq!(flow, expected, "{handling:?}");
    }
}

#[test]
fn the_fallback_has_flows_of_its_own() {
    let mut config = config_of(Predicate::Match(vec![]));
    config.levels[0].handling = queue(8, 2);
    config.schemas[1].distinguisher = Some(Distinguisher { source: Source::User, transform: None });
    let classifier = Classifier::new(&config);
    let flow = classifier.flow(classifier.classify(&REQUEST), &REQUEST);
    assert_eq!(flow.hash, flow_hash("fallback", "jane"));
}
