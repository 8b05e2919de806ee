//! MeshHealthCheck: requests that a client sends to find out about health.

use std::{sync::Arc, time::Duration};

use evenkeel_model::mesh::{HealthCheck, HealthCheckKind, MeshProtocol};
use serde_json::Value;

use super::scalar::{base64, duration, percent};
use crate::{Errors, FieldPath, decode::Fields};

/// What is in force, after merging.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthCheckConf {
    interval: Option<Duration>,
    timeout: Option<Duration>,
    unhealthy_threshold: Option<u32>,
    healthy_threshold: Option<u32>,
    initial_jitter: Option<Duration>,
    interval_jitter: Option<Duration>,
    interval_jitter_percent: Option<u32>,
    no_traffic_interval: Option<Duration>,
    reuse_connection: Option<bool>,
    always_log_failures: Option<bool>,
    pub healthy_panic_threshold: Option<u8>,
    tcp: Option<Protocol>,
    http: Option<Protocol>,
    grpc: Option<Protocol>,
}

/// How one protocol is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Protocol {
    is_disabled: bool,
    kind: HealthCheckKind,
}

const FIELDS: [&str; 16] = [
    "interval",
    "timeout",
    "unhealthyThreshold",
    "healthyThreshold",
    "initialJitter",
    "intervalJitter",
    "intervalJitterPercent",
    "noTrafficInterval",
    "reuseConnection",
    "alwaysLogHealthCheckFailures",
    "healthyPanicThreshold",
    "failTrafficOnPanic",
    "eventLogPath",
    "tcp",
    "http",
    "grpc",
];

impl HealthCheckConf {
    pub(crate) fn decode(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Self> {
        let fields = Fields::of(value, path, &FIELDS, errors)?;
        for name in ["failTrafficOnPanic", "eventLogPath"] {
            if fields.get(name).is_some() {
                errors.push(&fields.path.field(name), "is not supported");
            }
        }
        Some(HealthCheckConf {
            interval: positive(&fields, "interval", errors),
            timeout: positive(&fields, "timeout", errors),
            unhealthy_threshold: fields.number("unhealthyThreshold", errors),
            healthy_threshold: fields.number("healthyThreshold", errors),
            initial_jitter: duration(&fields, "initialJitter", errors),
            interval_jitter: duration(&fields, "intervalJitter", errors),
            interval_jitter_percent: fields.number("intervalJitterPercent", errors),
            no_traffic_interval: positive(&fields, "noTrafficInterval", errors),
            reuse_connection: fields.flag("reuseConnection", errors),
            always_log_failures: fields.flag("alwaysLogHealthCheckFailures", errors),
            healthy_panic_threshold: percent(&fields, "healthyPanicThreshold", errors),
            tcp: fields.nested("tcp", errors, decode_tcp),
            http: fields.nested("http", errors, decode_http),
            grpc: fields.nested("grpc", errors, decode_grpc),
        })
    }

    /// The check of a destination: that of its protocol, or else the one of connections.
    pub fn for_protocol(&self, protocol: MeshProtocol) -> Option<HealthCheck> {
        let by_protocol = match protocol {
            MeshProtocol::Http | MeshProtocol::Http2 => self.http.as_ref(),
            MeshProtocol::Grpc => self.grpc.as_ref(),
            MeshProtocol::Tcp => None,
        };
        let is_enabled = |check: &&Protocol| !check.is_disabled;
        let check = by_protocol.filter(is_enabled).or(self.tcp.as_ref().filter(is_enabled))?;
        Some(HealthCheck {
            kind: check.kind.clone(),
            // Kuma's defaults.
            interval: self.interval.unwrap_or(Duration::from_mins(1)),
            timeout: self.timeout.unwrap_or(Duration::from_secs(15)),
            unhealthy_threshold: self.unhealthy_threshold.unwrap_or(5),
            healthy_threshold: self.healthy_threshold.unwrap_or(1),
            initial_jitter: self.initial_jitter,
            interval_jitter: self.interval_jitter,
            interval_jitter_percent: self.interval_jitter_percent,
            no_traffic_interval: self.no_traffic_interval,
            reuse_connection: self.reuse_connection.unwrap_or(true),
            always_log_failures: self.always_log_failures.unwrap_or(false),
        })
    }
}

/// Envoy refuses zero.
fn positive(fields: &Fields<'_, '_>, name: &str, errors: &mut Errors) -> Option<Duration> {
    let value = duration(fields, name, errors)?;
    if value.is_zero() {
        errors.push(&fields.path.field(name), "must be greater than 0");
    }
    Some(value)
}

fn decode_tcp(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Protocol> {
    let fields = Fields::of(value, path, &["disabled", "send", "receive"], errors)?;
    let send = fields.nested("send", errors, decode_bytes);
    let receive = fields.list("receive", errors, decode_bytes).unwrap_or_default();
    let kind = HealthCheckKind::Tcp { send, receive };
    Some(Protocol { is_disabled: fields.flag("disabled", errors).unwrap_or(false), kind })
}

fn decode_bytes(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Arc<[u8]>> {
    let text = crate::decode::text(value, &path, errors)?;
    let bytes = base64(&text);
    if bytes.is_none() {
        errors.push(&path, "must be in base64");
    }
    bytes
}

fn decode_http(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Protocol> {
    const KNOWN: [&str; 4] = ["disabled", "path", "requestHeadersToAdd", "expectedStatuses"];
    let fields = Fields::of(value, path, &KNOWN, errors)?;
    let path = fields.text("path", errors).unwrap_or_else(|| "/".into());
    if !path.starts_with('/') {
        errors.push(&fields.path.field("path"), "must be an absolute path");
    }
    let expected_statuses = fields.list("expectedStatuses", errors, decode_status);
    let kind = HealthCheckKind::Http {
        path,
        expected_statuses: expected_statuses.unwrap_or_default(),
        request_headers: fields
            .nested("requestHeadersToAdd", errors, decode_headers)
            .unwrap_or_default(),
    };
    Some(Protocol { is_disabled: fields.flag("disabled", errors).unwrap_or(false), kind })
}

fn decode_status(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<u16> {
    let status = value.as_u64().and_then(|status| u16::try_from(status).ok());
    let status = status.filter(|status| (100..600).contains(status));
    if status.is_none() {
        errors.push(&path, "must be in inclusive range [100, 599]");
    }
    status
}

type Headers = Vec<(Arc<str>, Arc<str>)>;

fn decode_headers(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Headers> {
    let fields = Fields::of(value, path, &["add", "set"], errors)?;
    let header = |value: &Value, path: FieldPath<'_>, errors: &mut Errors| {
        let fields = Fields::of(value, path, &["name", "value"], errors)?;
        Some((fields.text("name", errors)?, fields.text("value", errors)?))
    };
    if fields.get("set").is_some() {
        errors.push(&fields.path.field("set"), "is not supported: use add");
    }
    fields.list("add", errors, header)
}

fn decode_grpc(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Protocol> {
    let fields = Fields::of(value, path, &["disabled", "serviceName", "authority"], errors)?;
    let text = |name, errors: &mut Errors| fields.text(name, errors).unwrap_or_default();
    let kind = HealthCheckKind::Grpc {
        service_name: text("serviceName", errors),
        authority: text("authority", errors),
    };
    Some(Protocol { is_disabled: fields.flag("disabled", errors).unwrap_or(false), kind })
}
