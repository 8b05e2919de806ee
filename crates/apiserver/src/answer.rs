//! Responses: objects, lists and statuses in the requested format.

mod indent;
mod list;

use axum::{body::Body, response::Response};
use evenkeel_store::{Object, Page, Revision};
use http::{HeaderName, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    body, document,
    kinds::{
        Kind, KindRef,
        read::{remove, text},
    },
    negotiate::{Media, ResponseFormat, Shape},
    protobuf,
    serve::LongRunning,
    settings::Features,
    status::Failure,
    table::{self, IncludeObject},
    warnings::Warnings,
};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A response in progress, with its warnings.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) content_type: HeaderValue,
    pub(crate) body: Body,
    pub(crate) warnings: Vec<String>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The response has no end of its own.
    pub(crate) long_running: bool,
    /// A part of the body is encoded when the client reads it.
    pub(crate) encodes_while_sent: bool,
    /// A response that needs no further encoding.
    whole: Option<Response>,
}

/// How to render objects: the format, and what a table includes of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) format: ResponseFormat,
    pub(crate) include: IncludeObject,
    pub(crate) now: Timestamp,
    pub(crate) features: Features,
}

impl View {
    /// Whether an object is shown with all stored fields, and nothing else.
    pub(crate) fn is_as_stored(self, kind: &Kind, object: &Object) -> bool {
        let shape = self.format.shape;
        shape == Shape::Object
            && kind.alias.is_none()
            && self.hidden(kind).is_empty()
            && kind.custom.as_ref().is_none_or(|custom| custom.has_written(object))
    }

    /// Whether the stored bytes can be sent unchanged.
    fn is_stored_text(self, kind: &Kind, object: &Object) -> bool {
        self.format.media == Media::Json && !self.format.pretty && self.is_as_stored(kind, object)
    }

    /// Removes fields that this server does not expose.
    pub(crate) fn hide(self, kind: &Kind, value: &mut Value) {
        for path in self.hidden(kind) {
            remove(value, path);
        }
    }

    fn hidden(self, kind: &Kind) -> &'static [&'static [&'static str]] {
        kind.strategy.hidden(self.features)
    }
}

impl Answer {
    pub(crate) fn new(code: u16, content_type: &'static str, body: impl Into<Body>) -> Answer {
        Answer {
            code: StatusCode::from_u16(code).expect("our codes are codes"),
            content_type: HeaderValue::from_static(content_type),
            body: body.into(),
            warnings: Vec::new(),
            headers: Vec::new(),
            long_running: false,
            encodes_while_sent: false,
            whole: None,
        }
    }

    pub(crate) fn whole(response: Response) -> Answer {
        let code = response.status();
        Answer { code, whole: Some(response), ..Answer::new(200, "text/plain", Body::empty()) }
    }

    pub(crate) fn text(code: u16, text: impl Into<Body>) -> Answer {
        Answer::new(code, "text/plain; charset=utf-8", text)
    }

    pub(crate) fn json(code: u16, body: impl Into<Body>) -> Answer {
        Answer { content_type: JSON, ..Answer::new(code, "", body) }
    }

    /// A value, in the format that was negotiated.
    pub(crate) fn value(code: u16, value: &Value, format: ResponseFormat) -> Answer {
        match format.media {
            Media::Protobuf => {
                let (version, kind) = (text(value, &["apiVersion"]), text(value, &["kind"]));
                Answer::protobuf(code, version, kind, value.to_string().as_bytes())
            }
            Media::Yaml => Answer::new(code, "application/yaml", yaml(value)),
            Media::Json if format.pretty => {
                let mut text = serde_json::to_vec_pretty(value).expect("a value is JSON");
                text.push(b'\n');
                Answer::json(code, text)
            }
            Media::Json => {
                let text = serde_json::to_vec(value).expect("a value is JSON");
                Answer::json(code, text)
            }
        }
    }

    /// An object in protobuf, from its JSON.
    fn protobuf(code: u16, version: &str, kind: &str, json: &[u8]) -> Answer {
        match protobuf::object(version, kind, json) {
            Ok(body) => Answer::new(code, PROTOBUF, body),
            Err(problem) => {
                let format =
                    ResponseFormat { media: Media::Json, shape: Shape::Object, pretty: false };
                Answer::failure(&Failure::cannot_marshal(&problem.to_string()), format)
            }
        }
    }

    pub(crate) fn failure(failure: &Failure, format: ResponseFormat) -> Answer {
        if failure.plain {
            let mut answer = Answer::text(failure.code, failure.message().to_owned());
            // As Go's `http.Error` does: a path must not be rendered as a page.
            let nosniff = HeaderValue::from_static("nosniff");
            answer.headers.push((header::X_CONTENT_TYPE_OPTIONS, nosniff));
            return answer.retry_after(failure);
        }
        let answer = Answer::value(failure.code, &failure.status(), format);
        answer.with_warnings(failure.warnings.to_vec()).retry_after(failure)
    }

    fn retry_after(mut self, failure: &Failure) -> Answer {
        if let Some(seconds) = failure.retry_after {
            self.headers.push((header::RETRY_AFTER, seconds.into()));
        }
        self
    }

    pub(crate) fn with_warnings(mut self, warnings: Vec<String>) -> Answer {
        self.warnings = warnings;
        self
    }

    pub(crate) fn into_response(self) -> Response {
        if let Some(mut whole) = self.whole {
            whole.headers_mut().extend(self.headers);
            return whole;
        }
        let mut response = Response::new(self.body);
        *response.status_mut() = self.code;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, self.content_type);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        let mut warnings = Warnings::default();
        warnings.extend(self.warnings);
        for value in warnings.headers() {
            if let Ok(value) = HeaderValue::try_from(value.into_bytes()) {
                headers.append(header::WARNING, value);
            }
        }
        for (name, value) in self.headers {
            headers.insert(name, value);
        }
        if self.long_running {
            response.extensions_mut().insert(LongRunning);
        }
        response
    }
}

/// A stored object.
pub(crate) fn object(code: u16, kind: &KindRef, object: &Object, view: View) -> Answer {
    if view.is_stored_text(kind, object) {
        return Answer::json(code, document::text(kind, object, object.revision));
    }
    if view.format.media == Media::Protobuf && view.is_as_stored(kind, object) {
        let json = document::text(kind, object, object.revision);
        if let Ok(body) = protobuf::object(&kind.api_version(), &kind.kind, &json) {
            return Answer::new(code, PROTOBUF, body);
        }
    }
    match document::value(kind.stored_kind(), object) {
        Ok(value) => shown(code, kind, kind.presented(value), view),
        Err(problem) => Answer::failure(&problem.into(), plain(view)),
    }
}

/// An object that is already a value, in the kind's own version.
pub(crate) fn shown(code: u16, kind: &KindRef, mut value: Value, view: View) -> Answer {
    view.hide(kind, &mut value);
    let body = match view.format.shape {
        Shape::Object => return Answer::value(code, &value, view.format),
        Shape::Table(version) => {
            let revision = value["metadata"]["resourceVersion"].clone();
            let meta = json!({"resourceVersion": revision});
            table::table(
                kind,
                std::slice::from_ref(&value),
                options(view, version),
                &meta,
                view.now,
            )
        }
        Shape::Partial(version) => table::partial(&value, version),
        Shape::PartialList(_) => return Answer::failure(&not_a_list(kind), plain(view)),
    };
    Answer::value(code, &body, view.format)
}

/// A page of a list.
pub(crate) fn list(kind: &KindRef, page: Page, continued: &str, view: View) -> Answer {
    if let Some(failure) = not_in_protobuf(kind, view) {
        return Answer::failure(&failure, plain(view));
    }
    let meta = list_meta(&page, continued);
    let (mut shell, name) = match view.format.shape {
        Shape::Table(version) => {
            (table::table(kind, &[], options(view, version), &meta, view.now), "rows")
        }
        Shape::PartialList(version) => (table::partial_list(&meta, version), "items"),
        Shape::Partial(_) => return Answer::failure(&a_list(kind), plain(view)),
        Shape::Object => {
            let (list, version) = (kind.list_kind(), kind.api_version());
            let mut meta = meta;
            if kind.custom.is_some() && continued.is_empty() {
                meta["continue"] = "".into();
            }
            (json!({"kind": list, "apiVersion": version, "metadata": meta}), "items")
        }
    };
    let shell = shell.as_object_mut().map(std::mem::take).unwrap_or_default();
    let (body, encodes_while_sent) = list::body(kind, page.items, (&shell, name), view);
    let answer = match view.format.media {
        Media::Yaml => Answer::new(200, "application/yaml", body),
        Media::Json => Answer::json(200, body),
        Media::Protobuf => Answer::new(200, PROTOBUF, body),
    };
    Answer { encodes_while_sent, ..answer }
}

/// Custom resources have no messages in protobuf; their metadata has.
fn not_in_protobuf(kind: &Kind, view: View) -> Option<Failure> {
    let whole = matches!(view.format.shape, Shape::Object);
    let is_in_vain = kind.custom.is_some() && whole && view.format.media == Media::Protobuf;
    is_in_vain.then(|| Failure::cannot_marshal(&format!("{} is a custom resource", kind.kind)))
}

/// The format of a failure: a client that accepts something other than whole objects gets JSON.
fn plain(view: View) -> ResponseFormat {
    match view.format.shape {
        Shape::Object => view.format,
        _ => ResponseFormat { media: Media::Json, shape: Shape::Object, ..view.format },
    }
}

fn a_list(kind: &KindRef) -> Failure {
    let of = internal_type(kind);
    Failure::wrong_shape(format!(
        "you requested PartialObjectMetadata, but the requested object is a list ({of}List)"
    ))
}

fn not_a_list(kind: &KindRef) -> Failure {
    Failure::not_a_list(&internal_type(kind))
}

/// Go's name for Kubernetes' internal type of this kind.
fn internal_type(kind: &KindRef) -> String {
    if kind.custom.is_some() {
        return "*unstructured.Unstructured".to_owned();
    }
    let stored = kind.stored_kind();
    format!("*{}.{}", body::internal(&stored.group), stored.kind)
}

pub(crate) fn revision_meta(revision: Revision) -> Value {
    json!({"resourceVersion": revision.to_string()})
}

pub(crate) fn options(view: View, version: &'static str) -> table::TableOptions {
    table::TableOptions { include_object: view.include, no_headers: false, version }
}

fn list_meta(page: &Page, continued: &str) -> Value {
    let mut meta = revision_meta(page.revision);
    if !continued.is_empty() {
        meta["continue"] = continued.into();
    }
    if let Some(remaining) = page.remaining {
        meta["remainingItemCount"] = remaining.into();
    }
    meta
}

fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|problem| format!("# {problem}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;

    #[test]
    fn metadata_of_a_list_or_of_one_object_is_told_apart_in_go_s_type_names() {
        for (group, plural, of) in [
            ("", "configmaps", "*core.ConfigMap"),
            ("apps", "deployments", "*apps.Deployment"),
            ("discovery.k8s.io", "endpointslices", "*discovery.EndpointSlice"),
            ("events.k8s.io", "events", "*core.Event"),
        ] {
            let kind = kinds::named(group, plural).unwrap();
            let a_list = a_list(kind);
            assert_eq!((a_list.code, internal_type(kind).as_str()), (406, of));
            assert!(a_list.message().ends_with(&format!("is a list ({of}List)")));
            assert!(not_a_list(kind).message().ends_with(&format!("is not a list ({of})")));
        }
    }
}
