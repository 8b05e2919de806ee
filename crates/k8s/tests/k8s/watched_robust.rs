//! Whatever a peer sends, reading it ends with a result, and an error repeats little of it.

use evenkeel_k8s::watched::EndpointSlice;
use evenkeel_model::Topology;
use kube::core::ObjectList;
use proptest::{collection, prelude::*, sample};
use serde_json::json;

use crate::slice_given::any_slice;

/// Pieces that mean something to JSON.
const PIECES: &[&str] = &[
    "",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\ud800",
    "\\u0000",
    "\u{0}",
    "\u{feff}",
    "\n",
    "ä",
    "null",
    "true",
    "-1",
    "1e999",
    "65536",
    "99999999999999999999",
    "{}",
    "[]",
    "[{}],",
    "\"\",",
];

/// Fields that can stand before any other one.
const FIELDS: &[&str] = &[
    "\"zone\":\"b\",",
    "\"zone\":null,",
    "\"addresses\":[\"10.0.0.9\"],",
    "\"addressType\":null,",
    "\"addressType\":\"IPv4\",",
    "\"addressType\":\"IPv6\",",
    "\"endpoints\":[],",
    "\"endpoints\":[{\"addresses\":[\"::1\"]}],",
    "\"ports\":null,",
    "\"metadata\":{},",
    "\"kind\":\"Pod\",",
    "\"unknown\":[[[{\"a\":{}}]]],",
];

fn piece() -> impl Strategy<Value = &'static str> {
    prop_oneof![sample::select(PIECES), sample::select(FIELDS)]
}

/// Reads `json` as a slice and as a list. What is wrong with a value is told in few words.
fn read(json: &[u8]) {
    let slice = serde_json::from_slice::<EndpointSlice>(json).ok();
    let list = serde_json::from_slice::<ObjectList<EndpointSlice>>(json).ok();
    let slices = slice.into_iter().chain(list.into_iter().flat_map(|list| list.items));
    let mut topology = Topology::default();
    for error in slices.filter_map(|slice| slice.seen(&mut topology).err()) {
        assert!(error.to_string().chars().count() < 200, "{error}");
    }
}

fn mutated(mut json: Vec<u8>, mutations: &[(usize, usize, &str)]) -> Vec<u8> {
    for (start, len, piece) in mutations {
        let start = start % (json.len() + 1);
        let end = (start + len).min(json.len());
        json.splice(start..end, piece.bytes());
    }
    json
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in collection::vec(any::<u8>(), 0..400)) {
        read(&bytes);
    }

    #[test]
    fn arbitrary_pieces_never_panic(pieces in collection::vec(piece(), 0..40)) {
        read(pieces.concat().as_bytes());
    }

    #[test]
    fn mutated_slices_never_panic(
        object in any_slice(),
        mutations in collection::vec((any::<usize>(), 0usize..12, piece()), 1..6),
    ) {
        let slice = serde_json::to_vec(&object).unwrap();
        read(&mutated(slice, &mutations));
        let list = json!({"items": [&object], "metadata": {"resourceVersion": "1"}});
        read(&mutated(list.to_string().into_bytes(), &mutations));
    }

    #[test]
    fn cut_slices_never_panic(object in any_slice(), end: sample::Index) {
        let slice = serde_json::to_vec(&object).unwrap();
        read(&slice[..end.index(slice.len())]);
    }
}

#[test]
fn deep_nesting_is_no_problem() {
    let deep = "[".repeat(1_000_000);
    for json in [deep.clone(), format!("{{\"unknown\":{deep}"), format!("{{\"endpoints\":{deep}")] {
        read(json.as_bytes());
    }
    let closed = format!("{{\"addressType\":\"IPv4\",\"x\":{deep}{}}}", "]".repeat(1_000_000));
    let slice: EndpointSlice = serde_json::from_str(&closed).unwrap();
    assert!(slice.seen(&mut Topology::default()).is_ok());
}

#[test]
fn errors_repeat_little_of_the_input_and_cannot_steer_a_terminal() {
    for text in ["ж".repeat(75), "ж".repeat(100_000), "\u{1b}[31m\n".into()] {
        let cases = [
            json!({"addressType": text}),
            json!({"addressType": "IPv4", "endpoints": [{"addresses": [text]}]}),
            json!({"addressType": "IPv4", "ports": [{"protocol": text}]}),
        ];
        for json in cases {
            let slice: EndpointSlice = serde_json::from_value(json).unwrap();
            let error = slice.seen(&mut Topology::default()).unwrap_err().to_string();
            assert!(error.chars().count() < 200, "{error}");
            assert!(!error.contains(char::is_control), "{error:?}");
        }
    }
}
