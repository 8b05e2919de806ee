use serde_json::{Value, json};

use crate::{error::Errors, path::Path, schema::Schema};

fn schema() -> Schema {
    let embedded = json!({
        "type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
    });
    let schema = json!({"properties": {
        "pod": embedded, "list": {"items": embedded}, "map": {"additionalProperties": embedded},
    }});
    Schema::parse(&schema).unwrap()
}

#[test]
fn embedded_resources_are_checked_in_the_words_of_kubernetes() {
    let check = |object: Value, expected: &[&str]| {
        let mut errors = Errors::new();
        super::check(&schema(), &object, &Path::root(""), &mut errors);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(texts, expected, "{object}");
    };
    check(
        json!({"pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}}}),
        &[],
    );
    check(json!({"pod": {}}), &["pod.apiVersion: Required value", "pod.kind: Required value"]);
    check(
        json!({"list": [{"apiVersion": 1, "kind": ""}]}),
        &[
            "list[0].apiVersion: Invalid value: 1: must be a string",
            "list[0].kind: Invalid value: \"\": must not be empty",
        ],
    );
    check(
        json!({"map": {"k": {"apiVersion": "a/b/c", "kind": "Foo_"}}}),
        &[
            "map[k].apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
            "map[k].kind: Invalid value: \"Foo_\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        ],
    );
    check(
        json!({"pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}}}}),
        &[
            "pod.metadata: Invalid value: {\"labels\":{\"a\":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ],
    );
}

#[test]
fn metadata_of_embedded_resources_is_found() {
    let object =
        json!({"pod": {"metadata": {"name": "a"}}, "list": [{}, {"metadata": {"name": "b"}}]});
    let found = schema().embedded_metadata(&object);
    let found: Vec<_> = found.iter().map(|(path, value)| (path.as_str(), &value["name"])).collect();
    assert_eq!(found, [("list[1].metadata", &json!("b")), ("pod.metadata", &json!("a"))]);
}
