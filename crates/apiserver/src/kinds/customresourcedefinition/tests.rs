//! Definitions through the strategy, in Kubernetes' words.

use serde_json::{Value, json};

use super::{
    super::{Part, facts, read::entry},
    CUSTOM_RESOURCE_DEFINITION,
};
use crate::{document, invalid::FieldError, types};

/// The definition as stored, and the errors.
fn created(mut object: Value) -> (Value, Vec<String>) {
    let (strategy, at) = (&CUSTOM_RESOURCE_DEFINITION.strategy, facts::admission());
    strategy.default(&mut object, &at);
    strategy.prepare_create(&mut object, &at);
    let errors = strategy.validate_create(&object, &at);
    document::canonical(&CUSTOM_RESOURCE_DEFINITION, &mut object);
    (object, facts::texts(&errors))
}

/// The update of a stored definition, and the errors.
fn updated(old: &Value, change: impl FnOnce(&mut Value)) -> (Value, Vec<String>) {
    let (strategy, at) = (&CUSTOM_RESOURCE_DEFINITION.strategy, facts::admission());
    let mut new = old.clone();
    change(&mut new);
    strategy.default(&mut new, &at);
    strategy.prepare_update(Part::Main, &mut new, old, &at);
    let errors = strategy.validate_update(Part::Main, &new, old, &at);
    document::canonical(&CUSTOM_RESOURCE_DEFINITION, &mut new);
    (new, facts::texts(&errors))
}

fn version(name: &str) -> Value {
    let properties = json!({
        "spec": {"type": "object", "properties": {
            "color": {"type": "string"},
            "size": {"type": "integer"},
            "parts": {"type": "array", "items": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        }},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
    });
    let schema = json!({"type": "object", "properties": properties});
    json!({"name": name, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}})
}

fn definition() -> Value {
    json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version("v1")],
        },
    })
}

/// The errors of the definition with a value at a pointer.
fn errors(pointer: &str, value: Value) -> Vec<String> {
    let mut object = definition();
    let path: Vec<&str> = pointer.trim_start_matches('/').split('/').collect();
    match path.as_slice() {
        ["v", rest @ ..] => *entry(&mut object["spec"]["versions"][0], rest) = value,
        path => *entry(&mut object, path) = value,
    }
    created(object).1
}

const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

#[test]
fn a_new_definition_has_defaults_and_a_stored_version() {
    let mut object = definition();
    object["status"] = json!({"storedVersions": ["x"], "conditions": [{"type": "Established"}]});
    let (stored, errors) = created(object);
    assert_eq!(errors, [""; 0]);
    assert_eq!(stored["metadata"]["generation"], 1);
    assert_eq!(
        stored["spec"]["names"],
        json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"})
    );
    assert_eq!(stored["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(
        stored["status"],
        json!({"conditions": null, "storedVersions": ["v1"], "acceptedNames": {"plural": "", "kind": ""}})
    );
}

#[test]
fn recorded_definitions_are_judged_as_recorded() {
    let mut n_refused = 0;
    let mut n_accepted = 0;
    let scenarios = ["crd", "verbs", "apply"].into_iter().flat_map(facts::scenarios);
    let steps = scenarios.flat_map(|one| one["steps"].as_array().unwrap().clone());
    let is_create = |step: &Value| {
        step["request"]["method"] == "POST"
            && step["request"]["path"].as_str().is_some_and(|path| {
                path == "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            })
    };
    for step in steps.filter(is_create) {
        let mut object = step["request"]["body"].clone();
        let at = facts::admission();
        let strategy = &CUSTOM_RESOURCE_DEFINITION.strategy;
        strategy.default(&mut object, &at);
        strategy.prepare_create(&mut object, &at);
        let errors = strategy.validate_create(&object, &at);
        if step["response"]["status"] != 422 {
            assert_eq!(facts::texts(&errors), [""; 0], "{object}");
            n_accepted += 1;
            continue;
        }
        let recorded = &step["response"]["body"]["details"]["causes"];
        // What is in the schema is checked elsewhere.
        if recorded[0]["field"].as_str().unwrap().contains("openAPIV3Schema") {
            continue;
        }
        let cause = |error: &FieldError| json!({"field": error.path.to_string(), "message": error.message(), "reason": error.reason()});
        assert_eq!(&errors.iter().map(cause).collect::<Value>(), recorded);
        n_refused += 1;
    }
    assert!(n_refused >= 2 && n_accepted >= 10, "{n_refused} and {n_accepted}");
}

#[test]
fn names_and_groups_are_checked_in_kubernetes_words() {
    for (pointer, value, expected) in [
        ("/metadata/name", json!("x.example.com"), vec!["metadata.name: Invalid value: \"x.example.com\": must be spec.names.plural+\".\"+spec.group".to_owned()]),
        ("/metadata/generateName", json!("x"), vec!["metadata.generateName: Invalid value: \"x\": must be spec.names.plural+\".\"+spec.group".to_owned()]),
        ("/spec/scope", json!(""), vec!["spec.scope: Required value".to_owned()]),
        ("/spec/names/singular", json!("A"), vec![format!("spec.names.singular: Invalid value: \"A\": {DNS_1035}")]),
        ("/spec/names/kind", json!("A.b"), vec![
            format!("spec.names.singular: Invalid value: \"a.b\": {DNS_1035}"),
            format!("spec.names.kind: Invalid value: \"A.b\": may have mixed case, but should otherwise match: {DNS_1035}"),
            format!("spec.names.listKind: Invalid value: \"A.bList\": may have mixed case, but should otherwise match: {DNS_1035}"),
        ]),
        ("/spec/names/listKind", json!("Widget"), vec!["spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same".to_owned()]),
        ("/spec/names/shortNames", json!(["a", "B", "c_"]), vec![
            format!("spec.names.shortNames[1]: Invalid value: \"B\": {DNS_1035}"),
            format!("spec.names.shortNames[2]: Invalid value: \"c_\": {DNS_1035}"),
        ]),
        ("/spec/names/categories", json!(["all", "1"]), vec![format!("spec.names.categories[1]: Invalid value: \"1\": {DNS_1035}")]),
        ("/spec/names", json!({}), vec![
            "metadata.name: Invalid value: \"widgets.example.com\": must be spec.names.plural+\".\"+spec.group".to_owned(),
            "spec.names.plural: Required value".to_owned(),
            "spec.names.singular: Required value".to_owned(),
            "spec.names.kind: Required value".to_owned(),
            "spec.names.listKind: Required value".to_owned(),
        ]),
    ] {
        assert_eq!(errors(pointer, value), expected, "{pointer}");
    }
    for (group, words) in [
        ("", "Required value"),
        ("nodots", "Invalid value: \"nodots\": should be a domain with at least one dot"),
        (
            "a..b",
            "Invalid value: \"a..b\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ),
    ] {
        let mut object = definition();
        object["spec"]["group"] = json!(group);
        object["metadata"]["name"] = json!(format!("widgets.{group}"));
        assert_eq!(created(object).1, [format!("spec.group: {words}")]);
    }
}

#[test]
fn versions_are_checked_and_what_they_share_is_shown_in_the_spec() {
    for (pointer, value, expected) in [
        ("/v/name", json!("V1"), vec![
            format!("spec.versions[0].name: Invalid value: \"V1\": {DNS_1035}"),
            format!("spec.version: Invalid value: \"V1\": {DNS_1035}"),
        ]),
        ("/v/schema", json!(null), vec!["spec.versions[0].schema.openAPIV3Schema: Required value".to_owned()]),
        ("/v/deprecationWarning", json!("gone"), vec!["spec.versions[0].deprecationWarning: Invalid value: \"gone\": can only be set for deprecated versions".to_owned()]),
        ("/v/schema/openAPIV3Schema/nullable", json!(true), vec!["spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root".to_owned()]),
        ("/spec/versions", json!([]), vec![
            "spec.versions: Invalid value: null: must have exactly one version marked as storage version".to_owned(),
            "status.storedVersions: Invalid value: null: must have at least one stored version".to_owned(),
        ]),
        ("/spec/preserveUnknownFields", json!(true), vec!["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead".to_owned()]),
        ("/spec/versions", json!([version("v1"), version("v1")]), {
            let one = "{\"Name\":\"v1\",\"Served\":true,\"Storage\":true,\"Deprecated\":false,\"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}";
            vec![
                format!("spec.versions: Invalid value: [{one},{one}]: must contain unique version names"),
                format!("spec.versions: Invalid value: [{one},{one}]: must have exactly one version marked as storage version"),
                "status.storedVersions: Invalid value: [\"v1\"]: must have the storage version v1".to_owned(),
            ]
        }),
    ] {
        assert_eq!(errors(pointer, value), expected, "{pointer}");
    }
}

#[test]
fn deprecation_warnings_are_short_and_printable() {
    for (warning, words) in [
        ("", Some("must not be an empty string")),
        (
            "a\tb",
            Some(
                "must only contain printable UTF-8 characters; non-printable character found at index 1",
            ),
        ),
        (
            "é\u{200b}",
            Some(
                "must only contain printable UTF-8 characters; non-printable character found at index 2",
            ),
        ),
        ("é is fine, 你好 too", None),
    ] {
        let mut object = definition();
        object["spec"]["versions"][0]["deprecated"] = json!(true);
        object["spec"]["versions"][0]["deprecationWarning"] = json!(warning);
        let found = created(object).1;
        let expected: Vec<String> = words
            .into_iter()
            .map(|words| {
                format!(
                    "spec.versions[0].deprecationWarning: Invalid value: {}: {words}",
                    crate::invalid::quoted(warning)
                )
            })
            .collect();
        assert_eq!(found, expected);
    }
    let mut object = definition();
    object["spec"]["versions"][0]["deprecated"] = json!(true);
    object["spec"]["versions"][0]["deprecationWarning"] = json!("x".repeat(257));
    assert!(created(object).1[0].ends_with("must be <= 256 characters long"));
}

#[test]
fn a_status_subresource_restricts_the_root_of_the_schema() {
    let with_status = |schema: Value| {
        let mut object = definition();
        object["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
        object["spec"]["versions"][0]["subresources"] = json!({"status": {}});
        created(object).1
    };
    assert_eq!(
        with_status(json!({"type": "object", "required": ["a"], "description": "d"})),
        [""; 0]
    );
    assert_eq!(
        with_status(json!({"type": "array"})),
        [
            "spec.validation.openAPIV3Schema.type: Invalid value: \"array\": only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled",
            "spec.validation.openAPIV3Schema.items: Required value: must be specified",
            "spec.validation.openAPIV3Schema.type: Invalid value: \"array\": must be object at the root"
        ]
    );
    let found = with_status(json!({
        "type": "object",
        "default": {"a": "<"},
        "items": [{}],
        "additionalProperties": true,
        "dependencies": {"a": ["b"]},
    }));
    let [error, ..] = found.as_slice() else { panic!("{found:?}") };
    assert!(error.starts_with(r#"spec.validation.openAPIV3Schema: Invalid value: {"ID":"","Schema":"","Ref":null,"Description":"","Type":"object","Nullable":false,"Format":"","Title":"","Default":{"a":"\u003c"},"Maximum":null,"#), "{error}");
    assert!(error.contains(r#""Items":{"Schema":null,"JSONSchemas":[{"ID":"","#), "{error}");
    assert!(error.contains(r#""AdditionalProperties":{"Allows":true,"Schema":null},"PatternProperties":null,"Dependencies":{"a":{"Schema":null,"Property":["b"]}},"#), "{error}");
    assert!(error.ends_with("only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled"), "{error}");
}

#[test]
fn subresources_and_columns_are_checked() {
    for (pointer, value, expected) in [
        (
            "/v/subresources",
            json!({"scale": {}}),
            vec![
                "spec.subresources.scale.specReplicasPath: Required value",
                "spec.subresources.scale.statusReplicasPath: Required value",
            ],
        ),
        (
            "/v/subresources",
            json!({"scale": {"specReplicasPath": "spec.a", "statusReplicasPath": ".spec.a", "labelSelectorPath": ".a"}}),
            vec![
                "spec.subresources.scale.specReplicasPath: Invalid value: \"spec.a\": must be a simple json path starting with .",
                "spec.subresources.scale.statusReplicasPath: Invalid value: \".spec.a\": should be a json path under .status",
                "spec.subresources.scale.labelSelectorPath: Invalid value: \".a\": should be a json path under either .spec or .status",
            ],
        ),
        (
            "/v/subresources",
            json!({"status": {}, "scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a", "labelSelectorPath": ""}}),
            vec![],
        ),
        (
            "/v/additionalPrinterColumns",
            json!([{}]),
            vec![
                "spec.additionalPrinterColumns[0].name: Required value",
                "spec.additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string",
                "spec.additionalPrinterColumns[0].JSONPath: Required value",
            ],
        ),
        (
            "/v/additionalPrinterColumns",
            json!([{"name": "a", "type": "date", "jsonPath": ".a"}, {"name": "a", "type": "x", "format": "y", "jsonPath": "a"}]),
            vec![
                "spec.additionalPrinterColumns[1].type: Invalid value: \"x\": must be one of boolean,date,integer,number,string",
                "spec.additionalPrinterColumns[1].format: Invalid value: \"y\": must be one of byte,date,date-time,double,float,int32,int64,password",
                "spec.additionalPrinterColumns[1].JSONPath: Invalid value: \"a\": must be a simple json path starting with .",
            ],
        ),
    ] {
        assert_eq!(errors(pointer, value.clone()), expected, "{value}");
    }
}

#[test]
fn selectable_fields_are_scalars_of_the_schema() {
    let with = |paths: &[&str]| {
        let fields = paths.iter().map(|path| json!({"jsonPath": path})).collect();
        errors("/v/selectableFields", fields)
    };
    for (path, words) in [
        (".spec.color", None),
        (".spec.size", None),
        (".spec.labels.a", None),
        ("", Some("Required value".to_owned())),
        ("spec.color", Some("is an invalid path: expected [ or . but got: spec".to_owned())),
        (".spec.", Some("is an invalid path: unexpected end of JSON path".to_owned())),
        (".spec['color']", Some("is an invalid path: array notation is not allowed".to_owned())),
        (".spec.none", Some("is an invalid path: does not refer to a valid field".to_owned())),
        (".spec.color.x", Some("is an invalid path: does not refer to a valid field".to_owned())),
        (".spec.labels.a.b", Some("is an invalid path: does not refer to a valid field".to_owned())),
        (".metadata.name", Some("must not point to fields in metadata".to_owned())),
        (".spec.parts", Some("must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.".to_owned())),
    ] {
        let expected: Vec<String> = words
            .into_iter()
            .map(|words| match words.as_str() {
                "Required value" => format!("spec.selectableFields[0].jsonPath: {words}"),
                _ => format!("spec.selectableFields[0].jsonPath: Invalid value: \"{path}\": {words}"),
            })
            .collect();
        assert_eq!(with(&[path]), expected);
    }
    assert_eq!(
        with(&[".spec.size", ".spec.size"]),
        ["spec.selectableFields[1].jsonPath: Duplicate value: \".spec.size\""]
    );
    let keys: Vec<String> = (0..9).map(|n| format!(".spec.labels.k{n}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    assert_eq!(with(&keys), ["spec.selectableFields: Too many: 9: must have at most 8 items"]);
}

#[test]
fn conversion_is_none_or_refused() {
    let url = |url: &str| json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": url}}});
    let refused = "spec.conversion.strategy: Invalid value: \"Webhook\": this server does not call conversion webhooks; use None, which changes only the apiVersion of objects";
    for (conversion, expected) in [
        (json!({"strategy": "None"}), vec![]),
        (
            json!({"strategy": "Magic"}),
            vec![
                "spec.conversion.strategy: Unsupported value: \"Magic\": supported values: \"None\", \"Webhook\"",
            ],
        ),
        (
            json!({"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {}}}),
            vec![
                "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
                "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
            ],
        ),
        (
            json!({"strategy": "Webhook"}),
            vec![
                "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
                "spec.conversion.conversionReviewVersions: Required value",
            ],
        ),
        (
            json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v9", "v9"], "clientConfig": {}}}),
            vec![
                "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
                "spec.conversion.conversionReviewVersions[1]: Invalid value: \"v9\": duplicate version",
                "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\",\"v9\"]: must include at least one of v1, v1beta1",
            ],
        ),
        (
            json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "a", "path": "/x//y"}}}}),
            vec![
                "spec.conversion.webhookClientConfig.service.name: Required value",
                "spec.conversion.webhookClientConfig.service.path: Invalid value: \"/x//y\": segment[1] may not be empty",
            ],
        ),
        (url("https://a.b/c"), vec![refused]),
        (
            url("http://u@a.b/c?d#e"),
            vec![
                "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
                "spec.conversion.webhookClientConfig.url: Invalid value: \"u\": user information is not permitted in the URL",
                "spec.conversion.webhookClientConfig.url: Invalid value: \"e\": fragments are not permitted in the URL",
                "spec.conversion.webhookClientConfig.url: Invalid value: \"d\": query parameters are not permitted in the URL",
            ],
        ),
    ] {
        assert_eq!(errors("/spec/conversion", conversion.clone()), expected, "{conversion}");
    }
}

#[test]
fn protected_groups_need_approval() {
    let with = |annotation: Option<&str>| {
        let mut object = definition();
        object["spec"]["group"] = json!("sigs.k8s.io");
        object["metadata"]["name"] = json!("widgets.sigs.k8s.io");
        if let Some(annotation) = annotation {
            object["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": annotation});
        }
        object
    };
    let must = "protected groups must have approval annotation \"api-approved.kubernetes.io\"";
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let path = "metadata.annotations[api-approved.kubernetes.io]";
    let (stored, missing) = created(with(None));
    assert_eq!(missing, [format!("{path}: Required value: {must}, {see}")]);
    let form = "with either a URL or a reason starting with \"unapproved\"";
    let invalid = format!("{path}: Invalid value: \"x\": {must} {form}, {see}");
    assert_eq!(created(with(Some("x"))).1, [invalid.as_str()]);
    for approved in ["unapproved, experimental", "https://github.com/kubernetes/kubernetes/pull/1"]
    {
        assert_eq!(created(with(Some(approved))).1, [""; 0]);
    }
    // What was stored without stays without, but does not become invalid.
    assert_eq!(updated(&stored, |_| ()).1, [""; 0]);
    let annotate = |new: &mut Value| {
        new["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "x"});
    };
    assert_eq!(updated(&stored, annotate).1, [invalid]);
}

#[test]
fn an_update_raises_the_generation_only_with_the_spec() {
    let (old, _) = created(definition());
    let (same, errors) = updated(&old, |new| {
        new["metadata"]["labels"] = json!({"a": "b"});
        new["spec"]["names"]["shortNames"] = json!([]);
        new["spec"]["versions"][0]["additionalPrinterColumns"] = json!(null);
        new["status"] = json!({});
    });
    assert_eq!(errors, [""; 0]);
    assert_eq!((&same["metadata"]["generation"], &same["status"]), (&json!(1), &old["status"]));
    let (changed, _) = updated(&old, |new| new["spec"]["names"]["shortNames"] = json!(["w"]));
    assert_eq!(changed["metadata"]["generation"], 2);
}

#[test]
fn stored_versions_grow_and_must_remain() {
    let (old, _) = created(definition());
    let (new, errors) = updated(&old, |new| {
        new["spec"]["versions"][0]["storage"] = json!(false);
        new["spec"]["versions"].as_array_mut().unwrap().push(version("v2"));
    });
    assert_eq!(errors, [""; 0]);
    assert_eq!(new["status"]["storedVersions"], json!(["v1", "v2"]));
    let (_, errors) = updated(&new, |new| {
        new["spec"]["versions"].as_array_mut().unwrap().remove(0);
    });
    assert_eq!(
        errors,
        [
            "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions"
        ]
    );
}

#[test]
fn what_objects_are_stored_by_is_immutable() {
    let (mut old, _) = created(definition());
    let change = |new: &mut Value| {
        new["spec"]["scope"] = json!("Cluster");
        new["spec"]["names"]["kind"] = json!("Gadget");
        new["spec"]["group"] = json!("example.org");
        new["spec"]["names"]["plural"] = json!("gadgets");
    };
    let always = [
        "spec.group: Invalid value: \"example.org\": field is immutable",
        "spec.names.plural: Invalid value: \"gadgets\": field is immutable",
    ];
    assert_eq!(updated(&old, change).1, always);
    old["status"]["conditions"] = json!([{"type": "Established", "status": "True"}]);
    let once = [
        "spec.scope: Invalid value: \"Cluster\": field is immutable",
        "spec.names.kind: Invalid value: \"Gadget\": field is immutable",
    ];
    assert_eq!(updated(&old, change).1, [once, always].concat());
}

#[test]
fn a_write_of_the_status_keeps_the_spec_and_may_remove_a_finalizer() {
    let (mut old, _) = created(definition());
    old["metadata"]["finalizers"] = json!(["a.io/b"]);
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!([]);
    new["spec"] = json!({});
    new["status"]["acceptedNames"]["plural"] = json!("A");
    let (strategy, at) = (&CUSTOM_RESOURCE_DEFINITION.strategy, facts::admission());
    strategy.default(&mut new, &at);
    strategy.prepare_update(Part::Status, &mut new, &old, &at);
    assert_eq!((&new["spec"], &new["metadata"]["finalizers"]), (&old["spec"], &json!([])));
    assert_eq!(
        facts::texts(&strategy.validate_update(Part::Status, &new, &old, &at)),
        [format!("status.acceptedNames.plural: Invalid value: \"A\": {DNS_1035}")]
    );
}

#[test]
fn a_version_may_do_without_a_schema_if_one_did_before() {
    let (mut old, _) = created(definition());
    old["spec"]["versions"][0]["schema"] = json!({});
    let (_, errors) = updated(&old, |_| ());
    assert_eq!(
        errors,
        [
            "spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned"
        ]
    );
    let unserved = updated(&old, |new| new["spec"]["versions"][0]["served"] = json!(false)).1;
    assert_eq!(unserved, [""; 0]);
}

#[test]
fn unrecognized_formats_and_sets_of_structures_are_warned_of_once() {
    let strategy = &CUSTOM_RESOURCE_DEFINITION.strategy;
    let with = |properties: Value| {
        let mut object = definition();
        *entry(&mut object["spec"]["versions"][0], &["schema", "openAPIV3Schema", "properties"]) =
            properties;
        created(object).0
    };
    let new = with(json!({
        "a": {"type": "string", "format": "date-time"},
        "b": {"type": "string", "format": "zip"},
        "c": {"type": "array", "items": {"type": "integer", "format": "int8"}},
        "d": {"not": {"format": "zip"}, "type": "number", "format": "double"},
        "e": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}},
        "f": {"type": "boolean", "format": "yesno"},
        "g": {"format": "k8s-short-name", "additionalProperties": {"type": "integer", "format": "int64"}},
    }));
    let set = "x-kubernetes-list-type: set for items of type \"object\" is not supported by server-side apply or CEL validation rules";
    let formats =
        ["zip", "int8", "yesno"].map(|format| format!("unrecognized format \"{format}\""));
    let all: Vec<String> = formats.iter().cloned().chain([set.to_owned()]).collect();
    assert_eq!(strategy.warnings(&new, None), all);
    assert_eq!(strategy.warnings(&new, Some(&new)), [""; 0]);
    let old = with(json!({"a": {"type": "string", "format": "zip"}}));
    assert_eq!(strategy.warnings(&new, Some(&old)), all[1..]);
}

#[test]
fn cells_are_those_of_kubernetes() {
    let (mut object, _) = created(definition());
    object["metadata"]["creationTimestamp"] = json!("2026-01-02T03:04:05Z");
    object["spec"]["names"]["shortNames"] = json!(["w", "wi"]);
    let mut old = version("v0");
    old["storage"] = json!(false);
    let mut unserved = version("v3");
    unserved["served"] = json!(false);
    let versions = object["spec"]["versions"].as_array_mut().unwrap();
    versions.extend([old, unserved]);
    let cells = |object: &Value| -> Vec<Value> {
        let columns = CUSTOM_RESOURCE_DEFINITION.columns.iter();
        columns.map(|column| (column.cell)(object, facts::admission().now)).collect()
    };
    let (name, kind) = ("widgets.example.com", "Widget");
    assert_eq!(
        json!(cells(&object)),
        json!([
            name,
            "Namespaced",
            "v0,v1(storage)",
            "2026-01-02T03:04:05Z",
            "example.com",
            kind,
            "w,wi",
            false
        ])
    );
    object["status"]["conditions"] = json!([{"type": "Established", "status": "True"}]);
    assert_eq!(cells(&object)[7], true);
}

#[test]
fn a_huge_schema_is_judged_and_shown_in_bounded_space() {
    let properties: serde_json::Map<String, Value> =
        (0..60_000).map(|n| (format!("p{n}"), json!({}))).collect();
    let mut object = definition();
    let mut other = version("v1");
    other["schema"]["openAPIV3Schema"]["properties"] = properties.into();
    object["spec"]["versions"] = json!([version("v1"), other]);
    let (_, errors) = created(object);
    assert!(errors.len() > 3, "{}", errors.len());
    let size: usize = errors.iter().map(String::len).sum();
    assert!(size < 8 << 20, "{size}");
}

#[test]
fn values_that_no_decoder_returns_do_not_panic() {
    let at = facts::admission();
    let strategy = &CUSTOM_RESOURCE_DEFINITION.strategy;
    for mut object in [
        json!({}),
        json!({"spec": 1, "status": []}),
        json!({"spec": {"versions": [1, null, {"schema": 2, "subresources": []}], "names": "x"}}),
        json!({"spec": {"conversion": 3, "versions": {"a": 1}}, "status": {"storedVersions": [1]}}),
    ] {
        strategy.default(&mut object, &at);
        strategy.prepare_create(&mut object, &at);
        assert!(!strategy.validate_create(&object, &at).is_empty());
        strategy.warnings(&object, Some(&object));
        let old = object.clone();
        strategy.prepare_update(Part::Main, &mut object, &old, &at);
        strategy.validate_update(Part::Main, &object, &old, &at);
    }
    assert!(types::schema().named(super::SPEC).is_some());
}
