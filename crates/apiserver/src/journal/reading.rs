//! The contents of one file's frames, with the ids that its resources have in this process.
//!
//! A resource gets its id by its name. One that this process does not know gets the next id when it
//! is first used, so that names without objects and changes are not taken over.

use std::sync::Arc;

use bytes::Bytes;
use evenkeel_store::{
    journal::Replayed,
    object::{Change, Object, ResourceId, Revision},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    codec::{CHANGES, DELETED, END, OBJECTS, Payload, REGISTERED, Rest, Unreadable, WRITTEN},
    header::Header,
    names::{Names, is_readable},
};

/// A file being read: its format, and the meaning of its resource numbers.
#[derive(Debug)]
pub(super) struct Reading {
    version: u32,
    resources: FxHashMap<u32, Resource>,
    used: FxHashSet<ResourceId>,
}

#[derive(Debug)]
enum Resource {
    Named(Box<str>),
    Used(ResourceId),
}

impl Reading {
    pub(super) fn new(header: &Header) -> Reading {
        let names = (0..).zip(&header.names);
        let resources = names.map(|(number, name)| (number, Resource::Named(name.clone())));
        let (resources, used) = (resources.collect(), FxHashSet::default());
        Reading { version: header.version, resources, used }
    }

    /// Passes on the content of a payload.
    pub(super) fn payload(
        &mut self,
        payload: &[u8],
        names: &mut Names,
        each: &mut dyn FnMut(Replayed),
    ) -> Result<Payload, Unreadable> {
        let mut rest = Rest(payload);
        let kind = match rest.byte()? {
            CHANGES => Payload::Changes,
            OBJECTS => Payload::Objects,
            END => return Ok(Payload::End(rest.eight()?)),
            _ => return Err(Unreadable("a frame of an unknown kind")),
        };
        while !rest.0.is_empty() {
            let is_written = match rest.byte()? {
                REGISTERED if self.version >= 2 => {
                    self.register(&mut rest)?;
                    continue;
                }
                entry @ (DELETED | WRITTEN) => entry == WRITTEN,
                _ => return Err(Unreadable("a change of an unknown kind")),
            };
            let change = self.change(is_written, &mut rest, names, each)?;
            each(match kind {
                Payload::Objects => {
                    let object = change.object.and_then(Arc::into_inner);
                    let object = object.ok_or(Unreadable("a delete among objects"))?;
                    Replayed::Object(change.resource, object)
                }
                _ => Replayed::Change(change),
            });
        }
        Ok(kind)
    }

    fn register(&mut self, rest: &mut Rest<'_>) -> Result<(), Unreadable> {
        let number = rest.four()?;
        let name = rest.text()?;
        if !is_readable(name) {
            return Err(Unreadable("a resource's name of an impossible length"));
        }
        match self.resources.insert(number, Resource::Named(name.into())) {
            None => Ok(()),
            Some(_) => Err(Unreadable("a resource number that is named twice")),
        }
    }

    fn change(
        &mut self,
        is_written: bool,
        rest: &mut Rest<'_>,
        names: &mut Names,
        each: &mut dyn FnMut(Replayed),
    ) -> Result<Change, Unreadable> {
        let number = if self.version < 2 { rest.two()?.into() } else { rest.four()? };
        let resource = self.resource(number, names, each)?;
        let revision = rest.eight()?;
        let key: Box<str> = rest.text()?.into();
        let object = match is_written {
            true => Some(Arc::new(self.object(key.clone(), revision, rest)?)),
            false => None,
        };
        Ok(Change { resource, revision, key, object })
    }

    /// Our id for a number of the file.
    fn resource(
        &mut self,
        number: u32,
        names: &mut Names,
        each: &mut dyn FnMut(Replayed),
    ) -> Result<ResourceId, Unreadable> {
        let resource = self.resources.get_mut(&number);
        let resource = resource.ok_or(Unreadable("a resource that the file does not name"))?;
        let name = match resource {
            Resource::Used(id) => return Ok(*id),
            Resource::Named(name) => std::mem::take(name),
        };
        let id = names.id(&name).unwrap_or_else(|| {
            let id = names.push(&name);
            each(Replayed::Registered(id, name));
            id
        });
        *resource = Resource::Used(id);
        match self.used.insert(id) {
            true => Ok(id),
            false => Err(Unreadable("a resource that has two numbers")),
        }
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
        let n_fields = if self.version == 0 { 0 } else { rest.length()? };
        let fields = (0..n_fields).map(|_| Ok(rest.text()?.into()));
        let fields = fields.collect::<Result<_, Unreadable>>()?;
        let encoded = Bytes::copy_from_slice(rest.bytes()?);
        Ok(Object { key, revision, labels, fields, encoded })
    }
}
