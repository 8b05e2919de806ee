//! An ordered set that can be read without a lock.
//!
//! A B+ tree with shared nodes: a clone costs one reference count and never changes; a write to the
//! original copies the nodes on its path that a clone still shares, at most [`MOST`] entries per
//! level. An unshared tree is modified in place. Each child is stored with the number of entries
//! below it, so that a position needs no walk. All operations are O(log n); a walk is O(1) per
//! entry.

mod walk;

use std::sync::Arc;

pub(crate) use self::walk::Walk;
use crate::object::Revision;

/// The sort key of entries.
pub(crate) type SortKey<'a> = (&'a str, Revision);

pub(crate) trait Entry: Clone {
    /// Never changes.
    fn sort_key(&self) -> SortKey<'_>;
}

/// Maximum number of entries or children in a node.
const MOST: usize = 64;

/// A node with fewer is merged with its neighbour if both fit into one.
const FEW: usize = MOST / 4;

#[derive(Clone, Debug)]
pub(crate) struct Tree<T> {
    root: Arc<Node<T>>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Node<T> {
    Leaf(Vec<T>),
    Inner(Vec<Child<T>>),
}

#[derive(Clone, Debug)]
struct Child<T> {
    /// Lower bound of the entries below it. Not used in the first child of a node.
    from: (Arc<str>, Revision),
    /// The number of entries below it.
    len: usize,
    node: Arc<Node<T>>,
}

impl<T> Default for Tree<T> {
    fn default() -> Tree<T> {
        Tree { root: Arc::new(Node::Leaf(Vec::new())), len: 0 }
    }
}

impl<T: Entry> Tree<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, key: SortKey<'_>) -> Option<&T> {
        let mut node = &*self.root;
        loop {
            match node {
                Node::Inner(children) => node = &children[way(children, |p| p <= key)].node,
                Node::Leaf(entries) => return entries.get(found(entries, key).ok()?),
            }
        }
    }

    /// All entries in order, except those for which `before` is true.
    pub(crate) fn walk(&self, before: impl Fn(SortKey<'_>) -> bool) -> Walk<'_, T> {
        Walk::new(&self.root, before)
    }

    /// The number of entries for which `before` is true.
    pub(crate) fn position(&self, before: impl Fn(SortKey<'_>) -> bool) -> usize {
        let (mut node, mut position) = (&*self.root, 0);
        loop {
            match node {
                Node::Inner(children) => {
                    let at = way(children, &before);
                    position += children[..at].iter().map(|child| child.len).sum::<usize>();
                    node = &children[at].node;
                }
                Node::Leaf(entries) => {
                    return position + entries.partition_point(|entry| before(entry.sort_key()));
                }
            }
        }
    }

    /// Inserts an entry; returns the one it replaced.
    pub(crate) fn insert(&mut self, entry: T) -> Option<T> {
        let (replaced, split) = insert(&mut self.root, entry);
        if replaced.is_none() {
            self.len += 1;
        }
        if let Some(right) = split {
            let node = self.root.clone();
            let left = Child { from: ("".into(), 0), len: self.len - right.len, node };
            self.root = Arc::new(Node::Inner(vec![left, right]));
        }
        replaced
    }

    pub(crate) fn remove(&mut self, key: SortKey<'_>) -> Option<T> {
        // Don't copy nodes for a missing entry.
        self.get(key)?;
        let removed = remove(&mut self.root, key)?;
        self.len -= 1;
        if self.len == 0 {
            *self = Tree::default();
        }
        while let Node::Inner(children) = &*self.root
            && let [only] = &**children
        {
            self.root = only.node.clone();
        }
        Some(removed)
    }
}

impl<T> Child<T> {
    fn from(&self) -> SortKey<'_> {
        (&self.from.0, self.from.1)
    }
}

/// The child in which the entries for which `before` is true end.
fn way<T>(children: &[Child<T>], before: impl Fn(SortKey<'_>) -> bool) -> usize {
    children.get(1..).map_or(0, |rest| rest.partition_point(|child| before(child.from())))
}

fn found<T: Entry>(entries: &[T], key: SortKey<'_>) -> Result<usize, usize> {
    entries.binary_search_by(|entry| entry.sort_key().cmp(&key))
}

/// The replaced entry, and the node split off to the right, if any.
fn insert<T: Entry>(node: &mut Arc<Node<T>>, entry: T) -> (Option<T>, Option<Child<T>>) {
    match Arc::make_mut(node) {
        Node::Leaf(entries) => match found(entries, entry.sort_key()) {
            Ok(at) => (Some(std::mem::replace(&mut entries[at], entry)), None),
            Err(at) => (None, add(entries, at, entry).map(leaf)),
        },
        Node::Inner(children) => {
            let at = way(children, |key| key <= entry.sort_key());
            let (replaced, split) = insert(&mut children[at].node, entry);
            if replaced.is_none() {
                children[at].len += 1;
            }
            let Some(right) = split else { return (replaced, None) };
            children[at].len -= right.len;
            (replaced, add(children, at + 1, right).map(inner))
        }
    }
}

/// Inserts into a node; if it is full, splits off its second half, or the new entry alone if
/// entries arrive in order.
fn add<E>(entries: &mut Vec<E>, at: usize, new: E) -> Option<Vec<E>> {
    if entries.len() < MOST {
        if entries.len() == entries.capacity() {
            // Doubles as usual, but never beyond a full node.
            entries.reserve_exact(entries.len().max(4).min(MOST - entries.len()));
        }
        entries.insert(at, new);
        return None;
    }
    if at == MOST {
        return Some(vec![new]);
    }
    let mut right = entries.split_off(MOST / 2);
    match at.checked_sub(entries.len()) {
        Some(at) => right.insert(at, new),
        None => entries.insert(at, new),
    }
    Some(right)
}

fn leaf<T: Entry>(entries: Vec<T>) -> Child<T> {
    let (key, revision) = entries[0].sort_key();
    let from = (key.into(), revision);
    Child { from, len: entries.len(), node: Arc::new(Node::Leaf(entries)) }
}

fn inner<T>(children: Vec<Child<T>>) -> Child<T> {
    let len = children.iter().map(|child| child.len).sum();
    Child { from: children[0].from.clone(), len, node: Arc::new(Node::Inner(children)) }
}

fn remove<T: Entry>(node: &mut Arc<Node<T>>, key: SortKey<'_>) -> Option<T> {
    match Arc::make_mut(node) {
        Node::Leaf(entries) => {
            let at = found(entries, key).ok()?;
            Some(entries.remove(at))
        }
        Node::Inner(children) => {
            let at = way(children, |from| from <= key);
            let removed = remove(&mut children[at].node, key)?;
            children[at].len -= 1;
            join(children, at);
            Some(removed)
        }
    }
}

/// Merges a child that has become small with a neighbour, so that no node stays nearly empty.
fn join<T: Clone>(children: &mut Vec<Child<T>>, at: usize) {
    if children[at].len == 0 {
        children.remove(at);
        return;
    }
    if children[at].node.width() > FEW {
        return;
    }
    let fits = |left: usize| {
        let pair = children.get(left..left + 2);
        pair.is_some_and(|pair| pair[0].node.width() + pair[1].node.width() <= MOST - FEW)
    };
    let left = match at.checked_sub(1) {
        Some(left) if fits(left) => left,
        _ if fits(at) => at,
        _ => return,
    };
    let right = children.remove(left + 1);
    children[left].len += right.len;
    match (Arc::make_mut(&mut children[left].node), Arc::unwrap_or_clone(right.node)) {
        (Node::Leaf(entries), Node::Leaf(more)) => {
            entries.reserve_exact(more.len());
            entries.extend(more);
        }
        (Node::Inner(entries), Node::Inner(mut more)) => {
            // It was not kept up to date as the first of its node.
            more[0].from = right.from;
            entries.extend(more);
        }
        _ => unreachable!("all leaves are at one depth"),
    }
}

impl<T> Node<T> {
    fn width(&self) -> usize {
        match self {
            Node::Leaf(entries) => entries.len(),
            Node::Inner(children) => children.len(),
        }
    }
}

#[cfg(test)]
mod tests;
