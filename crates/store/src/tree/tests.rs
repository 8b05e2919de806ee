use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug, PartialEq)]
struct One {
    key: String,
    revision: Revision,
    text: u32,
}

impl Entry for One {
    fn sort_key(&self) -> SortKey<'_> {
        (&self.key, self.revision)
    }
}

type Model = BTreeMap<(String, Revision), u32>;

fn one(n: u32, text: u32) -> One {
    One { key: format!("{:05}", n / 3), revision: u64::from(n % 3), text }
}

/// Checks entry order and positions, and that no node is too large or at another depth.
fn check(tree: &Tree<One>, model: &Model) {
    assert_eq!(tree.len(), model.len());
    let all: Model =
        tree.walk(|_| false).map(|one| ((one.key.clone(), one.revision), one.text)).collect();
    assert_eq!(&all, model);
    shape(&tree.root);
}

/// Depth and number of entries.
fn shape(node: &Node<One>) -> (usize, usize) {
    assert!(node.width() <= MOST, "a node of {}", node.width());
    match node {
        Node::Leaf(entries) => {
            assert!(entries.capacity() <= MOST, "no spare room: {}", entries.capacity());
            (0, entries.len())
        }
        Node::Inner(children) => {
            let below: Vec<_> = children.iter().map(|child| shape(&child.node)).collect();
            assert!(below.iter().all(|(depth, _)| *depth == below[0].0));
            assert!(below.iter().zip(children).all(|((_, len), child)| *len == child.len));
            (below[0].0 + 1, below.iter().map(|(_, len)| len).sum())
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// This many neighbours from here on.
    Insert(u32, u32),
    Remove(u32, u32),
    Keep,
}

fn step() -> impl Strategy<Value = Step> {
    let run = || (0..3_000_u32, 1..400_u32);
    prop_oneof![
        4 => run().prop_map(|(from, n)| Step::Insert(from, n)),
        3 => run().prop_map(|(from, n)| Step::Remove(from, n)),
        1 => Just(Step::Keep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_tree_is_an_ordered_map_and_its_clones_never_change(
        steps in proptest::collection::vec(step(), 1..40),
        probes in proptest::collection::vec(0..3_500_u32, 20),
    ) {
        let (mut tree, mut model) = (Tree::default(), Model::new());
        let mut kept = Vec::new();
        for (text, step) in (0..).zip(steps) {
            match step {
                Step::Insert(from, n) => for n in from..from + n {
                    // Out of order, so that nodes also split in the middle.
                    let new = one(n * 7 % 3_000, text);
                    let place = (new.key.clone(), new.revision);
                    let before = tree.insert(new).map(|one| one.text);
                    prop_assert_eq!(before, model.insert(place, text));
                },
                Step::Remove(from, n) => for n in from..from + n {
                    let gone = one(n, 0);
                    let removed = tree.remove(gone.sort_key()).map(|one| one.text);
                    prop_assert_eq!(removed, model.remove(&(gone.key, gone.revision)));
                },
                Step::Keep => kept.push((tree.clone(), model.clone())),
            }
        }
        kept.push((tree, model));
        for (tree, model) in &kept {
            check(tree, model);
            for probe in &probes {
                let probe = one(*probe, 0);
                let place = (probe.key.clone(), probe.revision);
                let before = |p: SortKey<'_>| p < probe.sort_key();
                prop_assert_eq!(tree.get(probe.sort_key()).map(|one| &one.text), model.get(&place));
                prop_assert_eq!(tree.position(before), model.range(..&place).count());
                let next = model.range(&place..).next().map(|(_, text)| text);
                prop_assert_eq!(tree.walk(before).next().map(|one| &one.text), next);
            }
        }
    }
}

#[test]
fn entries_that_come_in_order_leave_no_room() {
    let mut tree = Tree::default();
    for n in 0..100_000 {
        tree.insert(one(n, 0));
    }
    let (depth, len) = shape(&tree.root);
    assert_eq!((depth, len), (2, 100_000));
    for n in 0..100_000 {
        assert!(tree.remove(one(n, 0).sort_key()).is_some());
    }
    assert_eq!((tree.len(), shape(&tree.root)), (0, (0, 0)));
}
