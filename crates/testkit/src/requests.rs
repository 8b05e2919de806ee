//! Requests to an API server as authorization sees them, for tests that compare them with roles.

/// A verb, and `group/resource` or `group/resource/subresource`.
pub type Asked = (String, String);

/// What a request asks for. Panics at paths that are not of resources.
pub fn asked(method: &str, path: &str, query: Option<&str>) -> Asked {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (group, rest) = match parts[..] {
        ["api", "v1", ref rest @ ..] => ("", rest),
        ["apis", group, _, ref rest @ ..] => (group, rest),
        _ => panic!("{path}"),
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    let resource = match rest {
        [resource] | [resource, _] => format!("{group}/{resource}"),
        [resource, _, subresource] => format!("{group}/{resource}/{subresource}"),
        _ => panic!("{path}"),
    };
    let watches = query.is_some_and(|query| query.contains("watch=true"));
    let verb = match (method, rest.len()) {
        ("GET", 1) if watches => "watch",
        ("GET", 1) => "list",
        ("GET", _) => "get",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", 2..) => "delete",
        _ => panic!("{method} {path}"),
    };
    (verb.to_owned(), resource)
}
