//! Iteration over a tree, in order.

use std::slice;

use super::{Child, Entry, Node, SortKey, way};

#[derive(Debug)]
pub(crate) struct Walk<'a, T> {
    /// The remaining children, the next last.
    above: Vec<slice::Iter<'a, Child<T>>>,
    leaf: slice::Iter<'a, T>,
}

impl<'a, T: Entry> Walk<'a, T> {
    pub(super) fn new(root: &'a Node<T>, before: impl Fn(SortKey<'_>) -> bool) -> Walk<'a, T> {
        let (mut node, mut above) = (root, Vec::new());
        loop {
            match node {
                Node::Inner(children) => {
                    let at = way(children, &before);
                    above.push(children[at + 1..].iter());
                    node = &children[at].node;
                }
                Node::Leaf(entries) => {
                    let at = entries.partition_point(|entry| before(entry.sort_key()));
                    return Walk { above, leaf: entries[at..].iter() };
                }
            }
        }
    }

    pub(crate) fn nothing() -> Walk<'a, T> {
        Walk { above: Vec::new(), leaf: [].iter() }
    }

    /// The next entry, without advancing.
    pub(crate) fn peek(&mut self) -> Option<&'a T> {
        while self.leaf.as_slice().is_empty() {
            let Some(child) = self.above.last_mut()?.next() else {
                self.above.pop();
                continue;
            };
            match &*child.node {
                Node::Inner(children) => self.above.push(children.iter()),
                Node::Leaf(entries) => self.leaf = entries.iter(),
            }
        }
        self.leaf.as_slice().first()
    }
}

impl<'a, T: Entry> Iterator for Walk<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        self.peek()?;
        self.leaf.next()
    }
}
