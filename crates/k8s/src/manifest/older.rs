//! Other versions of two kinds, brought to the one form that is used from here on.

use k8s_openapi::api::{
    autoscaling::{v1 as autoscaling_v1, v2 as autoscaling},
    core::v1 as core,
    events::v1 as events,
};

/// The API server itself serves each Event under both groups, with these names exchanged.
pub(super) fn event(event: events::Event) -> core::Event {
    core::Event {
        action: event.action,
        count: event.deprecated_count,
        event_time: event.event_time,
        first_timestamp: event.deprecated_first_timestamp,
        involved_object: event.regarding.unwrap_or_default(),
        last_timestamp: event.deprecated_last_timestamp,
        message: event.note,
        metadata: event.metadata,
        reason: event.reason,
        related: event.related,
        reporting_component: event.reporting_controller,
        reporting_instance: event.reporting_instance,
        series: event.series.map(|series| core::EventSeries {
            count: Some(series.count),
            last_observed_time: Some(series.last_observed_time),
        }),
        source: event.deprecated_source,
        type_: event.type_,
    }
}

/// Metrics and status are not carried over: only the target and the bounds are ever read.
pub(super) fn autoscaler(
    scaler: autoscaling_v1::HorizontalPodAutoscaler,
) -> autoscaling::HorizontalPodAutoscaler {
    let spec = scaler.spec;
    let target = spec.scale_target_ref;
    autoscaling::HorizontalPodAutoscaler {
        metadata: scaler.metadata,
        spec: autoscaling::HorizontalPodAutoscalerSpec {
            max_replicas: spec.max_replicas,
            min_replicas: spec.min_replicas,
            scale_target_ref: autoscaling::CrossVersionObjectReference {
                api_version: target.api_version,
                kind: target.kind,
                name: target.name,
            },
            ..autoscaling::HorizontalPodAutoscalerSpec::default()
        },
        status: None,
    }
}
