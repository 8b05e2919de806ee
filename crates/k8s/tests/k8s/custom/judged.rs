//! The definitions before the API server's own judge of schemas and objects.

use std::sync::LazyLock;

use evenkeel_fairness::dialect::stored::ObjectKind;
use evenkeel_k8s::custom::definitions;
use evenkeel_structural::{Path, Schema, Tolerance, cel, check_definition};
use serde_json::Value;

/// The schema of a kind, with its rules.
pub(super) struct Judge {
    schema: Schema,
    rules: cel::Rules,
}

impl Judge {
    pub(super) fn of(kind: ObjectKind) -> &'static Judge {
        static JUDGES: LazyLock<Vec<(String, Judge)>> = LazyLock::new(|| {
            let of = |definition: Value| {
                let kind = definition["spec"]["names"]["kind"].as_str().unwrap().to_owned();
                let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
                let schema = Schema::parse(schema).unwrap();
                (kind, Judge { schema, rules: cel::Rules::default() })
            };
            definitions().into_iter().map(of).collect()
        });
        &JUDGES.iter().find(|(name, _)| name == kind.name()).unwrap().1
    }

    /// As the server does: pruned and with defaults.
    pub(super) fn problems(&self, object: &Value) -> Vec<String> {
        let mut object = object.clone();
        self.schema.prune(&mut object);
        self.schema.fill_defaults(&mut object);
        let mut errors = self.schema.validate(&object);
        if errors.is_empty() {
            errors = self.rules.validate(&self.schema, &object, None).errors;
        }
        errors.iter().map(ToString::to_string).collect()
    }
}

#[test]
fn definitions_are_structural_and_their_rules_cheap() {
    for kind in [ObjectKind::FlowSchema, ObjectKind::RequestPriority] {
        let Judge { schema, .. } = Judge::of(kind);
        let path = Path::root("spec.validation.openAPIV3Schema");
        let mut errors = check_definition(schema, &path, Tolerance::default());
        errors.append(cel::check_definition(schema, &path));
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, [""; 0], "{}", kind.name());
    }
}
