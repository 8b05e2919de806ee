//! The objects the proposal exhibits: when they are to be created, and that they are excused from
//! rules of the proposal which they break.

use std::sync::LazyLock;

use super::object::{FlowSchema, RequestPriority};
use crate::dialect::load;

/// Objects to be created, or those there are to create.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exhibited {
    pub levels: Vec<RequestPriority>,
    pub schemas: Vec<FlowSchema>,
}

/// The objects that are created by default.
pub fn exhibited() -> &'static Exhibited {
    static FIRST: LazyLock<Exhibited> = LazyLock::new(|| {
        let mut exhibited = all().clone();
        let mut names = Vec::new();
        exhibited.schemas.retain(|schema| {
            let is_first = !names.contains(&schema.metadata.name);
            names.push(schema.metadata.name.clone());
            is_first
        });
        exhibited
    });
    &FIRST
}

/// Which of the exhibited objects are to be created beside those that exist: the levels while no
/// level is exempt, the schemas while none refers to an exempt level, and in either case only
/// those whose names are free. A schema that refers to a level about to be created counts.
///
/// This is for a server that stores objects, to be carried out whenever one changes; it comes to an
/// end, since what is created has its name in use from then on. Until then, and where objects are
/// files that the server does not write, the backstops apply.
pub fn missing(levels: &[RequestPriority], schemas: &[FlowSchema]) -> Exhibited {
    let mut missing = Exhibited::default();
    let is_exempt = |level: &RequestPriority| level.spec.exempt;
    if !levels.iter().any(is_exempt) {
        let free =
            |l: &&RequestPriority| !levels.iter().any(|e| e.metadata.name == l.metadata.name);
        missing.levels = exhibited().levels.iter().filter(free).cloned().collect();
    }
    let exempt: Vec<&str> = levels
        .iter()
        .chain(&missing.levels)
        .filter(|level| is_exempt(level))
        .map(|level| level.metadata.name.as_str())
        .collect();
    let refers = |schema: &FlowSchema| {
        schema.spec.request_priority.name.as_deref().is_some_and(|name| exempt.contains(&name))
    };
    if !schemas.iter().any(refers) {
        let free = |s: &&FlowSchema| !schemas.iter().any(|e| e.metadata.name == s.metadata.name);
        missing.schemas = exhibited().schemas.iter().filter(free).cloned().collect();
    }
    missing
}

/// Whether the schema is one of the exhibited ones, value for value.
pub(super) fn is_exhibited(schema: &FlowSchema) -> bool {
    all().schemas.iter().any(|exhibited| {
        let (ours, theirs) = (&exhibited.spec, &schema.spec);
        exhibited.metadata.name == schema.metadata.name
            && ours.matching_priority() == theirs.matching_priority()
            && ours.request_priority == theirs.request_priority
            && ours.flow_distinguisher == theirs.flow_distinguisher
            && ours.r#match == theirs.r#match
    })
}

fn all() -> &'static Exhibited {
    static ALL: LazyLock<Exhibited> = LazyLock::new(|| {
        let objects = load("exhibited.yaml", include_str!("exhibited.yaml"));
        assert!(objects.problems.is_empty(), "{:?}", objects.problems);
        let levels = objects.proposal.levels.into_iter().map(|located| located.object);
        let schemas = objects.proposal.schemas.into_iter().map(|located| located.object);
        Exhibited { levels: levels.collect(), schemas: schemas.collect() }
    });
    &ALL
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(missing: &Exhibited) -> (Vec<&str>, Vec<&str>) {
        let levels = missing.levels.iter().map(|l| l.metadata.name.as_str());
        let schemas = missing.schemas.iter().map(|s| s.metadata.name.as_str());
        (levels.collect(), schemas.collect())
    }

    const LEVELS: [&str; 5] =
        ["system-top", "system-high", "system-low", "workload-high", "workload-low"];

    #[test]
    fn everything_is_created_from_nothing_and_nothing_then() {
        let first = missing(&[], &[]);
        assert_eq!(first.levels.len(), 5);
        let schemas = ["system-top", "system-high", "system-low", "workload-high", "workload-low"];
        assert_eq!(names(&first), (LEVELS.to_vec(), schemas.to_vec()));
        assert_eq!(missing(&first.levels, &first.schemas), Exhibited::default());
    }

    #[test]
    fn an_exempt_level_of_any_name_is_enough_for_levels_but_not_for_schemas() {
        let mut top = exhibited().levels[0].clone();
        top.metadata.name = "root".to_owned();
        assert_eq!(names(&missing(&[top.clone()], &[])).0, [""; 0]);
        assert_eq!(missing(&[top.clone()], &[]).schemas.len(), 5);
        let mut schema = exhibited().schemas[0].clone();
        schema.metadata.name = "workload-low".to_owned();
        let others = ["system-top", "system-high", "system-low", "workload-high"];
        assert_eq!(names(&missing(&[top.clone()], &[schema.clone()])).1, others);
        schema.spec.request_priority.name = Some("root".to_owned());
        assert_eq!(missing(&[top], &[schema]), Exhibited::default());
    }

    /// Every subset of levels, exempt or not, and of schemas at any level: what is created is enough.
    #[test]
    fn creation_comes_to_an_end_whatever_exists() {
        let subset = |of: usize, i: usize| of >> i & 1 == 1;
        for bits in 0..1 << 12 {
            let (levels, schemas) = (bits & 63, bits >> 6);
            let mut there = Exhibited::default();
            for (i, level) in exhibited().levels.iter().enumerate().filter(|l| subset(levels, l.0))
            {
                // One of the names is taken by a level that is not exempt, if bit 5 says so.
                let same = if subset(levels, 5) { &exhibited().levels[1] } else { level };
                let mut level = RequestPriority { spec: same.spec.clone(), ..level.clone() };
                level.metadata.uid = i.to_string();
                there.levels.push(level);
            }
            for (_, schema) in
                exhibited().schemas.iter().enumerate().filter(|s| subset(schemas, s.0))
            {
                let mut schema = schema.clone();
                if subset(schemas, 5) {
                    schema.spec.request_priority.name = Some("system-top".to_owned());
                }
                there.schemas.push(schema);
            }
            let Exhibited { levels, schemas } = missing(&there.levels, &there.schemas);
            there.levels.extend(levels);
            there.schemas.extend(schemas);
            assert_eq!(missing(&there.levels, &there.schemas), Exhibited::default(), "{bits:b}");
        }
    }

    #[test]
    fn names_in_use_are_left_alone() {
        let mut level = exhibited().levels[1].clone();
        level.metadata.name = "system-top".to_owned();
        assert_eq!(names(&missing(&[level], &[])).0, LEVELS[1..]);
    }
}
