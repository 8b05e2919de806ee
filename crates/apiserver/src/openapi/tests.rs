//! The checker of recorded properties is the conformance suite's own.
#[path = "../../../conformance/src/apiserver/openapi_facts.rs"]
mod facts;

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use serde_json::{Value, json};

use super::{built_in, built_ins, hash, v2, v3, v3_index};
use crate::kinds::{Catalogue, KINDS};

fn parsed(name: &str) -> Value {
    serde_json::from_slice(&built_in(name).unwrap().json().concat()).unwrap()
}

fn parsed_v2() -> Value {
    serde_json::from_slice(&v2(&Catalogue::default()).json().concat()).unwrap()
}

/// All objects that contain a `$ref`.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|one| references(one, found)),
        Value::Object(object) => {
            found.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
            object.values().for_each(|one| references(one, found));
        }
        _ => {}
    }
}

#[test]
fn recorded_facts_about_documents_hold() {
    let here = || concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance").into();
    let dir = env::var_os("EVENKEEL_VECTORS").map_or_else(here, PathBuf::from);
    let text = fs::read_to_string(dir.join("apiserver/openapi_facts.jsonl")).unwrap();
    let mut documents = BTreeMap::new();
    let mut fetch = |path: &str| {
        let name = path.strip_prefix("/openapi/v3/").ok_or("not a document")?;
        built_in(name).ok_or("not found")?;
        Ok(documents.entry(name.to_owned()).or_insert_with(|| parsed(name)).clone())
    };
    let facts: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let check =
        |fact: &Value| Some(format!("{}: {}", fact["id"], facts::check(fact, &mut fetch).err()?));
    let failures: Vec<String> = facts.iter().filter_map(check).collect();
    assert!(
        failures.is_empty(),
        "{} of {} failed:\n{}",
        failures.len(),
        facts.len(),
        failures.join("\n")
    );
    assert!(facts.len() > 100, "{}", facts.len());
}

#[test]
fn the_index_names_every_document_by_its_hash() {
    let served = Catalogue::default();
    let index: Value = serde_json::from_slice(&v3_index(&served).json().concat()).unwrap();
    let paths = index["paths"].as_object().unwrap();
    for name in [
        "api",
        "apis",
        "version",
        "api/v1",
        "apis/apps",
        "apis/apps/v1",
        "apis/discovery.k8s.io/v1",
    ] {
        let address = format!("/openapi/v3/{name}?hash={}", v3(&served, name).unwrap().hash());
        assert_eq!(paths[name], json!({ "serverRelativeURL": address }), "{name}");
    }
    assert_eq!(paths.len(), built_ins().len());
    assert!(v3(&served, "apis/no.such.group/v1").is_none());
}

#[test]
fn every_reference_leads_to_a_schema() {
    let v2 = parsed_v2();
    let names = built_ins().iter().map(|(name, _)| name);
    let documents =
        names.map(|name| (parsed(name), "#/components/schemas/", "/components/schemas"));
    for (document, begin, pointer) in documents.chain([(v2, "#/definitions/", "/definitions")]) {
        let schemas = document.pointer(pointer).unwrap();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(!found.is_empty() || document["paths"].get("/version/").is_some());
        for reference in found {
            let name = reference.strip_prefix(begin).unwrap_or_else(|| panic!("{reference}"));
            assert!(schemas[name].is_object(), "{name} is missing");
        }
    }
}

#[test]
fn every_kind_has_its_paths_and_is_described() {
    for kind in KINDS {
        let name = if kind.group.is_empty() {
            "api/v1".to_owned()
        } else {
            format!("apis/{}/{}", kind.group, kind.version)
        };
        let document = parsed(&name);
        let scope = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
        let collection = format!("/{name}{scope}/{}", kind.plural);
        for path in [collection.clone(), format!("{collection}/{{name}}")] {
            let item = &document["paths"][&path];
            assert_eq!(
                item["get"]["x-kubernetes-group-version-kind"]["kind"], *kind.kind,
                "{path}"
            );
        }
        let schema = &document["components"]["schemas"][&*kind.schema];
        assert!(schema["description"].is_string(), "{} has no description", kind.schema);
        let kinds = json!([{ "group": kind.group, "kind": kind.kind, "version": kind.version }]);
        assert_eq!(schema["x-kubernetes-group-version-kind"], kinds);
    }
}

#[test]
fn the_fields_of_topology_are_described() {
    let table = [
        ("api/v1", "io.k8s.api.core.v1.ServiceSpec", "trafficDistribution"),
        ("api/v1", "io.k8s.api.core.v1.ServiceSpec", "internalTrafficPolicy"),
        ("apis/discovery.k8s.io/v1", "io.k8s.api.discovery.v1.Endpoint", "hints"),
        ("apis/discovery.k8s.io/v1", "io.k8s.api.discovery.v1.EndpointHints", "forZones"),
        ("apis/discovery.k8s.io/v1", "io.k8s.api.discovery.v1.EndpointHints", "forNodes"),
    ];
    for (document, schema, field) in table {
        let property = &parsed(document)["components"]["schemas"][schema]["properties"][field];
        assert!(
            property["description"].as_str().is_some_and(|words| words.len() > 20),
            "{schema}.{field}"
        );
    }
}

#[test]
fn version_2_says_the_same_in_its_own_form() {
    let document = parsed_v2();
    let ports = &document["definitions"]["io.k8s.api.core.v1.ServiceSpec"]["properties"]["ports"];
    assert_eq!(ports["items"], json!({ "$ref": "#/definitions/io.k8s.api.core.v1.ServicePort" }));
    assert_eq!(ports["x-kubernetes-patch-merge-key"], "port");
    let target =
        &document["definitions"]["io.k8s.api.core.v1.ServicePort"]["properties"]["targetPort"];
    assert_eq!(target["$ref"], "#/definitions/io.k8s.apimachinery.pkg.util.intstr.IntOrString");
    let int_or_string = &document["definitions"]["io.k8s.apimachinery.pkg.util.intstr.IntOrString"];
    assert_eq!(
        (&int_or_string["type"], &int_or_string["format"]),
        (&json!("string"), &json!("int-or-string"))
    );
    let create = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["post"];
    let body = json!({ "name": "body", "in": "body", "required": true,
                       "schema": { "$ref": "#/definitions/io.k8s.api.apps.v1.Deployment" } });
    assert_eq!(create["parameters"][0], body);
    assert_eq!(create["consumes"], json!(["*/*"]));
    let options = &document["definitions"]["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"];
    assert!(options["x-kubernetes-group-version-kind"].as_array().unwrap().len() > 2);
}

#[test]
fn the_hash_is_that_of_the_published_algorithm() {
    // Test vectors of FNV-1a with 128 bits.
    assert_eq!(hash(b""), "6C62272E07BB014262B821756295C58D");
    assert_eq!(hash(b"a"), "D228CB696F1A8CAF78912B704E4A8964");
}
