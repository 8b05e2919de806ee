//! Impersonation as recorded from a real server, and of those who may do everything.

use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::{super::recorded, *};
use crate::{
    identity::{MASTERS, On, user_info},
    kinds::read::{list, text},
    request::info::RequestInfo,
};

const LIST_PODS: Attributes<'static> = Attributes {
    verb: "list",
    on: On::Resource {
        group: "",
        resource: "pods",
        subresource: "",
        namespace: "default",
        name: "",
    },
    field_selector: "",
};

type Header = (&'static str, &'static str);

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pairs = pairs.iter().map(|(name, value)| {
        let name = HeaderName::from_bytes(format!("impersonate-{name}").as_bytes()).unwrap();
        (name, HeaderValue::from_str(value).unwrap())
    });
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name, value);
    }
    headers
}

fn master() -> User {
    User { name: "admin".to_owned(), groups: vec![MASTERS.to_owned()], ..User::default() }
}

fn as_master(given: &[(&str, &str)]) -> Result<Option<User>, Refusal> {
    let may = |user: &User, _: &Attributes<'_>| Decision {
        allowed: user.is_in(MASTERS),
        ..Decision::default()
    };
    impersonate(&master(), &headers(given), &LIST_PODS, may)
}

// Recorded from Kubernetes: scenarios `auth.impersonate-bad` and `auth.whoami`.
#[test]
fn the_groups_of_the_impersonated_follow_from_the_name() {
    let authenticated = "system:authenticated";
    let cases: &[(&[Header], &[&str])] = &[
        (&[("user", "bob")], &[authenticated]),
        (&[("user", "bob"), ("group", "devs")], &["devs", authenticated]),
        (&[("user", "bob"), ("group", authenticated)], &[authenticated]),
        (&[("user", "bob"), ("group", "system:unauthenticated")], &["system:unauthenticated"]),
        (&[("user", "system:anonymous")], &["system:unauthenticated"]),
        (
            &[("user", "system:serviceaccount:default:robot")],
            &["system:serviceaccounts", "system:serviceaccounts:default", authenticated],
        ),
        (&[("user", "system:serviceaccount:default:robot"), ("group", "g")], &["g", authenticated]),
        (&[("user", "system:serviceaccount:Default:robot")], &[authenticated]),
        (&[("user", "system:node:n1")], &["system:nodes", authenticated]),
        (&[("user", "system:node:n1"), ("uid", "u")], &[authenticated]),
    ];
    for (given, expected) in cases {
        let user = as_master(given).unwrap().unwrap();
        assert_eq!(user.groups, *expected, "{given:?}");
    }
}

#[test]
fn extra_keys_are_unescaped_and_keep_all_values() {
    let given = [
        ("user", "bob"),
        ("extra-a%2fb", "1"),
        ("extra-a%2fb", "2"),
        ("extra-50%", "3"),
        ("uid", "u-1"),
    ];
    let user = as_master(&given).unwrap().unwrap();
    assert_eq!(user.uid, "u-1");
    assert_eq!(user.extra["a/b"], ["1", "2"]);
    assert_eq!(user.extra["50%"], ["3"]);
}

#[test]
fn without_headers_nobody_is_impersonated() {
    for given in [&[][..], &[("user", "")], &[("proxy", "x")]] {
        assert_eq!(as_master(given), Ok(None), "{given:?}");
    }
}

#[test]
fn groups_or_extras_alone_are_a_bad_request() {
    let cases = [
        (
            ("group", "x"),
            r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"x"}, Extra:map[string][]string(nil)} without impersonating a user name"#,
        ),
        (
            ("extra-a", "x"),
            r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"a":[]string{"x"}}} without impersonating a user name"#,
        ),
        (
            ("uid", "1"),
            r#"requested &user.DefaultInfo{Name:"", UID:"1", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name"#,
        ),
    ];
    for (given, expected) in cases {
        let refused = as_master(&[given]);
        assert_eq!(refused, Err(Refusal::BadRequest(expected.to_owned())));
    }
}

#[test]
fn a_master_may_be_anyone_even_a_master() {
    let user = as_master(&[("user", "bob"), ("group", MASTERS)]).unwrap().unwrap();
    assert_eq!(user.groups, [MASTERS, "system:authenticated"]);
}

#[test]
fn the_reason_of_a_refusal_is_shown() {
    let bob = User { name: "bob".to_owned(), ..User::default() };
    let may = |_: &User, _: &Attributes<'_>| Decision {
        allowed: false,
        reason: "RBAC: clusterrole.rbac.authorization.k8s.io \"x\" not found".to_owned(),
    };
    let refused = impersonate(&bob, &headers(&[("user", "al")]), &LIST_PODS, may);
    let Err(Refusal::Forbidden { message, .. }) = refused else { panic!("{refused:?}") };
    let end =
        r#"in the namespace "default": RBAC: clusterrole.rbac.authorization.k8s.io "x" not found"#;
    assert!(message.ends_with(end), "{message}");
}

/// The answer to a case, in the form of the recording.
fn answered(recorded: &recorded::Recorded, case: &Value) -> Result<Option<User>, Refusal> {
    let or = |name: &str, default: &'static str| {
        case.get(name).map_or(default.to_owned(), |given| given.as_str().unwrap().to_owned())
    };
    let given = list(case, &["headers"]).iter();
    let given: Vec<(&str, &str)> =
        given.map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap())).collect();
    let path = or("path", "/api/v1/namespaces/rv/pods");
    let request = http::Request::builder().method(or("method", "GET").as_str()).uri(path);
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let info = RequestInfo::new(&parts.method, &parts.uri);
    let attributes = info.attributes();
    let user = recorded.user(text(case, &["user"]));
    impersonate(user, &headers(&given), &attributes, |user, attributes| {
        recorded.may(user, attributes)
    })
}

fn differs(case: &Value, answer: &Result<Option<User>, Refusal>) -> bool {
    match answer {
        Ok(None) => !case["allowed"].is_null(),
        Ok(Some(user)) => {
            case["allowed"] != json!(true)
                || case.get("became").is_some_and(|became| *became != user_info(user))
        }
        Err(Refusal::BadRequest(message)) => {
            case["status"] != json!(400) || case["message"] != json!(message)
        }
        Err(Refusal::Forbidden { message, group, resource, name }) => {
            let details = [("group", group), ("kind", resource), ("name", name)];
            let details = details.into_iter().filter(|(_, value)| !value.is_empty());
            let details: Value =
                details.map(|(key, value)| (key.to_owned(), json!(value))).collect();
            case["status"] != json!(403)
                || case["message"] != json!(message)
                || case["details"] != details
        }
    }
}

#[test]
fn impersonation_is_allowed_and_refused_as_by_kubernetes() {
    let (recorded, cases) = recorded::read(include_str!("recorded.jsonl"));
    let mut wrong = Vec::new();
    for case in &cases {
        let answer = answered(&recorded, case);
        if differs(case, &answer) {
            wrong.push(format!("{case}\n  is answered {answer:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases.len() > 1000);
}
