//! Frame contents: changes, objects, or the end of a snapshot, in a binary form that needs no
//! parsing.
//!
//! A resource is an index into the names of the file's header, so the next version of the program
//! may renumber its table of kinds.

use std::sync::Arc;

use bytes::Bytes;
use evenkeel_store::{
    journal::{JournalError, Replayed},
    object::{Change, Object, ResourceId, Revision},
};

const CHANGES: u8 = 1;
const OBJECTS: u8 = 2;
const END: u8 = 3;

const DELETED: u8 = 0;
const WRITTEN: u8 = 1;

/// How to read one file: the meaning of its resource numbers, and its format.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) version: u32,
    /// By the file's number: our id, or the unknown name.
    pub(super) resources: Vec<Result<ResourceId, Box<str>>>,
}

/// Why a payload with a valid checksum can't be read.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// It ends early, or contains what no version writes.
    Malformed(&'static str),
    Unknown(Box<str>),
}

/// The type of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Changes,
    Objects,
    /// The end of a snapshot of this revision.
    End(Revision),
}

pub(super) fn put_changes(out: &mut Vec<u8>, changes: &[Change]) {
    out.push(CHANGES);
    for change in changes {
        put_change(out, change);
    }
}

pub(super) fn put_objects<'a>(
    out: &mut Vec<u8>,
    objects: impl Iterator<Item = (ResourceId, &'a Object)>,
) {
    out.push(OBJECTS);
    for (resource, object) in objects {
        put_written(out, resource, object.revision, object);
    }
}

pub(super) fn put_end(out: &mut Vec<u8>, revision: Revision) {
    out.push(END);
    out.extend_from_slice(&revision.to_le_bytes());
}

/// The approximate encoded size.
pub(super) fn size_of(object: &Object) -> usize {
    let labels = object.labels.iter().map(|(key, value)| key.len() + value.len() + 8);
    let fields = object.fields.iter().map(|field| field.len() + 4);
    32 + object.key.len() + object.encoded.len() + labels.sum::<usize>() + fields.sum::<usize>()
}

fn put_change(out: &mut Vec<u8>, change: &Change) {
    if let Some(object) = &change.object {
        return put_written(out, change.resource, change.revision, object);
    }
    out.push(DELETED);
    out.extend_from_slice(&change.resource.0.to_le_bytes());
    out.extend_from_slice(&change.revision.to_le_bytes());
    put_bytes(out, change.key.as_bytes());
}

fn put_written(out: &mut Vec<u8>, resource: ResourceId, revision: Revision, object: &Object) {
    out.push(WRITTEN);
    out.extend_from_slice(&resource.0.to_le_bytes());
    out.extend_from_slice(&revision.to_le_bytes());
    put_bytes(out, object.key.as_bytes());
    put_length(out, object.labels.len());
    for (key, value) in &object.labels {
        put_bytes(out, key.as_bytes());
        put_bytes(out, value.as_bytes());
    }
    put_length(out, object.fields.len());
    for field in &object.fields {
        put_bytes(out, field.as_bytes());
    }
    put_bytes(out, &object.encoded);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_length(out: &mut Vec<u8>, length: usize) {
    let length = u32::try_from(length).expect("nothing in an object comes near 4 GiB");
    out.extend_from_slice(&length.to_le_bytes());
}

impl Reading {
    /// Passes on the content of a payload.
    pub(super) fn payload(
        &self,
        payload: &[u8],
        each: &mut dyn FnMut(Replayed),
    ) -> Result<Payload, Unreadable> {
        let mut rest = Rest(payload);
        match rest.byte()? {
            CHANGES => {
                while !rest.0.is_empty() {
                    each(Replayed::Change(self.change(&mut rest)?));
                }
                Ok(Payload::Changes)
            }
            OBJECTS => {
                while !rest.0.is_empty() {
                    let change = self.change(&mut rest)?;
                    let object = change.object.and_then(Arc::into_inner);
                    let object = object.ok_or(Unreadable::Malformed("a delete among objects"))?;
                    each(Replayed::Object(change.resource, object));
                }
                Ok(Payload::Objects)
            }
            END => Ok(Payload::End(rest.eight()?)),
            _ => Err(Unreadable::Malformed("a frame of an unknown kind")),
        }
    }

    fn change(&self, rest: &mut Rest<'_>) -> Result<Change, Unreadable> {
        let kind = rest.byte()?;
        let resource = rest.two()?;
        let resource = match self.resources.get(usize::from(resource)) {
            Some(Ok(resource)) => *resource,
            Some(Err(name)) => return Err(Unreadable::Unknown(name.clone())),
            None => return Err(Unreadable::Malformed("a resource that the header does not name")),
        };
        let revision = rest.eight()?;
        let key: Box<str> = rest.text()?.into();
        let object = match kind {
            DELETED => None,
            WRITTEN => Some(Arc::new(self.object(key.clone(), revision, rest)?)),
            _ => return Err(Unreadable::Malformed("a change of an unknown kind")),
        };
        Ok(Change { resource, revision, key, object })
    }

    fn object(
        &self,
        key: Box<str>,
        revision: Revision,
        rest: &mut Rest<'_>,
    ) -> Result<Object, Unreadable> {
        let labels = (0..rest.length()?)
            .map(|_| Ok((rest.text()?.into(), rest.text()?.into())))
            .collect::<Result<_, Unreadable>>()?;
        // Format 0 was used only in tests: it has no fields, and exists to be migrated from.
        let n_fields = if self.version == 0 { 0 } else { rest.length()? };
        let fields = (0..n_fields).map(|_| Ok(rest.text()?.into()));
        let fields = fields.collect::<Result<_, Unreadable>>()?;
        let encoded = Bytes::copy_from_slice(rest.bytes()?);
        Ok(Object { key, revision, labels, fields, encoded })
    }
}

impl Unreadable {
    pub(super) fn at(self, path: String, offset: u64) -> JournalError {
        match self {
            Unreadable::Malformed(problem) => {
                JournalError::Damaged { path, offset, problem: problem.to_owned() }
            }
            Unreadable::Unknown(name) => {
                JournalError::UnknownResource { path, resource: name.into() }
            }
        }
    }
}

/// The rest of the payload.
#[derive(Debug)]
pub(super) struct Rest<'a>(pub(super) &'a [u8]);

impl<'a> Rest<'a> {
    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8], Unreadable> {
        let (taken, rest) =
            self.0.split_at_checked(n).ok_or(Unreadable::Malformed("a frame that ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Unreadable> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn two(&mut self) -> Result<u16, Unreadable> {
        Ok(u16::from_le_bytes(self.take(2)?.try_into().expect("two were taken")))
    }

    pub(super) fn four(&mut self) -> Result<u32, Unreadable> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four were taken")))
    }

    pub(super) fn eight(&mut self) -> Result<u64, Unreadable> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight were taken")))
    }

    fn length(&mut self) -> Result<usize, Unreadable> {
        Ok(self.four()? as usize)
    }

    fn bytes(&mut self) -> Result<&'a [u8], Unreadable> {
        let length = self.length()?;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'a str, Unreadable> {
        let bytes = self.bytes()?;
        str::from_utf8(bytes).map_err(|_| Unreadable::Malformed("text that is not UTF-8"))
    }
}
