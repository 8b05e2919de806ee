//! A client that follows the objects of one kind.

use std::sync::Arc;

use evenkeel_model::Watched;

use crate::sim::{Change, Shelf};

/// The position of a client. Changes are delivered one by one and in order; a new list may start
/// from any state, even an older one than the client knows: another replica of the API server may
/// be behind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    at: usize,
}

impl Cursor {
    pub fn at(self) -> usize {
        self.at
    }

    pub fn is_behind<T>(self, shelf: &Shelf<T>) -> bool {
        self.at < shelf.head()
    }

    /// The next change, if there is one.
    pub fn follow<T>(&mut self, shelf: &Shelf<T>) -> Option<Watched<Arc<T>>> {
        let change = shelf.change(self.at)?;
        self.at += 1;
        Some(match change {
            Change::Applied(_, entry) => Watched::Applied(Arc::clone(&entry.value)),
            Change::Deleted(gone) => Watched::Deleted(gone.clone()),
        })
    }

    /// A full list of state `at`, from which the watch then continues.
    pub fn list<T>(&mut self, shelf: &Shelf<T>, at: usize) -> Vec<Watched<Arc<T>>> {
        self.at = at.min(shelf.head());
        let objects = shelf.state(self.at);
        let listed = objects.into_values().map(|entry| Watched::Listed(entry.value));
        std::iter::once(Watched::Restarted).chain(listed).chain([Watched::Complete]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Key;

    fn shelf() -> Shelf<u32> {
        let mut shelf = Shelf::default();
        for (name, value) in [("a", 1), ("b", 2), ("a", 3)] {
            shelf.put(Key::new("", name), format!("uid-{name}").into(), value);
        }
        shelf.remove(&Key::new("", "b"));
        shelf
    }

    #[test]
    fn a_list_of_a_past_state_followed_to_its_end_is_the_present() {
        let shelf = shelf();
        for from in 0..=shelf.head() {
            let mut cursor = Cursor::default();
            let mut known = std::collections::BTreeMap::new();
            let mut shown = cursor.list(&shelf, from);
            assert_eq!(shown.first(), Some(&Watched::Restarted));
            assert_eq!(shown.pop(), Some(Watched::Complete));
            shown.extend(std::iter::from_fn(|| cursor.follow(&shelf)));
            for event in shown {
                match event {
                    Watched::Listed(value) | Watched::Applied(value) => {
                        known.insert(if *value == 2 { "b" } else { "a" }, *value)
                    }
                    Watched::Deleted(gone) => known.remove(&*gone.name),
                    Watched::Restarted | Watched::Complete => None,
                };
            }
            assert_eq!(known.into_iter().collect::<Vec<_>>(), [("a", 3)], "from {from}");
            assert!(!cursor.is_behind(&shelf));
        }
    }
}
