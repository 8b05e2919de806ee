//! `anyOf`, `oneOf`, `allOf` and `not`.
//!
//! If no alternative fits, the errors of the one that passed most checks are listed.

use serde_json::Value;

use super::{Old, Validator, name::Name, sink::Sink};
use crate::{
    error::quoted,
    schema::{Schema, ValueValidation},
};

/// An alternative that was tried.
struct Tried {
    sink: Sink,
    matches: usize,
}

impl Validator<'_> {
    /// Returns how many checks passed.
    pub(super) fn junctors(
        &mut self,
        values: &ValueValidation,
        value: &Value,
        name: &Name<'_>,
        old: Option<Old<'_>>,
    ) -> usize {
        let mut matches = 0;
        if !values.any_of.is_empty() {
            matches += self.any_of(&values.any_of, value, name, old);
        }
        if !values.one_of.is_empty() {
            matches += self.one_of(&values.one_of, value, name, old);
        }
        if !values.all_of.is_empty() {
            matches += self.all_of(&values.all_of, value, name, old);
        }
        if let Some(schema) = &values.not {
            let quiet = std::mem::replace(&mut self.sink.quiet, true);
            let tried = self.attempt(schema, value, name, old);
            self.sink.quiet = quiet;
            if !tried.sink.has_failed() {
                self.fail_whole(|| format!("{} must not validate the schema (not)", shown(name)));
            }
        }
        matches
    }

    fn any_of(
        &mut self,
        schemas: &[Schema],
        value: &Value,
        name: &Name<'_>,
        old: Option<Old<'_>>,
    ) -> usize {
        let mut best: Option<Tried> = None;
        for schema in schemas {
            let tried = self.attempt(schema, value, name, old);
            if !tried.sink.has_failed() {
                return tried.matches;
            }
            best = Some(better(best, tried));
        }
        self.fail_whole(|| format!("{} must validate at least one schema (anyOf)", shown(name)));
        self.take(best)
    }

    fn one_of(
        &mut self,
        schemas: &[Schema],
        value: &Value,
        name: &Name<'_>,
        old: Option<Old<'_>>,
    ) -> usize {
        let mut best: Option<Tried> = None;
        let mut first = 0;
        let mut valid = 0;
        for schema in schemas {
            let tried = self.attempt(schema, value, name, old);
            if tried.sink.has_failed() {
                best = Some(better(best, tried));
                continue;
            }
            if valid == 0 {
                first = tried.matches;
            }
            valid += 1;
        }
        if valid == 1 {
            return first;
        }
        let found = match valid {
            0 => "Found none valid".to_owned(),
            n => format!("Found {n} valid alternatives"),
        };
        let only_one = "must validate one and only one schema (oneOf)";
        self.fail_whole(|| format!("{} {only_one}. {found}", shown(name)));
        self.take(best.filter(|_| valid == 0))
    }

    fn all_of(
        &mut self,
        schemas: &[Schema],
        value: &Value,
        name: &Name<'_>,
        old: Option<Old<'_>>,
    ) -> usize {
        let mut matches = 0;
        let mut valid = 0;
        for schema in schemas {
            let mark = self.sink.mark();
            matches += self.apply(schema, value, name, old);
            valid += usize::from(!self.sink.failed_since(&mark));
        }
        if valid < schemas.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            self.fail_whole(|| {
                format!("{} must validate all the schemas (allOf){none}", shown(name))
            });
        }
        matches
    }

    /// Applies an alternative, with errors of its own.
    fn attempt(
        &mut self,
        schema: &Schema,
        value: &Value,
        name: &Name<'_>,
        old: Option<Old<'_>>,
    ) -> Tried {
        // What fails is described, even if another alternative fits.
        if !self.step(2) {
            return Tried { sink: Sink::default(), matches: 0 };
        }
        let branch = self.sink.branch();
        let outer = std::mem::replace(&mut self.sink, branch);
        let matches = self.apply(schema, value, name, old);
        Tried { sink: std::mem::replace(&mut self.sink, outer), matches }
    }

    fn take(&mut self, best: Option<Tried>) -> usize {
        best.map_or(0, |tried| {
            self.sink.merge(tried.sink);
            tried.matches
        })
    }
}

fn better(best: Option<Tried>, tried: Tried) -> Tried {
    match best {
        Some(best) if tried.matches <= best.matches => best,
        _ => tried,
    }
}

fn shown(name: &Name<'_>) -> String {
    quoted(&name.to_string())
}
