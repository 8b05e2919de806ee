use proptest::prelude::*;

use super::{query::FieldValidation, *};

/// `GROUP RESOURCE NAMESPACE/NAME SUBRESOURCE`, or the code of the failure with `t` for text.
fn shown(path: &str) -> String {
    match target(path) {
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

proptest! {
    #[test]
    fn no_path_or_query_panics(path in "(/|[a-z.%0-9]|/api/v1|namespaces|watch|\\.\\.|%2e){0,30}", query in "[a-z=&%+0-9]{0,40}") {
        let _ = target(&path);
        if let Ok(uri) = format!("{path}?{query}").parse::<http::Uri>() {
            let (parts, ()) = http::Request::get(uri).body(()).unwrap().into_parts();
            let _ = info::RequestInfo::of(&parts).attributes();
        }
        let query = Query::parse(&query);
        let _ = timeout::asked(&query);
        let _ = (query.number("limit"), query.write_options("X"), query.flag("a"));
    }
}
