//! The one place where a failure becomes protocol: a Kubernetes `Status`.

use serde_json::{Map, Value, json};

use crate::{
    document::Unreadable,
    invalid::{Errors, FieldError, aggregated, listed},
    kinds::{Kind, metadata},
    registry::Error,
};

/// A failed request, with the content of its response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) code: u16,
    /// Empty if Kubernetes gives none.
    reason: &'static str,
    message: String,
    details: Option<Map<String, Value>>,
    /// A token with which a list can continue nevertheless.
    continued: Option<Box<str>>,
    /// Also sent as the header `Retry-After`.
    pub(crate) retry_after: Option<u32>,
    /// Kubernetes answers unknown paths in plain text.
    pub(crate) plain: bool,
    /// Sent as `Warning` headers.
    pub(crate) warnings: Box<[String]>,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Failure {
        let message = message.into();
        Failure {
            code,
            reason,
            message,
            details: None,
            continued: None,
            retry_after: None,
            plain: false,
            warnings: Box::default(),
        }
    }

    fn with(mut self, details: Value) -> Failure {
        if let Value::Object(details) = details {
            self.details = Some(details);
        }
        self
    }

    pub(crate) fn with_warnings(mut self, warnings: Vec<String>) -> Failure {
        self.warnings = warnings.into();
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Failure {
        Failure::new(400, "BadRequest", message)
    }

    pub(crate) fn unauthorized() -> Failure {
        Failure::new(401, "Unauthorized", "Unauthorized")
    }

    /// `PLURAL "NAME" is forbidden: WHY`.
    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Failure {
        let message = match name {
            "" => format!("{} is forbidden: {why}", kind.resource()),
            name => format!("{} {name:?} is forbidden: {why}", kind.resource()),
        };
        Failure::new(403, "Forbidden", message).with(about(&kind.group, &kind.plural, name))
    }

    /// The same for a non-resource path, or with a message from elsewhere.
    pub(crate) fn forbidden_words(message: String, details: Value) -> Failure {
        Failure::new(403, "Forbidden", message).with(details)
    }

    /// Adds a cause to the details.
    pub(crate) fn because(mut self, cause: &Value) -> Failure {
        let details = self.details.get_or_insert_default();
        details.insert("causes".to_owned(), json!([cause]));
        self
    }

    /// A create in a namespace that is being deleted.
    fn terminating(kind: &Kind, name: &str, namespace: &str) -> Failure {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = json!({
            "reason": "NamespaceTerminating",
            "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        });
        Failure::forbidden(kind, name, &why).because(&cause)
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Failure {
        let message = format!("{} {name:?} not found", kind.resource());
        Failure::new(404, "NotFound", message).with(about(&kind.group, &kind.plural, name))
    }

    /// A resource that a known group does not have.
    pub(crate) fn unknown_resource() -> Failure {
        let message = "the server could not find the requested resource";
        Failure::new(404, "NotFound", message).with(json!({}))
    }

    /// An unknown path.
    pub(crate) fn unknown_path() -> Failure {
        Failure { plain: true, ..Failure::new(404, "NotFound", "404 page not found\n") }
    }

    pub(crate) fn method_not_allowed() -> Failure {
        let message = "the server does not allow this method on the requested resource";
        Failure::new(405, "MethodNotAllowed", message).with(json!({}))
    }

    /// A verb that a custom resource or its subresource does not have.
    pub(crate) fn not_supported(kind: &Kind, verb: &str) -> Failure {
        let message = format!("{verb} is not supported on resources of kind {:?}", kind.resource());
        Failure::new(405, "MethodNotAllowed", message).with(about(&kind.group, &kind.plural, ""))
    }

    /// If the router rejects the `Accept` header.
    pub(crate) fn not_acceptable(available: &str) -> Failure {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {available}");
        Failure::new(406, "NotAcceptable", message).with(json!({}))
    }

    /// If the encoder rejects it.
    pub(crate) fn cannot_encode(accepted: &str) -> Failure {
        let message = format!("only the following media types are accepted: {accepted}");
        Failure::new(406, "NotAcceptable", message)
    }

    /// If it has no message, or its message can't be written.
    pub(crate) fn cannot_marshal(problem: &str) -> Failure {
        let message = format!(
            "the object does not implement the protobuf marshalling interface and cannot be \
             encoded to a protobuf message: {problem}"
        );
        Failure::new(406, "NotAcceptable", message)
    }

    /// If one object was requested and a list found, or vice versa.
    pub(crate) fn wrong_shape(message: String) -> Failure {
        Failure::new(406, "NotAcceptable", message)
    }

    /// `of`: Go's name for the actual type.
    pub(crate) fn not_a_list(of: &str) -> Failure {
        let message = format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list ({of})"
        );
        Failure::wrong_shape(message)
    }

    pub(crate) fn already_exists(kind: &Kind, name: &str, dying: bool) -> Failure {
        let dying = if dying { "object is being deleted: " } else { "" };
        let message = format!("{dying}{} {name:?} already exists", kind.resource());
        Failure::new(409, "AlreadyExists", message).with(about(&kind.group, &kind.plural, name))
    }

    /// All names tried for `generateName` are taken.
    pub(crate) fn no_name_left(kind: &Kind, name: &str) -> Failure {
        let mut failure = Failure::already_exists(kind, name, false);
        failure
            .message
            .push_str(", the server was not able to generate a unique name for the object");
        failure.retry_after = Some(1);
        failure
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Failure {
        let resource = kind.resource();
        let message = format!("Operation cannot be fulfilled on {resource} {name:?}: {why}");
        Failure::new(409, "Conflict", message).with(about(&kind.group, &kind.plural, name))
    }

    /// The same about a subresource.
    pub(crate) fn conflict_on(part: &str, name: &str, why: &str) -> Failure {
        let message = format!("Operation cannot be fulfilled on {part} {name:?}: {why}");
        Failure::new(409, "Conflict", message).with(about("", part, name))
    }

    /// The same about a kind that is not stored.
    pub(crate) fn conflict_with(group: &str, kind: &str, name: &str, why: &str) -> Failure {
        let message = format!("Operation cannot be fulfilled on {kind}.{group} {name:?}: {why}");
        Failure::new(409, "Conflict", message).with(about(group, kind, name))
    }

    pub(crate) fn modified(kind: &Kind, name: &str) -> Failure {
        let why = "the object has been modified; please apply your changes to the latest version \
                   and try again";
        Failure::conflict(kind, name, why)
    }

    /// A delete whose precondition names the kind instead of the resource.
    pub(crate) fn precondition(kind: &Kind, name: &str, why: &str) -> Failure {
        // Kubernetes knows the group of custom resources here, and of no others.
        let (group, of) = match kind.custom.is_some() {
            true => (&*kind.group, format!("{}.{}", kind.kind, kind.group)),
            false => ("", kind.kind.to_string()),
        };
        let message = format!("Operation cannot be fulfilled on {of} {name:?}: {why}");
        Failure::new(409, "Conflict", message).with(about(group, &kind.kind, name))
    }

    pub(crate) fn expired(message: &str) -> Failure {
        Failure::new(410, "Expired", message)
    }

    /// A list that can continue, but not at its own revision.
    pub(crate) fn expired_token(message: &str, next: String) -> Failure {
        Failure { continued: Some(next.into()), ..Failure::expired(message) }
    }

    pub(crate) fn too_large(limit: usize) -> Failure {
        let message = format!("Request entity too large: limit is {limit}");
        Failure::new(413, "RequestEntityTooLarge", message)
    }

    pub(crate) fn too_large_words(message: impl Into<String>) -> Failure {
        Failure::new(413, "RequestEntityTooLarge", message)
    }

    /// A body in a format that no decoder accepts.
    pub(crate) fn unknown_format(accepted: &str) -> Failure {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: \
             {accepted}"
        );
        Failure::new(415, "UnsupportedMediaType", message)
    }

    /// A patch type that the router does not accept.
    pub(crate) fn unsupported_media_type() -> Failure {
        let message = "415: Unsupported Media Type";
        Failure::new(415, "UnsupportedMediaType", message).with(json!({}))
    }

    /// The code tells kubectl that this server has no server-side apply.
    pub(crate) fn no_apply() -> Failure {
        let message = "server-side apply is not supported by this server";
        Failure::new(415, "UnsupportedMediaType", message)
    }

    pub(crate) fn invalid(kind: &Kind, name: &str, errors: &Errors) -> Failure {
        Failure::invalid_as(&kind.group, &kind.kind, name, errors)
    }

    pub(crate) fn invalid_as(
        group: &str,
        kind: &str,
        name: &str,
        errors: &[FieldError],
    ) -> Failure {
        let errors = listed(errors);
        let list = aggregated(errors);
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let causes: Vec<Value> = errors
            .iter()
            .map(|e| json!({"reason": e.reason(), "message": e.message(), "field": e.path.to_string()}))
            .collect();
        let mut details = about(group, kind, name);
        details["causes"] = Value::Array(causes);
        Failure::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {list}"))
            .with(details)
    }

    /// A patch that cannot be applied.
    pub(crate) fn rejected() -> Failure {
        let message = "the server rejected our request due to an error in our request";
        Failure::new(422, "Invalid", message).with(json!({}))
    }

    /// Priority and fairness rejects the request, in plain text as in Kubernetes.
    pub(crate) fn too_many_requests(retry_after: u32) -> Failure {
        let message = "Too many requests, please try again later.\n";
        let retry_after = Some(retry_after);
        Failure { plain: true, retry_after, ..Failure::new(429, "TooManyRequests", message) }
    }

    /// A server error, or what Kubernetes reports as one.
    pub(crate) fn internal(message: impl Into<String>) -> Failure {
        Failure::new(500, "", message)
    }

    pub(crate) fn internal_error(message: &str) -> Failure {
        let cause = json!({"causes": [{"message": message}]});
        Failure::new(500, "InternalError", format!("Internal error occurred: {message}"))
            .with(cause)
    }

    /// Known to Kubernetes, not supported here.
    pub(crate) fn not_implemented(message: impl Into<String>) -> Failure {
        Failure::new(501, "NotImplemented", message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Failure {
        let mut failure = Failure::new(503, "ServiceUnavailable", message);
        failure.retry_after = Some(1);
        failure
    }

    /// The disk is full: writes are rejected, reads continue.
    pub(crate) fn no_space(message: impl Into<String>) -> Failure {
        Failure::new(507, "InsufficientStorage", message)
    }

    pub(crate) fn future_version(asked: u64, current: u64) -> Failure {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let cause =
            json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        let mut failure = Failure::new(504, "Timeout", message)
            .with(json!({"causes": [cause], "retryAfterSeconds": 1}));
        failure.retry_after = Some(1);
        failure
    }

    /// It exceeded the timeout of its client, or of the server.
    pub(crate) fn timed_out() -> Failure {
        let message = "Timeout: request did not complete within the allotted timeout";
        Failure::new(504, "Timeout", message).with(json!({}))
    }

    /// The body of the response.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if let Some(token) = &self.continued {
            status["metadata"]["continue"] = (**token).into();
        }
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone().into();
        }
        status
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl From<Unreadable> for Failure {
    fn from(problem: Unreadable) -> Failure {
        Failure::internal_error(&problem.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::NotFound { kind, name } => Failure::not_found(&kind, &name),
            Error::AlreadyExists { kind, name, terminating } => {
                Failure::already_exists(&kind, &name, terminating)
            }
            Error::NoUniqueName { kind, name } => Failure::no_name_left(&kind, &name),
            Error::Modified { kind, name } => Failure::modified(&kind, &name),
            Error::Conflict { kind, name, why } => Failure::conflict(&kind, &name, &why),
            Error::ConflictOn { part, name, why } => Failure::conflict_on(part, &name, &why),
            Error::Precondition { kind, name, why } => Failure::precondition(&kind, &name, &why),
            Error::Invalid { kind, name, errors } => Failure::invalid(&kind, &name, &errors),
            Error::VersionRequired { kind, name } => {
                let missing = metadata::missing_resource_version();
                Failure::invalid_as(&kind.group, &kind.plural, &name, &[missing])
            }
            Error::Forbidden { kind, name, why } => Failure::forbidden(&kind, &name, &why),
            Error::NamespaceTerminating { kind, name, namespace } => {
                Failure::terminating(&kind, &name, &namespace)
            }
            Error::Denied { message, details } => Failure::forbidden_words(message, details),
            Error::BadRequest(message) => Failure::bad_request(message),
            Error::Refused(message) => Failure::internal(message),
            Error::Internal(message) => Failure::internal_error(&message),
            Error::NoSpace(message) => Failure::no_space(message),
            Error::TooManyRequests { retry_after } => Failure::too_many_requests(retry_after),
            Error::ShuttingDown => Failure::unavailable("the server is shutting down"),
        }
    }
}

/// A `Status` of success.
pub(crate) fn success(kind: &Kind, name: &str, uid: &str) -> Value {
    let mut details = about(&kind.group, &kind.plural, name);
    details["uid"] = uid.into();
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": details,
    })
}

fn about(group: &str, kind: &str, name: &str) -> Value {
    let mut details = json!({});
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            details[key] = value.into();
        }
    }
    details
}
