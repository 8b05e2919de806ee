//! Keeping the default objects: what an API server's producer does once a minute.
//!
//! Mandatory objects are always restored. Suggested ones are re-created when absent, and
//! overwritten only while they are annotated so, or, without a readable annotation, while their
//! generation shows that nobody changed them. Annotated objects that are built in no longer are
//! deleted. The annotation itself is brought up to date too.

use super::{
    defaults::{EXEMPT, defaults, is_mandatory},
    object::{AUTOUPDATE, FlowSchema, Metadata, PriorityLevelConfiguration},
};

/// What to write so that the default objects are as they should be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub levels: Changes<PriorityLevelConfiguration>,
    pub schemas: Changes<FlowSchema>,
}

/// What to write of one kind; deletions by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes<T> {
    pub create: Vec<T>,
    pub update: Vec<T>,
    pub delete: Vec<String>,
}

/// Compares what exists with the defaults.
pub fn maintain(levels: &[PriorityLevelConfiguration], schemas: &[FlowSchema]) -> Plan {
    Plan {
        levels: changes(levels, &defaults().levels),
        schemas: changes(schemas, &defaults().schemas),
    }
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty() && self.schemas.is_empty()
    }
}

impl<T> Changes<T> {
    pub fn is_empty(&self) -> bool {
        self.create.is_empty() && self.update.is_empty() && self.delete.is_empty()
    }
}

impl<T> Default for Changes<T> {
    fn default() -> Self {
        Changes { create: Vec::new(), update: Vec::new(), delete: Vec::new() }
    }
}

trait Maintained: Clone {
    fn metadata(&self) -> &Metadata;
    fn metadata_mut(&mut self) -> &mut Metadata;
    fn has_spec_of(&self, default: &Self) -> bool;
    fn take_spec_of(&mut self, default: &Self);
}

fn changes<T: Maintained>(existing: &[T], defaults: &[T]) -> Changes<T> {
    let mut changes = Changes::default();
    for default in defaults {
        let name = &default.metadata().name;
        match existing.iter().find(|object| object.metadata().name == *name) {
            None => changes.create.push(default.clone()),
            Some(object) => changes.update.extend(revised(object, default)),
        }
    }
    let is_default = |name: &str| defaults.iter().any(|d| d.metadata().name == name);
    let stale = existing
        .iter()
        .map(Maintained::metadata)
        .filter(|metadata| annotation(metadata) == Some(true) && !is_default(&metadata.name));
    changes.delete = stale.map(|metadata| metadata.name.clone()).collect();
    changes
}

fn revised<T: Maintained>(object: &T, default: &T) -> Option<T> {
    let metadata = object.metadata();
    let annotated = annotation(metadata);
    let overwrite = is_mandatory(&metadata.name) || annotated.unwrap_or(metadata.generation == 1);
    let replace_spec = overwrite && !object.has_spec_of(default);
    if annotated == Some(overwrite) && !replace_spec {
        return None;
    }
    let mut revised = object.clone();
    if replace_spec {
        revised.take_spec_of(default);
    }
    if annotated != Some(overwrite) {
        let annotations = &mut revised.metadata_mut().annotations;
        annotations.insert(AUTOUPDATE.to_owned(), overwrite.to_string());
    }
    Some(revised)
}

/// None where it is absent or not a truth value as Go reads them.
fn annotation(metadata: &Metadata) -> Option<bool> {
    match metadata.annotations.get(AUTOUPDATE)?.as_str() {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

impl Maintained for FlowSchema {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn has_spec_of(&self, default: &Self) -> bool {
        self.spec.means_the_same(&default.spec)
    }

    fn take_spec_of(&mut self, default: &Self) {
        self.spec.clone_from(&default.spec);
    }
}

impl Maintained for PriorityLevelConfiguration {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    /// What the exempt level lends is the administrator's to say.
    fn has_spec_of(&self, default: &Self) -> bool {
        let mut spec = default.spec.clone();
        if default.metadata.name == EXEMPT && self.spec.exempt.is_some() {
            spec.exempt.clone_from(&self.spec.exempt);
        }
        self.spec == spec
    }

    fn take_spec_of(&mut self, default: &Self) {
        self.spec.clone_from(&default.spec);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn existing() -> (Vec<PriorityLevelConfiguration>, Vec<FlowSchema>) {
        (defaults().levels.clone(), defaults().schemas.clone())
    }

    fn schema<'a>(schemas: &'a mut [FlowSchema], name: &str) -> &'a mut FlowSchema {
        schemas.iter_mut().find(|s| s.metadata.name == name).unwrap()
    }

    #[test]
    fn everything_is_created_from_nothing_and_nothing_is_changed_then() {
        let plan = maintain(&[], &[]);
        assert_eq!(plan.levels.create.len(), 8);
        assert_eq!(plan.schemas.create.len(), 11);
        assert!(maintain(&plan.levels.create, &plan.schemas.create).is_empty());
    }

    #[test]
    fn a_changed_suggestion_is_overwritten_only_while_the_annotation_or_the_generation_says_so() {
        let cases = [
            // annotation, generation, spec overwritten, annotation afterwards
            (Some("true"), 7, true, "true"),
            (Some("1"), 7, true, "1"),
            (Some("false"), 1, false, "false"),
            (Some("maybe"), 1, true, "true"),
            (Some("maybe"), 2, false, "false"),
            (None, 1, true, "true"),
            (None, 2, false, "false"),
        ];
        for (annotation, generation, overwritten, afterwards) in cases {
            let (levels, mut schemas) = existing();
            let probes = schema(&mut schemas, "probes");
            probes.spec.matching_precedence = 3;
            probes.metadata.generation = generation;
            probes.metadata.annotations =
                annotation.map(|a| (AUTOUPDATE.to_owned(), a.to_owned())).into_iter().collect();
            let before = probes.clone();

            let plan = maintain(&levels, &schemas);

            let after = plan.schemas.update.first().unwrap_or(&before);
            let case = format!("{annotation:?}, generation {generation}");
            assert_eq!(after.spec.matching_precedence == 2, overwritten, "{case}");
            assert_eq!(after.metadata.annotations[AUTOUPDATE], afterwards, "{case}");
        }
    }

    #[test]
    fn mandatory_objects_are_restored_whatever_their_annotation_says() {
        let (levels, mut schemas) = existing();
        let catch_all = schema(&mut schemas, "catch-all");
        catch_all.spec.matching_precedence = 9;
        catch_all.metadata.annotations.insert(AUTOUPDATE.to_owned(), "false".to_owned());
        let update = maintain(&levels, &schemas).schemas.update;
        assert_eq!(update[0].spec.matching_precedence, 10_000);
        assert_eq!(update[0].metadata.annotations[AUTOUPDATE], "true");
    }

    #[test]
    fn what_the_exempt_level_lends_is_kept_unless_it_has_no_body() {
        let (mut levels, schemas) = existing();
        let exempt = levels.iter_mut().find(|l| l.metadata.name == EXEMPT).unwrap();
        exempt.spec.exempt.as_mut().unwrap().lendable_percent = Some(50);
        assert!(maintain(&levels, &schemas).is_empty());
        levels.iter_mut().find(|l| l.metadata.name == EXEMPT).unwrap().spec.exempt = None;
        assert_eq!(maintain(&levels, &schemas).levels.update.len(), 1);
    }

    #[test]
    fn stale_objects_are_deleted_if_annotated_and_others_are_left_alone() {
        let (levels, mut schemas) = existing();
        for (name, annotation) in [("old", "true"), ("mine", "false")] {
            let mut schema = schemas[0].clone();
            schema.metadata.name = name.to_owned();
            schema.metadata.annotations.insert(AUTOUPDATE.to_owned(), annotation.to_owned());
            schemas.push(schema);
        }
        assert_eq!(maintain(&levels, &schemas).schemas.delete, ["old"]);
    }
}
