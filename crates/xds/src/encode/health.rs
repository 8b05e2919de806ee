//! How a cluster finds out which endpoints work: `HealthCheck` and `OutlierDetection`.

use envoy_types::pb::envoy::{
    config::{
        cluster::v3::OutlierDetection as OutlierMessage,
        core::v3::{
            HeaderValue, HeaderValueOption, HealthCheck as Message,
            health_check::{
                GrpcHealthCheck, HealthChecker, HttpHealthCheck, Payload, TcpHealthCheck, payload,
            },
        },
    },
    r#type::v3::Int64Range,
};
use evenkeel_model::mesh::{HealthCheck, HealthCheckKind, OutlierDetection};
use prost::Message as _;

use crate::{
    encode::values::{duration, flag, number, positive},
    wire::put_bytes,
};

const ALWAYS: u32 = 100;

/// The number of `HealthCheck.name`, which the generated types do not know yet.
const NAME: u32 = 27;

/// The encoded messages. Envoy demands names if there are several, and older ones take one check only.
pub(super) fn health_checks(checks: &[HealthCheck]) -> Vec<Vec<u8>> {
    let mut encoded: Vec<_> = checks.iter().map(|c| health_check(c).encode_to_vec()).collect();
    if let [_, _, ..] = encoded[..] {
        for (i, body) in encoded.iter_mut().enumerate() {
            put_bytes(body, NAME, format!("check-{i}").as_bytes());
        }
    }
    encoded
}

fn health_check(check: &HealthCheck) -> Message {
    Message {
        timeout: Some(positive(check.timeout)),
        interval: Some(positive(check.interval)),
        unhealthy_threshold: Some(number(check.unhealthy_threshold)),
        healthy_threshold: Some(number(check.healthy_threshold)),
        initial_jitter: check.initial_jitter.map(duration),
        interval_jitter: check.interval_jitter.map(duration),
        interval_jitter_percent: check.interval_jitter_percent.unwrap_or_default(),
        no_traffic_interval: check.no_traffic_interval.map(positive),
        reuse_connection: Some(flag(check.reuse_connection)),
        always_log_health_check_failures: check.always_log_failures,
        health_checker: Some(checker(&check.kind)),
        ..Message::default()
    }
}

fn checker(kind: &HealthCheckKind) -> HealthChecker {
    match kind {
        HealthCheckKind::Tcp { send, receive } => HealthChecker::TcpHealthCheck(TcpHealthCheck {
            send: send.as_deref().filter(|bytes| !bytes.is_empty()).map(payload),
            receive: receive.iter().filter(|b| !b.is_empty()).map(|b| payload(b)).collect(),
            proxy_protocol_config: None,
        }),
        HealthCheckKind::Http { path, expected_statuses, request_headers } => {
            HealthChecker::HttpHealthCheck(HttpHealthCheck {
                path: path.to_string(),
                expected_statuses: statuses(expected_statuses),
                request_headers_to_add: request_headers
                    .iter()
                    .map(|(name, value)| header(name, value))
                    .collect(),
                ..HttpHealthCheck::default()
            })
        }
        HealthCheckKind::Grpc { service_name, authority } => {
            HealthChecker::GrpcHealthCheck(GrpcHealthCheck {
                service_name: service_name.to_string(),
                authority: authority.to_string(),
                initial_metadata: Vec::new(),
            })
        }
    }
}

fn payload(bytes: &[u8]) -> Payload {
    Payload { payload: Some(payload::Payload::Binary(bytes.to_vec())) }
}

/// Ranges without their end. Envoy takes statuses from 100 to 599.
fn statuses(statuses: &[u16]) -> Vec<Int64Range> {
    let valid = statuses.iter().filter(|status| (100..600).contains(*status));
    valid.map(|&status| Int64Range { start: status.into(), end: i64::from(status) + 1 }).collect()
}

fn header(name: &str, value: &str) -> HeaderValueOption {
    HeaderValueOption {
        header: Some(HeaderValue {
            key: name.to_owned(),
            value: value.to_owned(),
            ..HeaderValue::default()
        }),
        ..HeaderValueOption::default()
    }
}

/// Some detectors find outliers but eject none unless this is asked for.
pub(super) fn outlier_detection(detection: &OutlierDetection) -> OutlierMessage {
    let on = |threshold: u32| number(if threshold == 0 { 0 } else { ALWAYS });
    let rate = detection.success_rate.as_ref();
    let percentage = detection.failure_percentage.as_ref();
    OutlierMessage {
        interval: detection.interval.map(positive),
        base_ejection_time: detection.base_ejection_time.map(positive),
        max_ejection_percent: detection.max_ejection_percent.map(|p| number(p.min(100))),
        split_external_local_origin_errors: detection.split_external_and_local_errors,
        consecutive_5xx: detection.consecutive_5xx.map(number),
        enforcing_consecutive_5xx: detection.consecutive_5xx.map(on),
        consecutive_gateway_failure: detection.consecutive_gateway_failure.map(number),
        enforcing_consecutive_gateway_failure: detection.consecutive_gateway_failure.map(on),
        consecutive_local_origin_failure: detection.consecutive_local_origin_failure.map(number),
        enforcing_consecutive_local_origin_failure: detection
            .consecutive_local_origin_failure
            .map(on),
        success_rate_minimum_hosts: rate.and_then(|r| r.minimum_hosts).map(number),
        success_rate_request_volume: rate.and_then(|r| r.request_volume).map(number),
        success_rate_stdev_factor: rate.and_then(|r| r.stdev_factor).map(number),
        enforcing_success_rate: rate.map(|_| number(ALWAYS)),
        failure_percentage_threshold: percentage
            .and_then(|p| p.threshold)
            .map(|threshold| number(threshold.min(100))),
        failure_percentage_minimum_hosts: percentage.and_then(|p| p.minimum_hosts).map(number),
        failure_percentage_request_volume: percentage.and_then(|p| p.request_volume).map(number),
        enforcing_failure_percentage: percentage.map(|_| number(ALWAYS)),
        ..OutlierMessage::default()
    }
}
