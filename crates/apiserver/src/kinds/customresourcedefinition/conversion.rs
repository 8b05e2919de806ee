//! How objects are converted between versions. Kubernetes knows `None` and `Webhook`; this server
//! calls no webhooks, so that the latter is an error here even if it is correct.
//!
//! Paths are those of the internal version: `spec.conversion.webhookClientConfig`. Sources:
//! `validateCustomResourceConversion`, and `pkg/util/webhook/validation.go` of the generic server.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::url;
use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        names::{dns1035_label, dns1123_subdomain, port_number},
        read::{at, list, number, text},
    },
};

const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

/// The errors of a conversion. `is_recognized` requires one version of reviews to be known.
pub(super) fn validate(conversion: &Value, path: &Path, is_recognized: bool) -> Errors {
    if conversion.is_null() {
        return Errors::new();
    }
    let mut errors = Errors::new();
    let config = at(conversion, &["webhook", "clientConfig"]);
    let config_path = path.child("webhookClientConfig");
    let versions = list(conversion, &["webhook", "conversionReviewVersions"]);
    let versions_path = path.child("conversionReviewVersions");
    let strategy = path.child("strategy");
    match text(conversion, &["strategy"]) {
        "Webhook" => {
            errors.extend(client_config(config, &config_path));
            errors.extend(reviews(versions, &versions_path, is_recognized));
            if errors.is_empty() {
                let words = "this server does not call conversion webhooks; use None, which changes only the apiVersion of objects";
                errors.push(FieldError::invalid(strategy, &json!("Webhook"), words));
            }
            return errors;
        }
        "None" => {}
        "" => errors.push(FieldError::required(strategy, "")),
        other => {
            let known = ["None", "Webhook"];
            errors.push(FieldError::not_supported(strategy, &json!(other), &known));
        }
    }
    let words = "should not be set when strategy is not set to Webhook";
    if !config.is_null() {
        errors.push(FieldError::forbidden(config_path, words));
    }
    if !versions.is_empty() {
        errors.push(FieldError::forbidden(versions_path, words));
    }
    errors
}

/// Whether an update must name a version of reviews that is known.
pub(super) fn requires_known_reviews(old: &Value) -> bool {
    let versions = list(old, &["spec", "conversion", "webhook", "conversionReviewVersions"]);
    versions.is_empty() || versions.iter().any(is_known)
}

fn is_known(version: &Value) -> bool {
    version.as_str().is_some_and(|version| REVIEWS.contains(&version))
}

fn reviews(versions: &[Value], path: &Path, is_recognized: bool) -> Errors {
    if versions.is_empty() {
        return vec![FieldError::required(path.clone(), "")];
    }
    let mut errors = Errors::new();
    let mut seen = BTreeSet::new();
    for (i, version) in versions.iter().enumerate() {
        let invalid = |words: String| FieldError::invalid(path.index(i), version, words);
        let name = version.as_str().unwrap_or_default();
        if seen.insert(name) {
            errors.extend(dns1035_label(name).into_iter().map(invalid));
        } else {
            errors.push(invalid("duplicate version".to_owned()));
        }
    }
    if is_recognized && !versions.iter().any(is_known) {
        let words = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.push(FieldError::invalid(path.clone(), &json!(versions), words));
    }
    errors
}

fn client_config(config: &Value, path: &Path) -> Errors {
    if config.is_null() {
        let words = "required when strategy is set to Webhook";
        return vec![FieldError::required(path.clone(), words)];
    }
    match (at(config, &["url"]), at(config, &["service"])) {
        (Value::String(url), Value::Null) => webhook_url(url, &path.child("url")),
        (Value::Null, service) if service.is_object() => {
            webhook_service(service, &path.child("service"))
        }
        _ => {
            let words = "exactly one of url or service is required";
            vec![FieldError::required(path.clone(), words)]
        }
    }
}

fn webhook_url(given: &str, path: &Path) -> Errors {
    const FORM: &str = "; desired format: https://host[/path]";
    let Some(url) = url::parse(given) else {
        return vec![FieldError::required(path.clone(), format!("url must be a valid URL{FORM}"))];
    };
    let mut errors = Errors::new();
    let mut invalid = |is_wrong: bool, value: &str, words: String| {
        if is_wrong {
            errors.push(FieldError::invalid(path.clone(), &json!(value), words));
        }
    };
    let https = format!("'https' is the only allowed URL scheme{FORM}");
    invalid(url.scheme != "https", url.scheme, https);
    invalid(url.host.is_empty(), "", format!("host must be specified{FORM}"));
    let user = url.user.unwrap_or_default();
    let words = "user information is not permitted in the URL".to_owned();
    invalid(url.user.is_some(), user, words);
    let words = "fragments are not permitted in the URL".to_owned();
    invalid(!url.fragment.is_empty(), url.fragment, words);
    let words = "query parameters are not permitted in the URL".to_owned();
    invalid(!url.query.is_empty(), url.query, words);
    errors
}

fn webhook_service(service: &Value, path: &Path) -> Errors {
    let mut errors = Errors::new();
    // Kubernetes passes the two in the wrong order: a missing name is reported as a namespace.
    for (shown, name) in [("name", "namespace"), ("namespace", "name")] {
        if text(service, &[name]).is_empty() {
            errors.push(FieldError::required(path.child(shown), ""));
        }
    }
    let port = number(service, &["port"]).unwrap_or_default();
    let wrong = port_number(port);
    if !wrong.is_empty() {
        let words = format!("port is not valid: {}", wrong.join(", "));
        errors.push(FieldError::invalid(path.child("port"), &json!(port), words));
    }
    errors.extend(webhook_path(text(service, &["path"]), &path.child("path")));
    errors
}

fn webhook_path(given: &str, path: &Path) -> Errors {
    let invalid = |words: String| FieldError::invalid(path.clone(), &json!(given), words);
    match given {
        "" | "/" => return Errors::new(),
        "//" => return vec![invalid("segment[0] may not be empty".to_owned())],
        _ => {}
    }
    let mut errors = Errors::new();
    if !given.starts_with('/') {
        errors.push(invalid("must start with a '/'".to_owned()));
    }
    let mut steps = given.chars();
    steps.next();
    let steps = steps.as_str();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (i, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            errors.push(invalid(format!("segment[{i}] may not be empty")));
            continue;
        }
        let wrong = dns1123_subdomain(step).into_iter();
        errors.extend(wrong.map(|words| invalid(format!("segment[{i}]: {words}"))));
    }
    errors
}
