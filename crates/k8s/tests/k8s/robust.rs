//! Whatever a file holds, reading it ends with a result.

use evenkeel_k8s::{Objects, manifest, snapshot};
use proptest::{collection, prelude::*, sample};

const SEED: &str = include_str!("seed.yaml");

/// Pieces that mean something to YAML, JSON or Kubernetes.
const PIECES: &[&str] = &[
    "---\n",
    "\n",
    "  ",
    "\t",
    ": ",
    "- ",
    "? ",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "'",
    "|\n",
    ">\n",
    "&a ",
    "*a",
    "<<: *a\n",
    "!!binary ",
    "!x ",
    "%YAML 1.2\n",
    "#",
    "~",
    "null",
    ".nan",
    "1e999",
    "-1",
    "65536",
    "4294967296",
    "99999999999999999999",
    "0x7f",
    "\u{feff}",
    "\u{0}",
    "\\u0000",
    "banana",
    "items:\n",
    "kind: List\n",
    "apiVersion: v1\n",
    "metadata: {name: x}\n",
    "cpu: -1\n",
    "addressType: FQDN\n",
    "2025-01-01T00:00:00Z",
    "None",
    "::ffff:1.2.3.4",
];

fn read(text: &str) {
    let mut objects = Objects::default();
    if let Err(error) = manifest::parse("in", text, &mut objects) {
        assert!(error.to_string().chars().count() < 400, "{error}");
        return;
    }
    if let Err(error) = snapshot::build(&objects) {
        assert!(error.to_string().chars().count() < 400, "{error}");
    }
}

/// Replaces the characters of `text` between two places with `piece`.
fn splice(text: &str, start: usize, len: usize, piece: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let start = start % (chars.len() + 1);
    let end = (start + len).min(chars.len());
    let mut spliced: String = chars[..start].iter().collect();
    spliced.push_str(piece);
    spliced.extend(&chars[end..]);
    spliced
}

fn mutations() -> impl Strategy<Value = Vec<(usize, usize, &'static str)>> {
    let mutation = (any::<usize>(), 0usize..12, sample::select(PIECES));
    collection::vec(mutation, 1..6)
}

fn mutated(mut text: String, mutations: &[(usize, usize, &str)]) -> String {
    for (start, len, piece) in mutations {
        text = splice(&text, *start, *len, piece);
    }
    text
}

/// The seed as JSON, one object after the other.
fn seed_as_json() -> String {
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(SEED).unwrap();
    documents.iter().map(ToString::to_string).collect()
}

#[test]
fn the_seed_itself_is_right() {
    for text in [SEED.to_owned(), seed_as_json()] {
        let mut objects = Objects::default();
        manifest::parse("in", &text, &mut objects).unwrap();
        assert_eq!(objects.len(), 9);
        let snapshot = snapshot::build(&objects).unwrap();
        assert_eq!(snapshot.services[0].pods.len(), 1);
        assert!(snapshot.services[0].autoscaler.is_some());
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in collection::vec(any::<u8>(), 0..400)) {
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        read(&text);
    }

    #[test]
    fn arbitrary_pieces_never_panic(pieces in collection::vec(sample::select(PIECES), 0..40)) {
        read(&pieces.concat());
    }

    #[test]
    fn mutated_yaml_never_panics(mutations in mutations()) {
        read(&mutated(SEED.to_owned(), &mutations));
    }

    #[test]
    fn mutated_json_never_panics(mutations in mutations()) {
        read(&mutated(seed_as_json(), &mutations));
    }
}
