//! Kubernetes' dialect: `flowcontrol.apiserver.k8s.io/v1`.

mod compile;
mod defaulting;
mod defaults;
mod fields;
mod maintain;
mod object;
mod rules;
mod served;
mod validation;

pub use self::{
    compile::compile,
    defaults::{Defaults, defaults, is_mandatory},
    maintain::{Changes, Plan, maintain},
    object::{
        API_VERSION, AUTOUPDATE, DistinguisherMethod, Exempt, FlowSchema, FlowSchemaSpec,
        LimitResponse, Limited, Metadata, NonResourcePolicyRule, PolicyRules,
        PriorityLevelConfiguration, PriorityLevelSpec, QueuingConfiguration, Reference,
        ResourcePolicyRule, ServiceAccount, Subject,
    },
    served::served,
    validation::{
        BadValue, FieldError, FieldErrorKind, validate_flow_schema, validate_priority_level,
    },
};
pub(super) use self::{defaults::CATCH_ALL, fields::unknown_fields};
use super::{Fault, Located, Problem};

/// Objects of this dialect, each with its location.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub levels: Vec<Located<PriorityLevelConfiguration>>,
    pub schemas: Vec<Located<FlowSchema>>,
}

impl Objects {
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty() && self.schemas.is_empty()
    }

    /// Fills in defaults, and takes out what Kubernetes would reject, and seconds of a name.
    pub(super) fn sift(&mut self, problems: &mut Vec<Problem>) {
        for level in &mut self.levels {
            level.object.spec.set_defaults();
        }
        for schema in &mut self.schemas {
            schema.object.spec.set_defaults();
        }
        Located::sift_duplicates(&mut self.levels, problems);
        Located::sift_duplicates(&mut self.schemas, problems);
        self.levels.retain(|level| accept(level, validate_priority_level, problems));
        self.schemas.retain(|schema| accept(schema, validate_flow_schema, problems));
    }
}

fn accept<T>(
    located: &Located<T>,
    validate: fn(&T) -> Vec<FieldError>,
    problems: &mut Vec<Problem>,
) -> bool {
    let errors = validate(&located.object);
    let accepted = errors.is_empty();
    problems.extend(errors.into_iter().map(|FieldError { field, kind, detail, .. }| {
        Problem::at(&located.location, field, Fault::Invalid { kind, detail })
    }));
    accepted
}
