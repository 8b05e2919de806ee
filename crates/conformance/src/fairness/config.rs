//! `config_validation.jsonl`: defaults and validation of objects. `classify_configs.jsonl`: what
//! is in force when objects exist.

use evenkeel_fairness::dialect::{
    Finding,
    kubernetes::{
        self, FieldError, FlowSchema, PriorityLevelConfiguration, validate_flow_schema,
        validate_priority_level,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::{Outcome, diff};

pub(super) fn validation(case: Value) -> Outcome {
    let case: ValidationCase = serde_json::from_value(case)?;
    let (spec, mut errors) = match case.kind.as_str() {
        "FlowSchema" => {
            let mut schema: FlowSchema = serde_json::from_value(case.object)?;
            schema.spec.set_defaults();
            (serde_json::to_value(&schema.spec)?, validate_flow_schema(&schema))
        }
        _ => {
            let mut level: PriorityLevelConfiguration = serde_json::from_value(case.object)?;
            level.spec.set_defaults();
            (serde_json::to_value(&level.spec)?, validate_priority_level(&level))
        }
    };
    errors.sort_by(|a, b| a.field.cmp(&b.field));
    let got = json!({
        "defaulted_spec": spec,
        "valid": errors.is_empty(),
        "errors": errors.iter().map(error).collect::<Vec<_>>(),
    });
    Ok(diff("", &case.expect, &got))
}

pub(super) fn configs(case: Value) -> Outcome {
    let case: ConfigCase = serde_json::from_value(case)?;
    let compiled = kubernetes::compile(&case.priority_levels, &case.flow_schemas);
    let schemas = compiled.config.schemas.iter().map(|schema| &*schema.name);
    let levels = compiled.config.levels.iter().map(|level| &*level.name);
    let dangling = compiled.findings.iter().filter_map(|finding| match finding {
        Finding::MissingPriorityLevel { schema, .. } => Some(schema.as_str()),
        _ => None,
    });
    let mut dangling: Vec<&str> = dangling.collect();
    dangling.sort_unstable();
    let mut diffs = diff(
        "effective_match_order",
        &case.effective_match_order,
        &json!(schemas.collect::<Vec<_>>()),
    );
    let levels = json!(levels.collect::<Vec<_>>());
    diffs.extend(diff("effective_priority_levels", &case.effective_priority_levels, &levels));
    diffs.extend(diff("dangling_flow_schemas", &case.dangling_flow_schemas, &json!(dangling)));
    Ok(diffs)
}

#[derive(Deserialize)]
struct ValidationCase {
    kind: String,
    object: Value,
    expect: Value,
}

#[derive(Deserialize)]
struct ConfigCase {
    priority_levels: Vec<PriorityLevelConfiguration>,
    flow_schemas: Vec<FlowSchema>,
    effective_match_order: Value,
    effective_priority_levels: Value,
    dangling_flow_schemas: Value,
}

fn error(error: &FieldError) -> Value {
    json!({"field": error.field, "type": error.kind.code()})
}
