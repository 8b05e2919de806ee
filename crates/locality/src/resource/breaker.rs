//! MeshCircuitBreaker: limits of connections, and endpoints that are ejected when they fail.

use evenkeel_model::mesh::{ConnectionLimits, FailurePercentage, OutlierDetection, SuccessRate};
use serde_json::Value;

use super::scalar::{duration, percent, thousandths};
use crate::{Errors, FieldPath, decode::Fields};

/// What is in force, after merging.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BreakerConf {
    pub limits: Option<ConnectionLimits>,
    /// `None` also if it is disabled.
    pub outlier_detection: Option<OutlierDetection>,
}

impl BreakerConf {
    pub(crate) fn decode(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Self> {
        let fields = Fields::of(value, path, &["connectionLimits", "outlierDetection"], errors)?;
        let limits = fields.nested("connectionLimits", errors, decode_limits);
        let outlier_detection = fields.nested("outlierDetection", errors, decode_outliers);
        Some(BreakerConf { limits, outlier_detection: outlier_detection.flatten() })
    }
}

fn decode_limits(
    value: &Value,
    path: FieldPath<'_>,
    errors: &mut Errors,
) -> Option<ConnectionLimits> {
    const KNOWN: [&str; 5] =
        ["maxConnections", "maxConnectionPools", "maxPendingRequests", "maxRetries", "maxRequests"];
    let fields = Fields::of(value, path, &KNOWN, errors)?;
    let max_pools = fields.number("maxConnectionPools", errors);
    if max_pools == Some(0) {
        errors.push(&fields.path.field("maxConnectionPools"), "must be greater than 0");
    }
    Some(ConnectionLimits {
        max_connections: fields.number("maxConnections", errors),
        max_pending_requests: fields.number("maxPendingRequests", errors),
        max_requests: fields.number("maxRequests", errors),
        max_retries: fields.number("maxRetries", errors),
        max_connection_pools: max_pools.and_then(std::num::NonZeroU32::new),
    })
}

fn decode_outliers(
    value: &Value,
    path: FieldPath<'_>,
    errors: &mut Errors,
) -> Option<Option<OutlierDetection>> {
    const KNOWN: [&str; 7] = [
        "disabled",
        "interval",
        "baseEjectionTime",
        "maxEjectionPercent",
        "splitExternalAndLocalErrors",
        "healthyPanicThreshold",
        "detectors",
    ];
    let fields = Fields::of(value, path, &KNOWN, errors)?;
    let is_disabled = fields.flag("disabled", errors).unwrap_or(false);
    let detectors = fields.nested("detectors", errors, decode_detectors).unwrap_or_default();
    let max_ejection_percent = fields.number("maxEjectionPercent", errors);
    if max_ejection_percent.is_some_and(|percent| percent > 100) {
        errors
            .push(&fields.path.field("maxEjectionPercent"), "must be in inclusive range [0, 100]");
    }
    let interval = duration(&fields, "interval", errors);
    if interval.is_some_and(|interval| interval.is_zero()) {
        errors.push(&fields.path.field("interval"), "must be greater than 0");
    }
    let split = fields.flag("splitExternalAndLocalErrors", errors);
    let detection = OutlierDetection {
        interval,
        base_ejection_time: duration(&fields, "baseEjectionTime", errors),
        max_ejection_percent,
        split_external_and_local_errors: split.unwrap_or(false),
        healthy_panic_threshold: percent(&fields, "healthyPanicThreshold", errors),
        ..detectors
    };
    Some((!is_disabled).then_some(detection))
}

/// As in Kuma, a detector that is not named is off.
fn decode_detectors(
    value: &Value,
    path: FieldPath<'_>,
    errors: &mut Errors,
) -> Option<OutlierDetection> {
    const KNOWN: [&str; 5] = [
        "totalFailures",
        "gatewayFailures",
        "localOriginFailures",
        "successRate",
        "failurePercentage",
    ];
    let fields = Fields::of(value, path, &KNOWN, errors)?;
    let consecutive = |name, errors: &mut Errors| match fields.get(name) {
        None => Some(0),
        Some(_) => fields.nested(name, errors, |value, path, errors| {
            Fields::of(value, path, &["consecutive"], errors)?.number("consecutive", errors)
        }),
    };
    Some(OutlierDetection {
        consecutive_5xx: consecutive("totalFailures", errors),
        consecutive_gateway_failure: consecutive("gatewayFailures", errors),
        consecutive_local_origin_failure: consecutive("localOriginFailures", errors),
        success_rate: fields.nested("successRate", errors, decode_success_rate),
        failure_percentage: fields.nested("failurePercentage", errors, decode_percentage),
        ..OutlierDetection::default()
    })
}

fn decode_success_rate(
    value: &Value,
    path: FieldPath<'_>,
    errors: &mut Errors,
) -> Option<SuccessRate> {
    const KNOWN: [&str; 3] = ["minimumHosts", "requestVolume", "standardDeviationFactor"];
    let fields = Fields::of(value, path, &KNOWN, errors)?;
    Some(SuccessRate {
        minimum_hosts: fields.number("minimumHosts", errors),
        request_volume: fields.number("requestVolume", errors),
        stdev_factor: thousandths(&fields, "standardDeviationFactor", errors),
    })
}

fn decode_percentage(
    value: &Value,
    path: FieldPath<'_>,
    errors: &mut Errors,
) -> Option<FailurePercentage> {
    const KNOWN: [&str; 3] = ["minimumHosts", "requestVolume", "threshold"];
    let fields = Fields::of(value, path, &KNOWN, errors)?;
    Some(FailurePercentage {
        minimum_hosts: fields.number("minimumHosts", errors),
        request_volume: fields.number("requestVolume", errors),
        threshold: fields.number("threshold", errors),
    })
}
