//! Actions as requests of the API.

use evenkeel_k8s::convert;
use evenkeel_model::{ServiceKey, Topology, Version};
use jiff::Timestamp;
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{
    Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    core::{
        params::GetParams,
        request::{Error, Request as Path},
    },
};
use serde_json::Value;

use crate::{ask::Built, engine::Action};

/// Under this name the API server keeps which fields are ours.
const FIELD_MANAGER: &str = "evenkeel-controller";

/// What kind of action a request is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Create,
    Update,
    Relabel,
    Delete,
    Read,
    Conditions,
}

/// All that is needed to send it, and none of it the engine's any more. The body is made into
/// bytes by [`Request::build`], away from the task that owns the engine.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) verb: Verb,
    /// Of the collection.
    path: String,
    /// Empty for a create.
    name: String,
    body: Body,
}

#[derive(Debug)]
enum Body {
    None,
    Slice(Box<EndpointSlice>),
    Patch(Value),
    Preconditions(Preconditions),
}

// === impl Verb ===

impl Verb {
    pub(crate) fn of(action: &Action) -> Verb {
        match action {
            Action::Create { .. } => Verb::Create,
            Action::Update { .. } => Verb::Update,
            Action::Relabel { .. } => Verb::Relabel,
            Action::Delete { .. } => Verb::Delete,
            Action::Read { .. } => Verb::Read,
            Action::Conditions { .. } => Verb::Conditions,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Relabel => "relabel",
            Verb::Delete => "delete",
            Verb::Read => "read",
            Verb::Conditions => "conditions",
        }
    }
}

// === impl Request ===

impl Request {
    pub(super) fn new(
        service: &ServiceKey,
        action: &Action,
        topology: &Topology,
        now: Timestamp,
    ) -> Request {
        let namespace = &*service.namespace;
        let (name, body) = match action {
            Action::Create { slice, trigger } => {
                let slice = convert::new_slice(slice, topology, namespace, *trigger);
                ("", Body::Slice(Box::new(slice)))
            }
            Action::Update { slice, version, gone, trigger } => {
                let patch = convert::slice_patch(slice, topology, version, gone, *trigger);
                (&*slice.name, Body::Patch(patch))
            }
            Action::Relabel { name, version, manager } => {
                (&**name, Body::Patch(convert::relabel_patch(version, manager)))
            }
            Action::Delete { name, version } => {
                (&**name, Body::Preconditions(preconditions(version)))
            }
            Action::Read { name } => (&**name, Body::None),
            Action::Conditions { uid, set, remove } => {
                let patch = convert::conditions_patch(uid, set, remove, &seconds(now));
                (&*service.name, Body::Patch(patch))
            }
        };
        let path = match action {
            Action::Conditions { .. } => Service::url_path(&(), Some(namespace)),
            _ => EndpointSlice::url_path(&(), Some(namespace)),
        };
        Request { verb: Verb::of(action), path, name: name.to_owned(), body }
    }

    pub(super) fn build(self) -> Built {
        let Request { verb, path, name, body } = self;
        let path = Path::new(path);
        let params =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..<_>::default() };
        match body {
            Body::None => path.get(&name, &GetParams::default()),
            Body::Slice(slice) => {
                let field_manager = Some(FIELD_MANAGER.to_owned());
                let params = PostParams { field_manager, ..PostParams::default() };
                let body = serde_json::to_vec(&slice).map_err(Error::SerializeBody)?;
                path.create(&params, body)
            }
            Body::Patch(patch) if verb == Verb::Conditions => {
                path.patch_subresource("status", &name, &params, &Patch::Strategic(patch))
            }
            Body::Patch(patch) => path.patch(&name, &params, &Patch::Merge(patch)),
            Body::Preconditions(preconditions) => {
                path.delete(&name, &DeleteParams::default().preconditions(preconditions))
            }
        }
    }
}

fn preconditions(version: &Version) -> Preconditions {
    Preconditions {
        uid: Some(version.uid.as_ref().to_owned()),
        resource_version: Some(version.resource_version.as_ref().to_owned()),
    }
}

/// Conditions carry whole seconds, those that have passed.
fn seconds(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version() -> Version {
        Version { uid: "u".into(), resource_version: "7".into(), generation: 1 }
    }

    fn check(action: &Action, method: &str, uri: &str, content: Option<&str>, body: &str) {
        let service = ServiceKey::new("shop", "web");
        let now: Timestamp = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let request = Request::new(&service, action, &Topology::default(), now);
        let request = request.build().unwrap();
        assert_eq!((request.method().as_str(), request.uri().to_string().as_str()), (method, uri));
        let header = request.headers().get(http::header::CONTENT_TYPE);
        assert_eq!(header.map(|value| value.to_str().unwrap()), content, "{uri}");
        let text = std::str::from_utf8(request.body()).unwrap();
        assert!(text.contains(body), "{body} is not in {text}");
    }

    #[test]
    fn actions_are_requests_of_the_api() {
        let slices = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices";
        let manager = "&fieldManager=evenkeel-controller";
        let merge = Some("application/merge-patch+json");
        let relabel =
            Action::Relabel { name: "s".into(), version: version(), manager: "them".into() };
        let uri = format!("{slices}/s?{manager}");
        check(&relabel, "PATCH", &uri, merge, r#""resourceVersion":"7""#);
        let delete = Action::Delete { name: "s".into(), version: version() };
        let body = r#""preconditions":{"resourceVersion":"7","uid":"u"}"#;
        let json = Some("application/json");
        check(&delete, "DELETE", &format!("{slices}/s?"), json, body);
        let read = Action::Read { name: "s".into() };
        check(&read, "GET", &format!("{slices}/s"), None, "");
        let conditions = Action::Conditions { uid: "u".into(), set: vec![], remove: vec![] };
        let uri = format!("/api/v1/namespaces/shop/services/web/status?{manager}");
        let strategic = Some("application/strategic-merge-patch+json");
        check(&conditions, "PATCH", &uri, strategic, r#""uid":"u""#);
    }

    #[test]
    fn conditions_are_of_whole_seconds() {
        assert_eq!(seconds("2026-01-02T03:04:05.678Z".parse().unwrap()), "2026-01-02T03:04:05Z");
    }

    #[test]
    fn a_name_that_is_none_is_no_request() {
        let read = Action::Read { name: "".into() };
        let service = ServiceKey::new("shop", "web");
        let request = Request::new(&service, &read, &Topology::default(), Timestamp::UNIX_EPOCH);
        assert!(request.build().is_err());
    }
}
