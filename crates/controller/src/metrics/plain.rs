//! Counters by names that do not end in `_total`, as Kubernetes has them. OpenMetrics knows no such
//! counters, and so the text calls their type unknown.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use prometheus_client::{
    encoding::{EncodeMetric, MetricEncoder},
    metrics::{MetricType, TypedMetric},
};

#[derive(Debug, Default)]
pub(super) struct PlainCounter(AtomicU64);

impl PlainCounter {
    pub(super) fn inc_by(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

impl TypedMetric for PlainCounter {
    const TYPE: MetricType = MetricType::Unknown;
}

impl EncodeMetric for PlainCounter {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&self.0.load(Ordering::Relaxed))
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}
