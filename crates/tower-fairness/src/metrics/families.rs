//! Families of metrics, row by row.

use std::fmt;

use evenkeel_fairness::queues::stats::{Histogram, Utilization};
use prometheus_client::{
    encoding::{DescriptorEncoder, NoLabelSet},
    metrics::{MetricType, exemplar::Exemplar},
};

pub(super) struct Families<'e>(pub(super) DescriptorEncoder<'e>);

/// Names and values.
pub(super) type Labels<'s, const N: usize> = [(&'static str, &'s str); N];

/// Upper bounds with the counts between them, and the sum of all values.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    pub(super) counts: Vec<(f64, u64)>,
    pub(super) sum: f64,
}

impl Families<'_> {
    pub(super) fn gauges<'s, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<'s, N>, f64)>,
    ) -> fmt::Result {
        self.values(name, help, MetricType::Gauge, rows)
    }

    /// Counters whose names do not end in `_total`, which OpenMetrics does not have.
    pub(super) fn plain_counters<'s, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<'s, N>, u64)>,
    ) -> fmt::Result {
        let rows = rows.into_iter().map(|(labels, count)| (labels, count as f64));
        self.values(name, help, MetricType::Unknown, rows)
    }

    /// `_total` is added to the name.
    pub(super) fn counters<'s, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<'s, N>, u64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, count) in rows {
            let none: Option<&Exemplar<NoLabelSet, u64>> = None;
            family.encode_family(&labels)?.encode_counter(&count, none)?;
        }
        Ok(())
    }

    pub(super) fn histograms<'s, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<'s, N>, Buckets)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, Buckets { counts, sum }) in rows {
            let count = counts.iter().map(|(_, count)| count).sum();
            let mut row = family.encode_family(&labels)?;
            row.encode_histogram::<NoLabelSet>(sum, count, &counts, None)?;
        }
        Ok(())
    }

    fn values<'s, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        rows: impl IntoIterator<Item = (Labels<'s, N>, f64)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in rows {
            family.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }
}

impl Buckets {
    /// Each bound times `unit`.
    pub(super) fn of(histogram: &Histogram, unit: f64) -> Self {
        let bounds = histogram.bounds.iter().map(|bound| *bound as f64 * unit);
        Buckets::new(bounds, histogram.counts(), histogram.sum as f64 * unit)
    }

    /// From nanoseconds to seconds.
    pub(super) fn seconds(histogram: &Histogram) -> Self {
        // Dividing is exact where multiplying by a billionth is not: 0.005, not 0.00500...01.
        let bounds = histogram.bounds.iter().map(|bound| *bound as f64 / 1e9);
        Buckets::new(bounds, histogram.counts(), histogram.sum as f64 / 1e9)
    }

    /// A ratio weighted by time: as many observations as nanoseconds.
    pub(super) fn weighted(utilization: &Utilization) -> Self {
        Buckets::new(utilization.bounds.iter().copied(), utilization.nanos(), utilization.sum())
    }

    pub(super) fn new(bounds: impl Iterator<Item = f64>, counts: &[u64], sum: f64) -> Self {
        let bounds = bounds.chain([f64::INFINITY]);
        Buckets { counts: bounds.zip(counts.iter().copied()).collect(), sum }
    }

    /// The sum of two histograms with the same bounds.
    pub(super) fn and(mut self, other: &Buckets) -> Self {
        for (count, (_, more)) in self.counts.iter_mut().zip(&other.counts) {
            count.1 += more;
        }
        self.sum += other.sum;
        self
    }
}
