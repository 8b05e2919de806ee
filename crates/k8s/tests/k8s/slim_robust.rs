//! Whatever a peer sends, reading it ends with a result, and an error repeats little of it.

use evenkeel_k8s::slim::{SlimError, endpoint_slice, endpoint_slices};
use evenkeel_model::Topology;
use proptest::{collection, prelude::*, sample};
use serde_json::{Value, json};

use crate::{slim_given::any_slice, slim_same};

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

/// Reads `json` as a slice and as a list.
fn read(json: &[u8]) {
    let mut topology = Topology::default();
    let slice = endpoint_slice(json, &mut topology).err();
    let list = endpoint_slices(json, &mut topology).err();
    for error in slice.into_iter().chain(list) {
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

/// The text with more fields in it, some of which are then there twice.
fn with_fields(mut json: String, fields: &[(usize, &str)]) -> String {
    for (place, field) in fields {
        let starts: Vec<usize> = json.match_indices("{\"").map(|(at, _)| at + 1).collect();
        json.insert_str(starts[place % starts.len()], field);
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

    #[test]
    fn fields_that_come_twice_are_read_as_by_way_of_an_object(
        object in any_slice(),
        fields in collection::vec((any::<usize>(), sample::select(FIELDS)), 1..4),
    ) {
        let json = with_fields(serde_json::to_string(&object).unwrap(), &fields);
        slim_same::check_if_readable(&json);
    }
}

#[test]
fn deep_nesting_is_no_problem() {
    let deep = "[".repeat(1_000_000);
    for json in [deep.clone(), format!("{{\"unknown\":{deep}"), format!("{{\"endpoints\":{deep}")] {
        read(json.as_bytes());
    }
    let closed = format!("{{\"addressType\":\"IPv4\",\"x\":{deep}{}}}", "]".repeat(1_000_000));
    assert!(endpoint_slice(closed.as_bytes(), &mut Topology::default()).is_ok());
}

/// `json` with `*` replaced by a long text.
fn error(json: &Value, long: &str) -> SlimError {
    let json = json.to_string().replace('*', long);
    endpoint_slice(json.as_bytes(), &mut Topology::default()).unwrap_err()
}

#[test]
fn errors_repeat_little_of_the_input() {
    let long = "ж".repeat(100_000);
    let cases = [
        json!("*"),
        json!({"kind": "*"}),
        json!({"apiVersion": "*"}),
        json!({"addressType": "*"}),
        json!({"metadata": "*"}),
        json!({"metadata": {"labels": {"*": 1}}}),
        json!({"metadata": {"labels": {"*": {}}}}),
        json!({"endpoints": "*"}),
        json!({"endpoints": [{"conditions": {"ready": "*"}}]}),
        json!({"addressType": "IPv4", "endpoints": [{"addresses": ["*"]}]}),
        json!({"endpoints": [{"addresses": ["*"]}], "addressType": "IPv6"}),
        json!({"addressType": "IPv4", "ports": [{"port": "*"}]}),
        json!({"addressType": "IPv4", "ports": [{"protocol": "*"}]}),
    ];
    for json in cases {
        // A text of just the length that is still shown whole, and a much longer one.
        for long in [&long[..2 * 75], &long] {
            let text = error(&json, long).to_string();
            let repeated = text.chars().filter(|&char| char == 'ж').count();
            assert!(repeated <= 80, "{repeated} of {} in {text}", long.len());
            assert!(text.chars().count() < 200, "{text}");
        }
    }
}

#[test]
fn errors_cannot_steer_a_terminal() {
    let cases = [
        json!({"kind": "*"}),
        json!({"addressType": "*"}),
        json!({"metadata": {"labels": {"*": 1}}}),
        json!({"endpoints": [{"conditions": {"ready": "*"}}]}),
    ];
    for json in cases {
        let text = error(&json, "\\u001b[31m\\n").to_string();
        assert!(!text.contains(char::is_control), "{text:?}");
    }
}
