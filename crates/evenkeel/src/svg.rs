//! What pictures have in common: axes, colours, text that is escaped and fits its place.

pub(crate) mod axis;
pub(crate) mod scale;
pub(crate) mod style;
pub(crate) mod text;
