//! Whether what the kernel lists is what was written.
//!
//! The kernel lists all that it was given, and more: handles, counts of users, defaults. So a listed
//! object is the written one if it has at least its attributes.

use evenkeel_nft::{Family, rule::Rule};

use super::{
    super::{
        Result,
        attribute::{Attribute, Attributes},
        message::Writer,
    },
    expression, rule,
};

/// Whether `listed` has all attributes that `write` writes.
pub(super) fn is_as_written(listed: &[u8], write: impl FnOnce(&mut Writer)) -> Result<bool> {
    let mut writer = Writer::default();
    write(&mut writer);
    contains(listed, &writer.finish()?)
}

/// Whether these listed expressions are those of the rule.
pub(super) fn is_rule(listed: &[u8], rule: &Rule, family: Family) -> Result<bool> {
    let mut writer = Writer::default();
    rule::write(&mut writer, rule, family);
    let written = writer.finish()?;
    let mut written = Attributes::new(&written);
    for listed in Attributes::new(listed) {
        let listed = listed?;
        if is_without_effect(&listed)? {
            continue;
        }
        let Some(written) = written.next() else { return Ok(false) };
        if !contains(listed.payload, written?.payload)? {
            return Ok(false);
        }
    }
    Ok(written.next().is_none())
}

/// In keys of sets with ranges, `nft` turns the byte order of the protocol, which is one byte.
fn is_without_effect(expression: &Attribute<'_>) -> Result<bool> {
    match find(expression.payload, expression::NAME)? {
        Some(name) => Ok(name.string()? == "byteorder"),
        None => Ok(false),
    }
}

fn contains(listed: &[u8], written: &[u8]) -> Result<bool> {
    for written in Attributes::new(written) {
        let written = written?;
        let is_same = match find(listed, written.kind)? {
            Some(listed) if written.is_nest => contains_all(&listed, &written)?,
            Some(listed) => listed.payload == written.payload,
            None => false,
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Lists of elements are compared one by one, other nests by kind.
fn contains_all(listed: &Attribute<'_>, written: &Attribute<'_>) -> Result<bool> {
    let is_list = written.nested().nth(1).is_some()
        && written.nested().all(|part| {
            part.is_ok_and(|part| part.kind == expression::LIST_ELEMENT && part.is_nest)
        });
    if !is_list {
        return contains(listed.payload, written.payload);
    }
    let mut parts = listed.nested();
    for written in written.nested() {
        let Some(listed) = parts.next() else { return Ok(false) };
        if !contains(listed?.payload, written?.payload)? {
            return Ok(false);
        }
    }
    Ok(parts.next().is_none())
}

fn find(attributes: &[u8], kind: u16) -> Result<Option<Attribute<'_>>> {
    for attribute in Attributes::new(attributes) {
        let attribute = attribute?;
        if attribute.kind == kind {
            return Ok(Some(attribute));
        }
    }
    Ok(None)
}
