use proptest::prelude::*;

use super::{query::FieldValidation, *};
use crate::identity::{Attributes, On};

/// `GROUP RESOURCE NAMESPACE/NAME SUBRESOURCE`, or the code of the failure with `t` for text.
fn shown(path: &str) -> String {
    match target(&Catalogue::default(), path) {
        Ok(Target::Resource(Resource { kind, namespace, name, subresource, watch })) => {
            let namespace = namespace.unwrap_or_else(|| "-".into());
            let watch = if watch { " watch" } else { "" };
            format!("{} {} {namespace}/{name} {subresource}{watch}", kind.group, kind.plural)
        }
        Ok(other) => format!("{other:?}"),
        Err(failure) => format!("{}{}", failure.code, if failure.plain { "t" } else { "" }),
    }
}

#[test]
fn paths_name_what_kubernetes_says_they_name() {
    for (path, expected) in [
        ("/", "Root"),
        ("/version", "Version"),
        ("/version/", "Version"),
        ("/api", "Discovery(Core)"),
        ("/apis/", "Discovery(Groups)"),
        ("/apis/apps", "Discovery(Group(\"apps\"))"),
        ("/api/v1", "Discovery(Version(\"\", \"v1\"))"),
        ("/healthz/ping", "Health(\"/healthz/ping\")"),
        ("/healthzz", "404t"),
        ("/api/v1/pods", " pods -/ "),
        ("/api/v1/namespaces/a/pods/", " pods a/ "),
        ("/api/v1/namespaces/a/pods/p", " pods a/p "),
        ("/api/v1/namespaces/a/pods/p/status", " pods a/p status"),
        ("/api/v1/namespaces/a/pods/%70", " pods a/p "),
        ("/api/v1/namespaces/a/pods/p%2Fstatus", " pods a/p status"),
        ("/api/v1/namespaces/a/pods/p%2Fother", "404"),
        ("/api/v1/namespaces/a/pods/%2e%2e", "404"),
        ("/api/v1/namespaces", " namespaces -/ "),
        ("/api/v1/namespaces/a", " namespaces -/a "),
        ("/api/v1/namespaces/a/finalize", " namespaces -/a finalize"),
        ("/api/v1/nodes/n/status", " nodes -/n status"),
        ("/api/v1/watch/namespaces/a/pods/p", " pods a/p  watch"),
        ("/api/v1/watch/nodes", " nodes -/  watch"),
        ("/api/v1/watch/namespaces/a", " namespaces -/a  watch"),
        ("/api/v1/watch/namespaces/a/status", "404"),
        ("/api/v1/watch/namespaces/a/finalize", "404"),
        ("/api/v1/watch/namespaces/a/bindings", "404"),
        ("/apis/authentication.k8s.io/v1/watch/tokenreviews", "404"),
        ("/apis/apps/v1/namespaces/a/deployments/d/scale", "apps deployments a/d scale"),
        ("/api/v1/namespaces/a/pods/%70", " pods a/p "),
        // Unknown resources of known groups are a Status, unknown groups plain text.
        ("/api/v1/namespaces/a/gadgets", "404"),
        ("/api/v1/pods/p", "404"),
        ("/api/v1/namespaces/a/nodes", "404"),
        ("/api/v2/pods", "404"),
        ("/apis/apps/v9/deployments", "404"),
        ("/apis/apps/v1/namespaces/a", "404"),
        ("/apis/nope.example.com/v1/things", "404t"),
        ("/nope", "404t"),
        ("/apis//v1/pods", "404t"),
        ("/apis//", "404t"),
        // Paths are not cleaned.
        ("//api/v1/pods", "404t"),
        ("/api//v1/pods", "404"),
        ("/api/v1//pods", "404"),
        ("/api/v1/namespaces/../pods", "404"),
        ("/api/v1/./pods", "404"),
        ("/api/v1/namespaces/a/pods/p/nosub", "404"),
        ("/api/v1/nodes/x/y/z/w", "404"),
        ("/api/v1/namespaces/a/pods/%ff", "404"),
    ] {
        assert_eq!(shown(path), expected, "{path}");
    }
}

#[test]
fn a_query_is_parsed_like_go() {
    let query = Query::parse("watch=1&limit=x&labelSelector=a%3Db%2Cc&q=a+b&off=False&dryRun=All");
    assert!(query.flag("watch") && !query.flag("off") && !query.flag("absent"));
    let empty = Query::parse("watch&limit=");
    assert!(empty.flag("watch"), "only `0` and `false` are false");
    let failure = empty.number("limit").unwrap_err();
    assert_eq!(failure.message(), "strconv.ParseInt: parsing \"\": invalid syntax");
    assert_eq!(query.text("labelSelector"), "a=b,c");
    assert_eq!(query.text("q"), "a b");
    let failure = query.number("limit").unwrap_err();
    assert_eq!(failure.message(), "strconv.ParseInt: parsing \"x\": invalid syntax");
    let options = query.write_options("CreateOptions").unwrap();
    assert!(options.dry_run && options.field_validation == FieldValidation::Warn);
    for wrong in ["dryRun=Some", "fieldValidation=Maybe", "fieldManager=%07"] {
        assert_eq!(Query::parse(wrong).write_options("CreateOptions").unwrap_err().code, 422);
    }
}

/// The verb of a resource request as its verb is dispatched, or nothing if no verb takes it.
fn executed(method: &http::Method, resource: &Resource, query: &Query<'_>) -> &'static str {
    use http::Method;
    let (collection, whole) = (resource.name.is_empty(), resource.subresource.is_empty());
    match (method, collection) {
        (&Method::GET, _) if resource.watch && whole => "watch",
        (_, _) if resource.watch && whole => "",
        (&Method::GET, true) if query.flag("watch") => "watch",
        (&Method::GET, true) => "list",
        (&Method::GET, false) => "get",
        (&Method::POST, _) if collection || !whole => "create",
        (&Method::PUT, false) => "update",
        (&Method::PATCH, false) => "patch",
        (&Method::DELETE, true) => "deletecollection",
        (&Method::DELETE, false) if whole => "delete",
        _ => "",
    }
}

/// A segment of a path: words that mean something, spelt in several ways.
fn segment() -> impl Strategy<Value = String> {
    let words: Vec<&str> = crate::kinds::KINDS
        .iter()
        .flat_map(|kind| [&*kind.plural, &*kind.group])
        .chain(REVIEWS.iter().map(|review| review.2))
        .chain(["api", "apis", "v1", "watch", "proxy", "namespaces", "status", "finalize", "scale"])
        .chain(["token", "binding", "eviction", "log", "a", "", ".", "..", "%2F", "%2e", "a%2Fb"])
        .collect();
    (prop::sample::select(words), 0..4).prop_map(|(word, escaped)| match (escaped, word) {
        (0, "") => "%2f".to_owned(),
        (0, word) if !word.contains('%') => {
            let first = word.as_bytes()[0];
            format!("%{first:02x}{}", &word[1..])
        }
        (_, word) => word.to_owned(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    // What is authorized is what is done: the same verb on the same object.
    #[test]
    fn what_is_dispatched_is_what_is_authorized(
        root in prop::sample::select(vec!["/api/v1", "/apis/apps/v1", "/apis", "//api/v1", "/api",
            "/apis/rbac.authorization.k8s.io/v1", "/apis/events.k8s.io/v1", "/api/v1/namespaces/a",
            "/api/v1/watch", "/api/v1/watch/namespaces/a", "/api/v1/proxy", "/apis//v1"]),
        segments in prop::collection::vec(segment(), 0..5),
        method in prop::sample::select(
            vec!["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "LIST", "*"]),
        query in prop::sample::select(vec!["", "watch=1", "watch", "watch=0&watch=1", "watch=false",
            "fieldSelector=metadata.name%3Da", "fieldSelector=x!%3D%5C,metadata.name%3Da"]),
    ) {
        let path = [root, &segments.join("/")].join("/");
        let request = http::Request::builder().method(method).uri(format!("{path}?{query}"));
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let asked = info::RequestInfo::new(&parts.method, &parts.uri);
        let Attributes { verb, on, .. } = asked.attributes();
        match target(&Catalogue::default(), parts.uri.path()) {
            Ok(Target::Resource(to)) => {
                let executed = executed(&parts.method, &to, &asked.query);
                let name = if query.contains("%3Da") && verb == "list" { "" } else { &*to.name };
                let On::Resource { group, resource, subresource, namespace, name: given } = on else {
                    panic!("{path} is a resource");
                };
                prop_assert!(executed.is_empty() || executed == verb, "{executed} {verb}");
                prop_assert_eq!([group, resource, subresource],
                    [&*to.kind.group, &*to.kind.plural, &*to.subresource]);
                prop_assert!(given == name || verb == "list" || verb == "watch", "{given} {name}");
                let own = if to.kind.plural == "namespaces" { to.name.clone() } else { String::new() };
                prop_assert_eq!(namespace, to.namespace.unwrap_or(own));
            }
            Ok(Target::Review { group, plural, namespace }) => {
                let On::Resource { group: asked, resource, subresource, namespace: place, .. } = on
                else {
                    panic!("{path} is a resource");
                };
                prop_assert_eq!((asked, resource, subresource), (group, plural, ""));
                prop_assert_eq!(place, namespace.unwrap_or_default());
                prop_assert!(parts.method != http::Method::POST || verb == "create", "{verb}");
            }
            Ok(_) => prop_assert!(matches!(on, On::Path(_)), "{path} is a document"),
            Err(_) => {}
        }
    }

    #[test]
    fn no_path_or_query_panics(path in "(/|[a-z.%0-9]|/api/v1|namespaces|watch|\\.\\.|%2e){0,30}", query in "[a-z=&%+0-9]{0,40}") {
        let _ = target(&Catalogue::default(), &path);
        if let Ok(uri) = format!("{path}?{query}").parse::<http::Uri>() {
            let (parts, ()) = http::Request::get(uri).body(()).unwrap().into_parts();
            let _ = info::RequestInfo::new(&parts.method, &parts.uri).attributes();
        }
        let query = Query::parse(&query);
        let _ = timeout::asked(&query);
        let _ = (query.number("limit"), query.write_options("X"), query.flag("a"));
    }
}
