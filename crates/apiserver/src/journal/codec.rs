//! Frame contents: changes, objects, or the end of a snapshot, in a binary form that needs no
//! parsing.
//!
//! A resource is a number, which is an index into the names of the file's header or named by an
//! entry before its first use (see `names`); `reading` is the other direction.
//!
//! Formats: 0 has no selectable fields (it was used only in tests, and exists to be migrated from);
//! 1 has resource numbers of 16 bits, and names only in the header; 2 is written here.

use evenkeel_store::{
    journal::JournalError,
    object::{Change, Object, ResourceId, Revision},
};

pub(super) const CHANGES: u8 = 1;
pub(super) const OBJECTS: u8 = 2;
pub(super) const END: u8 = 3;

pub(super) const DELETED: u8 = 0;
pub(super) const WRITTEN: u8 = 1;
pub(super) const REGISTERED: u8 = 2;

/// Why a payload with a valid checksum can't be read: it ends early, or contains what no version
/// writes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) &'static str);

/// Resources that the file has not named before, with their names.
pub(super) type New<'a> = [(ResourceId, &'a str)];

/// The type of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Changes,
    Objects,
    /// The end of a snapshot of this revision.
    End(Revision),
}

pub(super) fn put_changes(out: &mut Vec<u8>, new: &New<'_>, changes: &[Change]) {
    out.push(CHANGES);
    put_registered(out, new);
    for change in changes {
        put_change(out, change);
    }
}

pub(super) fn put_objects<'a>(
    out: &mut Vec<u8>,
    new: &New<'_>,
    objects: impl Iterator<Item = (ResourceId, &'a Object)>,
) {
    out.push(OBJECTS);
    put_registered(out, new);
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

fn put_registered(out: &mut Vec<u8>, new: &New<'_>) {
    for (resource, name) in new {
        out.push(REGISTERED);
        out.extend_from_slice(&resource.0.to_le_bytes());
        put_bytes(out, name.as_bytes());
    }
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

impl Unreadable {
    pub(super) fn at(self, path: String, offset: u64) -> JournalError {
        JournalError::Damaged { path, offset, problem: self.0.to_owned() }
    }
}

/// The rest of the payload.
#[derive(Debug)]
pub(super) struct Rest<'a>(pub(super) &'a [u8]);

impl<'a> Rest<'a> {
    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8], Unreadable> {
        let (taken, rest) =
            self.0.split_at_checked(n).ok_or(Unreadable("a frame that ends early"))?;
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

    pub(super) fn length(&mut self) -> Result<usize, Unreadable> {
        Ok(self.four()? as usize)
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Unreadable> {
        let length = self.length()?;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Unreadable> {
        let bytes = self.bytes()?;
        str::from_utf8(bytes).map_err(|_| Unreadable("text that is not UTF-8"))
    }
}
