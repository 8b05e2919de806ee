//! All names that roles and bindings use, and all cells of roles, as numbers.
//!
//! A cell is the smallest thing that rules speak of: one resource of one group, under one name or
//! any, or one path. Which verbs a role allows there are bits (`verbs`). A request is looked up here
//! once, and what no role in the cluster speaks of is refused at once; the few cells that are found
//! are then looked up for each subject.
//!
//! Names come from clients, so they are hashed under a secret key; numbers are ours.

use std::{collections::BTreeMap, hash::RandomState, ops::Bound, sync::Arc};

use rustc_hash::FxBuildHasher;

use super::{
    intern::Interner,
    verbs,
    wanted::{Wanted, WantedOn},
};

/// In a cell: no part, any name, a verb with a bit of its own, a path as it is.
pub(crate) const NONE: u32 = u32::MAX;
/// In place of a group: the cell is of a path.
const PATH: u32 = u32::MAX - 1;
/// In place of a part: the cell is of all paths that begin so.
const PREFIX: u32 = u32::MAX - 2;
/// The most cells of one request for a resource: two groups, three resources, two names, two verbs.
const MOST: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cell {
    pub(crate) group: u32,
    pub(crate) resource: u32,
    pub(crate) part: u32,
    pub(crate) name: u32,
    pub(crate) verb: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Words {
    symbols: Interner<Arc<str>, RandomState>,
    cells: Interner<Cell, FxBuildHasher>,
    /// Prefixes of paths, with their symbol and the number of cells.
    prefixes: BTreeMap<Arc<str>, (u32, u32)>,
    /// `*`, which stays.
    star: u32,
}

/// The cells of one request.
struct Few {
    cells: [u32; MOST],
    n: usize,
}

// === impl Cell ===

impl Cell {
    pub(crate) fn path(symbol: u32, is_prefix: bool, verb: u32) -> Cell {
        let part = if is_prefix { PREFIX } else { NONE };
        Cell { group: PATH, resource: symbol, part, name: NONE, verb }
    }

    fn symbols(self) -> impl Iterator<Item = u32> {
        let Cell { group, resource, part, name, verb } = self;
        [group, resource, part, name, verb].into_iter().filter(|symbol| *symbol < PREFIX)
    }

    fn is_prefix(self) -> bool {
        self.group == PATH && self.part == PREFIX
    }
}

// === impl Words ===

impl Default for Words {
    fn default() -> Words {
        let mut symbols = Interner::default();
        let star = symbols.insert(Arc::from("*"));
        Words { symbols, cells: Interner::default(), prefixes: BTreeMap::new(), star }
    }
}

impl Words {
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.symbols.find(name)
    }

    /// The text of a symbol that something refers to.
    pub(crate) fn text(&self, symbol: u32) -> &str {
        self.symbols.key(symbol).map(|text| &**text).unwrap_or_default()
    }

    /// A symbol with one reference more.
    pub(crate) fn symbol(&mut self, name: &str) -> u32 {
        match self.symbols.refer(name) {
            Some(symbol) => symbol,
            None => self.symbols.insert(Arc::from(name)),
        }
    }

    /// Adds a reference to a symbol.
    pub(crate) fn retain(&mut self, symbol: u32) {
        self.symbols.retain(symbol);
    }

    pub(crate) fn release(&mut self, symbol: u32) {
        self.symbols.release(symbol);
    }

    /// A cell with one reference more. It refers to its symbols itself.
    pub(crate) fn cell(&mut self, cell: Cell) -> u32 {
        if let Some(id) = self.cells.refer(&cell) {
            return id;
        }
        cell.symbols().for_each(|symbol| self.symbols.retain(symbol));
        if cell.is_prefix()
            && let Some(prefix) = self.symbols.key(cell.resource)
        {
            self.prefixes.entry(Arc::clone(prefix)).or_insert((cell.resource, 0)).1 += 1;
        }
        self.cells.insert(cell)
    }

    pub(crate) fn release_cell(&mut self, id: u32) {
        let Some(cell) = self.cells.release(id) else { return };
        if cell.is_prefix()
            && let Some(prefix) = self.symbols.key(cell.resource)
            && let Some((_, n)) = self.prefixes.get_mut(prefix)
        {
            *n -= 1;
            if *n == 0 {
                self.prefixes.remove(prefix);
            }
        }
        cell.symbols().for_each(|symbol| self.release(symbol));
    }

    /// Gives the cells that would allow what is wanted to `check`, in one or more steps, until it
    /// says yes.
    pub(crate) fn candidates(
        &self,
        wanted: &Wanted<'_>,
        mut check: impl FnMut(&[u32]) -> bool,
    ) -> bool {
        let other = match verbs::bit(wanted.verb) {
            Some(_) => None,
            None => self.find(wanted.verb),
        };
        let verbs = [Some(NONE), other];
        let mut few = Few { cells: [0; MOST], n: 0 };
        if let WantedOn::Path { path, .. } = &wanted.on {
            let exact = self.find(path).map(|symbol| (symbol, false));
            for (symbol, is_prefix) in exact.into_iter().chain(self.prefixes_of(path)) {
                for verb in verbs.into_iter().flatten() {
                    few.add(self.cells.find(&Cell::path(symbol, is_prefix, verb)));
                }
                if few.n + verbs.len() > MOST && few.take(&mut check) {
                    return true;
                }
            }
        } else {
            self.of_resource(wanted, verbs, &mut few);
        }
        few.take(&mut check)
    }

    fn of_resource(&self, wanted: &Wanted<'_>, verbs: [Option<u32>; 2], few: &mut Few) {
        let WantedOn::Resource { group, resource, part, any, name } = &wanted.on else { return };
        let part_symbol = part.as_ref().map_or(Some(NONE), |part| self.find(part));
        let exact = self.find(resource).zip(part_symbol);
        let any = any.and_then(|any| self.find(any)).map(|any| (self.star, any));
        let names = [Some(NONE), name.and_then(|name| self.find(name))];
        for group in [Some(self.star), self.find(group)].into_iter().flatten() {
            for (resource, part) in [Some((self.star, NONE)), exact, any].into_iter().flatten() {
                for name in names.into_iter().flatten() {
                    for verb in verbs.into_iter().flatten() {
                        let cell = Cell { group, resource, part, name, verb };
                        few.add(self.cells.find(&cell));
                    }
                }
            }
        }
    }

    /// The symbols of all prefixes that a path begins with. Each step goes to the last prefix in
    /// order that can still match, so that their number does not matter.
    fn prefixes_of<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (u32, bool)> + 'a {
        let mut end = Some(Bound::Included(path));
        std::iter::from_fn(move || {
            loop {
                let range = self.prefixes.range::<str, _>((Bound::Unbounded, end?));
                let Some((prefix, (symbol, _))) = range.into_iter().next_back() else {
                    end = None;
                    return None;
                };
                let bytes = prefix.bytes().zip(path.bytes());
                let common = bytes.take_while(|(ours, theirs)| ours == theirs).count();
                if common == prefix.len() {
                    end = Some(Bound::Excluded(&path[..common]));
                    return Some((*symbol, true));
                }
                end = Some(Bound::Included(&path[..path.floor_char_boundary(common)]));
            }
        })
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.symbols.len() == 1 && self.cells.len() == 0 && self.prefixes.is_empty()
    }
}

// === impl Few ===

impl Few {
    fn add(&mut self, cell: Option<u32>) {
        if let (Some(cell), Some(place)) = (cell, self.cells.get_mut(self.n)) {
            *place = cell;
            self.n += 1;
        }
    }

    fn take(&mut self, check: &mut impl FnMut(&[u32]) -> bool) -> bool {
        let n = std::mem::take(&mut self.n);
        n > 0 && check(&self.cells[..n])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_prefixes_of_a_path_are_found() {
        let mut words = Words::default();
        let prefixes = ["", "/a", "/a/", "/a/b", "/a/bc", "/aé", "/b", "/a/b/c/d", "/a/a", "/a/é"];
        for prefix in prefixes {
            let symbol = words.symbol(prefix);
            words.cell(Cell::path(symbol, true, NONE));
        }
        for path in ["", "/", "/a", "/a/b/c", "/a/bcd", "/aè", "/aé/x", "/a/b/c/d/e", "/z", "/a/è"]
        {
            let mut found: Vec<_> =
                words.prefixes_of(path).map(|(symbol, _)| words.text(symbol)).collect();
            found.sort_unstable();
            let mut expected: Vec<_> =
                prefixes.into_iter().filter(|prefix| path.starts_with(prefix)).collect();
            expected.sort_unstable();
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn released_cells_leave_nothing() {
        let mut words = Words::default();
        let path = words.symbol("/x");
        let cells = [false, true, true].map(|prefix| words.cell(Cell::path(path, prefix, NONE)));
        words.release(path);
        assert_eq!(words.text(path), "/x");
        cells.into_iter().for_each(|cell| words.release_cell(cell));
        assert!(words.is_empty());
    }
}
