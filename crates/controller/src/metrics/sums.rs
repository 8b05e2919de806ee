//! Gauges of the engine's totals, which are counted once and shown when somebody asks.

use std::fmt;

use parking_lot::Mutex;
use prometheus_client::{collector::Collector, encoding::DescriptorEncoder, metrics::MetricType};

use crate::engine::Totals;

#[derive(Debug, Default)]
pub(super) struct Sums(Mutex<Totals>);

impl Sums {
    pub(super) fn set(&self, totals: Totals) {
        *self.0.lock() = totals;
    }
}

impl Collector for Sums {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let totals = self.0.lock().clone();
        let Totals {
            services,
            pods,
            nodes,
            endpoints,
            slices,
            desired_slices,
            by_traffic_distribution,
            withdrawn,
            stale_slices,
            with_shares,
            reporting_nodes,
            waiting,
            in_flight,
        } = totals;
        let kubernetes = [
            ("endpoints_desired", "Desired number of endpoints", endpoints),
            ("num_endpoint_slices", "Number of EndpointSlices", slices),
            ("desired_endpoint_slices", "Minimum number of EndpointSlices needed", desired_slices),
        ];
        for (name, about, value) in kubernetes {
            gauge(&mut encoder, &format!("endpoint_slice_controller_{name}"), about, value)?;
        }
        let name = "endpoint_slice_controller_services_count_by_traffic_distribution";
        let about = "Services by the value of spec.trafficDistribution";
        let mut family = encoder.encode_descriptor(name, about, None, MetricType::Gauge)?;
        for (value, count) in &by_traffic_distribution {
            let labels = [("traffic_distribution", &**value)];
            family.encode_family(&labels)?.encode_gauge(&number(*count))?;
        }
        let own = [
            ("withdrawn_services", "Services left to kube-controller-manager", withdrawn),
            (
                "stale_slices",
                "EndpointSlices of Services that opted out, which are no longer updated",
                stale_slices,
            ),
            ("zone_shares_services", "Services with zone shares", with_shares),
            (
                "reporting_nodes",
                "Nodes whose proxy reports up to which revision its rules are in force",
                reporting_nodes,
            ),
            ("waiting_services", "Services that wait for a sync or a retry", waiting),
            ("in_flight_writes", "Writes in flight", in_flight),
        ];
        for (name, about, value) in own {
            gauge(&mut encoder, &format!("evenkeel_controller_{name}"), about, value)?;
        }
        let name = "evenkeel_controller_objects";
        let about = "Objects in the cache";
        let mut family = encoder.encode_descriptor(name, about, None, MetricType::Gauge)?;
        for (resource, count) in [("nodes", nodes), ("pods", pods), ("services", services)] {
            family.encode_family(&[("resource", resource)])?.encode_gauge(&number(count))?;
        }
        Ok(())
    }
}

fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    about: &str,
    value: usize,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, about, None, MetricType::Gauge)?;
    metric.encode_gauge(&number(value))
}

fn number(count: usize) -> u64 {
    count as u64
}
