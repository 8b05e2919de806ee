//! Which Services select a Pod, without asking each.
//!
//! A Service selects a Pod only if the Pod carries *every* pair of its selector, so it is enough
//! to look the Service up under *one* of them. The pair that the fewest selectors of the namespace
//! have is taken: pairs like `managed-by: Helm` would bring every Service up for every Pod.

use evenkeel_model::Service;
use k8s_openapi::api::core::v1::Pod;
use rustc_hash::FxHashMap;

/// A namespace, a label's key and its value.
type Pair<'a> = (&'a str, &'a str, &'a str);

pub(super) struct Selectors<'a> {
    services: &'a [Service],
    places: FxHashMap<Pair<'a>, Vec<usize>>,
}

impl<'a> Selectors<'a> {
    pub(super) fn new(services: &'a [Service]) -> Self {
        let mut uses: FxHashMap<Pair<'a>, usize> = FxHashMap::default();
        for pair in services.iter().flat_map(pairs) {
            *uses.entry(pair).or_default() += 1;
        }
        let mut places: FxHashMap<Pair<'a>, Vec<usize>> = FxHashMap::default();
        for (place, service) in services.iter().enumerate() {
            if let Some(rarest) = pairs(service).min_by_key(|pair| uses[pair]) {
                places.entry(rarest).or_default().push(place);
            }
        }
        Selectors { services, places }
    }

    /// The places of the Services that select `pod`, each once.
    pub(super) fn selecting<'p>(&'p self, pod: &'p Pod) -> impl Iterator<Item = usize> + 'p {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let labels = pod.metadata.labels.as_ref();
        let label = move |key: &str| labels?.get(key).map(String::as_str);
        let pairs = labels.into_iter().flatten();
        let places = pairs.flat_map(move |(key, value)| {
            let pair: Pair<'p> = (namespace, key, value);
            self.places.get(&pair).into_iter().flatten().copied()
        });
        places.filter(move |&place| self.services[place].selects(label))
    }
}

fn pairs(service: &Service) -> impl Iterator<Item = Pair<'_>> {
    let namespace = &*service.key.namespace;
    let selector = service.selector.iter().flatten();
    selector.map(move |(key, value)| (namespace, &**key, &**value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert;

    fn service(namespace: &str, selector: &[(&str, &str)]) -> Service {
        let selector: serde_json::Map<_, _> =
            selector.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let object = serde_json::json!({
            "metadata": {"namespace": namespace, "name": "s"},
            "spec": {"selector": selector},
        });
        convert::service(&serde_json::from_value(object).unwrap()).unwrap()
    }

    fn pod(namespace: &str, labels: &[(&str, &str)]) -> Pod {
        let labels: serde_json::Map<_, _> =
            labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let meta = serde_json::json!({"namespace": namespace, "name": "p", "labels": labels});
        serde_json::from_value(serde_json::json!({ "metadata": meta })).unwrap()
    }

    #[test]
    fn the_index_finds_what_asking_every_service_finds() {
        let values = ["1", "2"];
        let mut services = vec![service("x", &[])];
        let mut pods = vec![pod("x", &[])];
        for namespace in ["x", "y"] {
            for a in values {
                for b in values {
                    services.push(service(namespace, &[("a", a)]));
                    services.push(service(namespace, &[("a", a), ("b", b)]));
                    services.push(service(namespace, &[("a", a), ("b", b), ("all", "yes")]));
                    pods.push(pod(namespace, &[("a", a), ("b", b), ("all", "yes")]));
                    pods.push(pod(namespace, &[("b", b), ("c", a)]));
                }
            }
        }
        let selectors = Selectors::new(&services);
        let mut matches = 0;
        for pod in &pods {
            let labels = pod.metadata.labels.as_ref();
            let label = |key: &str| labels?.get(key).map(String::as_str);
            let by_asking: Vec<usize> = (0..services.len())
                .filter(|&s| Some(&*services[s].key.namespace) == pod.metadata.namespace.as_deref())
                .filter(|&s| services[s].selects(label))
                .collect();
            let mut by_index: Vec<usize> = selectors.selecting(pod).collect();
            by_index.sort_unstable();
            assert_eq!(by_index, by_asking);
            matches += by_index.len();
        }
        assert!(matches > 8);
    }
}
