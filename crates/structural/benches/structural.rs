//! What a custom resource costs beyond an object of a built-in kind, and what a definition costs.
//! `cargo xtask bench structural`.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use evenkeel_structural::{Path, Schema, Tolerance, check_definition};
use serde_json::{Value, json};

/// A schema of about 20 KB, most of which are descriptions, as generated from types of Go.
fn definition() -> Value {
    let text = "Describes the field, what it is for, and what becomes of it when it is not set. ";
    let container = json!({
        "type": "object", "required": ["name", "image"], "description": text.repeat(2),
        "properties": {
            "name": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "description": text},
            "image": {"type": "string", "minLength": 1, "description": text},
            "command": {"type": "array", "items": {"type": "string"}, "description": text},
            "pullPolicy": {"type": "string", "enum": ["Always", "IfNotPresent", "Never"], "default": "IfNotPresent"},
            "ports": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
                "items": {
                    "type": "object", "required": ["port"], "description": text,
                    "properties": {
                        "name": {"type": "string", "description": text},
                        "port": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
                        "protocol": {"type": "string", "default": "TCP"},
                        "target": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                    },
                },
            },
            "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": text},
        },
    });
    let mut spec = serde_json::Map::new();
    for part in 0..8 {
        spec.insert(
            format!("part{part}"),
            json!({
                "type": "object", "description": text.repeat(4),
                "properties": {
                    "replicas": {"type": "integer", "format": "int32", "minimum": 0, "default": 1, "description": text},
                    "containers": {"type": "array", "items": container, "description": text},
                },
            }),
        );
    }
    let condition = json!({
        "type": "object", "required": ["type", "status"],
        "properties": {
            "type": {"type": "string"}, "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "lastTransitionTime": {"type": "string", "format": "date-time"}, "message": {"type": "string"},
        },
    });
    json!({
        "type": "object", "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": text.repeat(3)},
            "kind": {"type": "string", "description": text.repeat(3)},
            "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": spec},
            "status": {"type": "object", "properties": {"conditions": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": condition,
            }}},
        },
    })
}

/// An object of about 2 KB.
fn object() -> Value {
    let container = |i: usize| {
        json!({
            "name": format!("container-{i}"), "image": "registry.example.com/team/service:1.2.3",
            "command": ["serve", "--port", "8080", "--config", "/etc/service/config.yaml"],
            "ports": [{"name": "http", "port": 8080, "target": "http"}, {"name": "metrics", "port": 9090, "target": 9090}],
            "env": {"LOG_LEVEL": "info", "REGION": "eu-central-1", "CACHE_SIZE": "512Mi"},
        })
    };
    json!({
        "apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"name": "thing", "namespace": "shop", "labels": {"app": "thing"}},
        "spec": {
            "part0": {"replicas": 3, "containers": [container(0), container(1), container(2)]},
            "part1": {"containers": [container(3), container(4)]},
        },
        "status": {"conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "ready"},
            {"type": "Synced", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "waiting"},
        ]},
    })
}

fn definitions(c: &mut Criterion) {
    let value = definition();
    let mut group = c.benchmark_group(format!("definition of {} bytes", value.to_string().len()));
    group.bench_function("parse", |b| b.iter(|| Schema::parse(black_box(&value)).is_ok()));
    let schema = Schema::parse(&value).expect("it is a schema");
    let (base, options) = (Path::root("spec.validation.openAPIV3Schema"), Tolerance::default());
    assert!(check_definition(&schema, &base, options).is_empty());
    group.bench_function("check", |b| {
        b.iter(|| check_definition(black_box(&schema), &base, options));
    });
    group.finish();
}

fn objects(c: &mut Criterion) {
    let schema = Schema::parse(&definition()).expect("it is a schema");
    let written = object();
    let mut stored = written.clone();
    assert!(schema.prune(&mut stored).is_empty());
    schema.fill_defaults(&mut stored);
    assert!(schema.validate(&stored).is_empty());
    let mut group = c.benchmark_group(format!("object of {} bytes", written.to_string().len()));
    group.bench_function("prune", |b| {
        b.iter_batched_ref(
            || written.clone(),
            |object| schema.prune(object),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("default", |b| {
        b.iter_batched_ref(
            || written.clone(),
            |object| schema.fill_defaults(object),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("validate", |b| b.iter(|| schema.validate(black_box(&stored))));
    let mut changed = stored.clone();
    changed["spec"]["part0"]["replicas"] = json!(5);
    group.bench_function("validate an update", |b| {
        b.iter(|| schema.validate_update(black_box(&changed), &stored));
    });
    group.finish();
}

criterion_group!(benches, definitions, objects);
criterion_main!(benches);
