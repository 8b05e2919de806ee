//! Bodies of custom resources: any JSON object, pruned by the schema.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go`
//! (`schemaCoercingDecoder`), `apimachinery/pkg/apis/meta/v1/unstructured`.

use evenkeel_store::schema::{self, DecodeError, Finding};
use serde_json::Value;

use crate::{kinds::Kind, types};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// An object whose unspecified fields are removed, and what was found while doing so.
#[derive(Debug)]
pub(crate) struct Pruned {
    pub(crate) value: Value,
    pub(crate) findings: Vec<Finding>,
}

/// An object of a client, as it was sent.
pub(crate) fn parsed(json: &[u8]) -> Result<Pruned, DecodeError> {
    let decoded = schema::untyped(json)?;
    Ok(Pruned { value: decoded.value, findings: decoded.unknown })
}

/// Removes what neither the schema nor ObjectMeta specifies.
pub(crate) fn pruned(kind: &Kind, object: Pruned) -> Result<Pruned, DecodeError> {
    let Pruned { mut value, mut findings } = object;
    let Some(custom) = &kind.custom else { return Ok(Pruned { value, findings }) };
    findings.extend(check_metadata(&mut value)?);
    let unknown = custom.version.schema().prune(&mut value);
    // Kubernetes looks at the metadata of embedded objects last.
    let (embedded, own): (Vec<String>, Vec<String>) =
        unknown.into_iter().partition(|path| path.contains(".metadata."));
    findings.extend(own.into_iter().chain(embedded).map(Finding::Unknown));
    Ok(Pruned { value, findings })
}

/// Converts `metadata` to ObjectMeta. Returns its unknown fields.
fn check_metadata(value: &mut Value) -> Result<Vec<Finding>, DecodeError> {
    let Some(metadata) = value.get_mut("metadata").filter(|metadata| !metadata.is_null()) else {
        return Ok(Vec::new());
    };
    let of = types::schema().named(OBJECT_META).expect("the table has ObjectMeta");
    let checked = schema::check(types::schema(), of, metadata.take())?;
    *metadata = checked.value;
    let prefixed = |finding: Finding| Finding::Unknown(format!("metadata.{}", finding.path()));
    Ok(checked.unknown.into_iter().map(prefixed).collect())
}

/// The form of metadata in which it is stored.
pub(crate) fn canonical_metadata(value: &mut Value) {
    let of = types::schema().named(OBJECT_META).expect("the table has ObjectMeta");
    if let Some(metadata) = value.get_mut("metadata") {
        schema::canonical(types::schema(), of, metadata);
    }
}
