//! Straight from the JSON of EndpointSlices to the model, without building API objects.
//!
//! A watch reads every slice of a cluster when it starts and one slice for each change after that.
//! By way of an API object an endpoint takes some sixteen allocations, mostly for names that are
//! already interned. Here it takes three, for its target: zones and nodes are interned while the
//! text is read, texts that come again and again within one call (namespaces, labels, the kind of
//! a target) share one allocation, and fields the model does not have are skipped.
//!
//! The result is that of [`endpoint_slice`](crate::convert::endpoint_slice) on the decoded object,
//! and so are the problems, with three exceptions:
//! - A skipped field may hold anything that is JSON.
//! - Text that is not UTF-8 is refused, even where it would be skipped.
//! - A slice that says two different address types, one on each side of its endpoints, is refused.
//!
//! Names are interned as they are read, so a text that turns out wrong may leave some behind.

mod checked;
mod endpoint;
mod error;
mod hints;
mod json;
mod list;
mod metadata;
mod port;
mod slice;
mod tables;
mod target;

use std::sync::Arc;

use evenkeel_model::{Slice, Topology};
use serde::de::DeserializeSeed;
use serde_json::Deserializer;
use serde_path_to_error::{Deserializer as Tracked, Track};

pub use self::error::SlimError;
use self::{
    json::{Fields, Object},
    list::ListFields,
    slice::SliceFields,
    tables::Tables,
};
use crate::FieldError;

/// What was read from an object, with what a cache needs to know of the object itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<T> {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    /// Empty if the object has none, as in a file.
    pub resource_version: Box<str>,
    /// Whether it was asked to be deleted and only waits for its finalizers.
    pub deleting: bool,
    pub object: T,
}

/// One page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slices {
    pub slices: Vec<Named<Slice>>,
    /// Slices with a wrong value somewhere, which must not keep the others from being used.
    pub refused: Vec<Named<FieldError>>,
    /// From where to watch.
    pub resource_version: Box<str>,
    /// What to ask for the next page with, if this is not the last.
    pub continue_token: Option<Box<str>>,
}

/// The slice in `json`, which holds one EndpointSlice.
pub fn endpoint_slice(json: &[u8], topology: &mut Topology) -> Result<Named<Slice>, SlimError> {
    let mut tables = Tables::new(topology);
    let mut fields = SliceFields::new(&mut tables);
    read(json, &mut fields)?;
    fields.finish().map_err(SlimError::WrongValue)
}

/// The slices in `json`, which holds one EndpointSliceList. A slice with a wrong value is put
/// aside; a value of a wrong type anywhere spoils the list, because then it is no such list.
pub fn endpoint_slices(json: &[u8], topology: &mut Topology) -> Result<Slices, SlimError> {
    let mut tables = Tables::new(topology);
    let mut fields = ListFields::new(&mut tables);
    read(json, &mut fields)?;
    Ok(fields.finish())
}

fn read(json: &[u8], fields: &mut impl Fields) -> Result<(), SlimError> {
    // Checking all of the text at once is faster than checking it string by string.
    let text = str::from_utf8(json).map_err(|error| SlimError::not_utf8(json, error))?;
    let mut json = Deserializer::from_str(text);
    let read = Object(&mut *fields).deserialize(&mut json).and_then(|()| json.end());
    read.map_err(|error| match error.is_data() {
        true => SlimError::wrong_type(&path_of_error(text, fields), &error),
        false => SlimError::syntax(&error),
    })
}

/// Reads once more, up to the same error, now keeping track of the path. Doing so from the start
/// would take longer than reading itself. What ends up in `fields` is of no use.
fn path_of_error(text: &str, fields: &mut impl Fields) -> String {
    let mut track = Track::new();
    let mut json = Deserializer::from_str(text);
    let _ = Object(fields).deserialize(Tracked::new(&mut json, &mut track));
    track.path().to_string()
}

// === impl Named ===

impl Named<()> {
    fn with<T>(self, object: T) -> Named<T> {
        let Named { namespace, name, resource_version, deleting, object: () } = self;
        Named { namespace, name, resource_version, deleting, object }
    }
}
