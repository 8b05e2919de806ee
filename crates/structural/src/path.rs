//! Field paths: `spec.ports[0].nodePort`, `metadata.labels[a/b]`.
//!
//! A path is a list of segments on the stack, from the leaf up. It becomes text when there is an
//! error, and costs nothing otherwise.

use std::fmt;

/// A field path, or the start of one.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: Segment<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Segment<'a> {
    /// A path that was given as text; may be empty.
    Root(&'a str),
    Child(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// A path that starts with a text, such as `spec.validation.openAPIV3Schema`. The empty text is
    /// the path of an object itself.
    pub const fn root(text: &'a str) -> Path<'a> {
        Path { parent: None, segment: Segment::Root(text) }
    }

    /// `path.name`.
    pub const fn child(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), segment: Segment::Child(name) }
    }

    /// `path[key]`.
    pub const fn key(&'a self, key: &'a str) -> Path<'a> {
        Path { parent: Some(self), segment: Segment::Key(key) }
    }

    /// `path[3]`.
    pub const fn index(&'a self, index: usize) -> Path<'a> {
        Path { parent: Some(self), segment: Segment::Index(index) }
    }

    /// Whether it is the empty path, that of an object itself.
    pub fn is_root(&self) -> bool {
        self.parent.is_none() && matches!(self.segment, Segment::Root(""))
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.segment {
            Segment::Root(text) => f.write_str(text),
            Segment::Child(name) if self.parent.is_none_or(Path::is_root) => f.write_str(name),
            Segment::Child(name) => write!(f, ".{name}"),
            Segment::Key(key) => write!(f, "[{key}]"),
            Segment::Index(index) => write!(f, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn paths_read_as_kubernetes_writes_them() {
        let root = Path::root("");
        assert_eq!(root.to_string(), "");
        let spec = root.child("spec");
        let ports = spec.child("ports");
        let port = ports.index(3);
        assert_eq!(port.child("name").to_string(), "spec.ports[3].name");
        let base = Path::root("spec.validation.openAPIV3Schema");
        let properties = base.child("properties");
        assert_eq!(
            properties.key("a.b").child("type").to_string(),
            "spec.validation.openAPIV3Schema.properties[a.b].type"
        );
    }
}
