//! Is everything that `allOf`, `anyOf`, `oneOf` and `not` of the root restrict also specified
//! outside of them?
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/complete.go`.

use crate::{
    error::{Errors, FieldError},
    path::Path,
    schema::{Schema, ValueValidation},
};

pub(super) fn check(schema: &Schema, path: &Path<'_>, errors: &mut Errors) {
    values(schema.values(), schema, path, path, errors);
}

fn values(
    values: &ValueValidation,
    schema: &Schema,
    path: &Path<'_>,
    from: &Path<'_>,
    errors: &mut Errors,
) {
    if let Some(not) = &values.not {
        nested(not, schema, path, &from.child("not"), errors);
    }
    for (name, schemas) in
        [("allOf", &values.all_of), ("anyOf", &values.any_of), ("oneOf", &values.one_of)]
    {
        let from = from.child(name);
        for (index, part) in schemas.iter().enumerate() {
            nested(part, schema, path, &from.index(index), errors);
        }
    }
}

/// `part`, at `from`, restricts values of `schema`, at `path`.
fn nested(part: &Schema, schema: &Schema, path: &Path<'_>, from: &Path<'_>, errors: &mut Errors) {
    values(part.values(), schema, path, from, errors);
    let missing = |path: &Path<'_>, from: &Path<'_>| {
        FieldError::required(path, format!("because it is defined in {from}"))
    };
    if let Some(items) = part.items() {
        let (path, from) = (path.child("items"), from.child("items"));
        match schema.items() {
            Some(schema) => nested(items, schema, &path, &from, errors),
            None => errors.add(|| missing(&path, &from)),
        }
    }
    let (path, from) = (path.child("properties"), from.child("properties"));
    for (name, child) in part.properties.iter() {
        let (path, from) = (path.key(name), from.key(name));
        match schema.properties.get(name) {
            Some(schema) => nested(child, schema, &path, &from, errors),
            None => errors.add(|| missing(&path, &from)),
        }
    }
}
