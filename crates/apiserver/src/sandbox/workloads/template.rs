//! The hash of a template, and Pods created from it. Source:
//! `k8s.io/kubernetes/pkg/controller/controller_utils.go`, `ComputeHash`, `GetPodFromTemplate`;
//! `k8s.io/apimachinery/pkg/util/rand`.

use std::io;

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Pod, PodTemplateSpec},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use serde_json::Value;

/// The label that identifies the ReplicaSets of a Deployment, and their Pods.
pub(super) const TEMPLATE_HASH: &str = "pod-template-hash";

/// Without vowels and look-alikes, so that no words result. Same as Kubernetes.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LEN: usize = 5;
/// Maximum length of a generated name before its suffix.
const LONGEST_PREFIX: usize = 63 - SUFFIX_LEN;

/// The same for the same template, in at most ten letters. `collisions` gives another one to a
/// template whose hash is taken.
pub(super) fn hash(template: &PodTemplateSpec, collisions: Option<i32>) -> String {
    let mut sum = Fnv::new();
    serde_json::to_writer(&mut sum, template).expect("a template that was parsed can be written");
    if let Some(collisions) = collisions {
        sum.add(&collisions.to_le_bytes());
    }
    let letter = |digit: u8| char::from(LETTERS[usize::from(digit) % LETTERS.len()]);
    sum.0.to_string().bytes().map(letter).collect()
}

/// Whether their Pods would be the same except for the label of the hash.
pub(super) fn same(one: &PodTemplateSpec, other: &PodTemplateSpec) -> bool {
    let without_hash = |template: &PodTemplateSpec| {
        let mut metadata = template.metadata.clone().unwrap_or_default();
        let labels = metadata.labels.get_or_insert_default();
        labels.remove(TEMPLATE_HASH);
        metadata
    };
    one.spec == other.spec && without_hash(one) == without_hash(other)
}

/// A name for a new Pod of this owner. A function of owner, time and number, so that the next step
/// generates different ones; the caller increments the number to skip existing names.
pub(super) fn pod_name(owner: &OwnerReference, now: Timestamp, number: u64) -> String {
    let mut sum = Fnv::new();
    sum.add(owner.uid.as_bytes());
    sum.add(&now.as_nanosecond().to_le_bytes());
    sum.add(&number.to_le_bytes());
    let mut rest = sum.mixed();
    let mut name = prefix(&owner.name);
    name.truncate(LONGEST_PREFIX);
    for _ in 0..SUFFIX_LEN {
        let index = usize::try_from(rest % 27).expect("less than 27");
        name.push(char::from(LETTERS[index]));
        rest /= 27;
    }
    name
}

/// A new Pod as it is sent to the server.
pub(super) fn pod(template: &PodTemplateSpec, name: String, owner: &OwnerReference) -> Value {
    let given = template.metadata.clone().unwrap_or_default();
    let pod = Pod {
        metadata: ObjectMeta {
            name: Some(name),
            generate_name: Some(prefix(&owner.name)),
            labels: given.labels,
            annotations: given.annotations,
            finalizers: given.finalizers,
            owner_references: Some(vec![owner.clone()]),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: None,
    };
    serde_json::to_value(pod).expect("a Pod has text for keys")
}

fn prefix(owner: &str) -> String {
    format!("{owner}-")
}

/// FNV-1a, 32 bits.
#[derive(Debug)]
struct Fnv(u32);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0x811c_9dc5)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }

    /// Spreads similar sums (the finalizer of SplitMix64).
    fn mixed(&self) -> u64 {
        let mut x = u64::from(self.0).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}

impl io::Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn template(image: &str) -> PodTemplateSpec {
        serde_json::from_value(json!({
            "metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": image}]},
        }))
        .unwrap()
    }

    fn owner(name: &str) -> OwnerReference {
        OwnerReference { name: name.to_owned(), uid: "u".to_owned(), ..OwnerReference::default() }
    }

    #[test]
    fn the_sum_is_fnv_1a() {
        // From the authors' test vectors.
        for (text, sum) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            let mut fnv = Fnv::new();
            fnv.add(text.as_bytes());
            assert_eq!(fnv.0, sum, "{text}");
        }
    }

    #[test]
    fn a_hash_follows_the_template_and_the_collisions() {
        let one = hash(&template("a"), None);
        assert_eq!(one, hash(&template("a"), None));
        assert!(one.bytes().all(|letter| LETTERS.contains(&letter)) && one.len() <= 10, "{one}");
        let hashes = [
            one,
            hash(&template("b"), None),
            hash(&template("a"), Some(1)),
            hash(&template("a"), Some(2)),
        ];
        assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), hashes.len(), "{hashes:?}");
    }

    #[test]
    fn templates_are_the_same_but_for_the_label_of_the_hash() {
        let mut labelled = template("a");
        let labels = labelled.metadata.as_mut().unwrap().labels.as_mut().unwrap();
        labels.insert(TEMPLATE_HASH.to_owned(), "x".to_owned());
        assert!(same(&template("a"), &labelled));
        assert!(!same(&template("b"), &labelled));
        let mut annotated = template("a");
        annotated.metadata.as_mut().unwrap().annotations = None;
        assert!(!same(&template("a"), &annotated));
    }

    #[test]
    fn names_are_many_and_fit() {
        let now = Timestamp::UNIX_EPOCH;
        let names: BTreeSet<String> = (0..500).map(|i| pod_name(&owner("web"), now, i)).collect();
        assert!(names.len() > 490, "{}", names.len());
        assert!(names.iter().all(|name| name.starts_with("web-") && name.len() == 9), "{names:?}");
        assert_eq!(pod_name(&owner(&"x".repeat(100)), now, 0).len(), 63);
    }

    #[test]
    fn a_pod_has_its_template_and_owner() {
        let owner = owner("web");
        let pod = pod(&template("a"), "web-1".to_owned(), &owner);
        assert_eq!(pod["kind"], "Pod");
        assert_eq!(pod["metadata"]["name"], "web-1");
        assert_eq!(pod["metadata"]["generateName"], "web-");
        assert_eq!(pod["metadata"]["labels"], json!({"app": "web"}));
        assert_eq!(pod["metadata"]["annotations"], json!({"a": "b"}));
        assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], "u");
        assert_eq!(pod["spec"]["containers"][0]["image"], "a");
        assert!(pod.get("status").is_none());
    }
}
