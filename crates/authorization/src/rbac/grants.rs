//! What one subject, a user or a group, is given within one scope.
//!
//! With few roles, each is looked at by itself: nothing is copied, however large the roles are. With
//! more, their cells are merged into one table, so that a request costs the same with ten roles and
//! with thousands. Each cell counts who contributes what, so that taking a role away is exact.
//!
//! Merging costs memory for each subject. It is bounded by a multiple of what all roles and bindings
//! have together (`Budget`); a role that does not fit stays by itself.

use rustc_hash::FxHashMap;

use super::cells::Compiled;

/// Up to so many roles are not merged. Tests have few roles, and are to find both.
const FEW: usize = if cfg!(test) { 1 } else { 4 };

#[derive(Clone, Debug, Default)]
pub(crate) struct Grants {
    /// Bindings that name the subject, sorted.
    pub(crate) bindings: Vec<u32>,
    /// The roles they give, sorted.
    roles: Vec<Held>,
    /// Those that are looked at by themselves.
    pub(crate) alone: Vec<u32>,
    merged: Option<FxHashMap<u32, Sum>>,
    /// How many bindings name a role that does not exist.
    pub(crate) unresolved: usize,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    role: u32,
    /// By how many bindings.
    bindings: usize,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The role does not exist.
    Nowhere,
    Alone,
    Merged,
}

/// The verbs that roles contribute to a cell. Mostly all contribute the same.
#[derive(Clone, Debug)]
enum Sum {
    Same { bits: u32, roles: u32 },
    Different { bits: u32, roles: Box<FxHashMap<u32, u32>> },
}

/// Numbers of entries, all in all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget {
    /// Cells of roles.
    pub(crate) cells: usize,
    /// Subjects of bindings.
    pub(crate) subjects: usize,
    /// Cells that were merged, once for each contribution.
    pub(crate) merged: usize,
}

// === impl Grants ===

impl Grants {
    /// Whether one of the cells is merged here with one of the verbs.
    pub(crate) fn has(&self, cells: &[u32], enough: u32) -> bool {
        let Some(merged) = &self.merged else { return false };
        cells.iter().any(|cell| merged.get(cell).is_some_and(|sum| sum.bits() & enough != 0))
    }

    /// A binding gives a role.
    pub(crate) fn add(&mut self, role: u32, compiled: Option<&Compiled>, budget: &mut Budget) {
        match self.roles.binary_search_by_key(&role, |held| held.role) {
            Ok(place) => self.roles[place].bindings += 1,
            Err(place) => {
                self.roles.insert(place, Held { role, bindings: 1, place: Place::Nowhere });
                self.place(role, compiled, budget);
            }
        }
        self.unresolved += usize::from(compiled.is_none());
    }

    /// A binding no longer gives a role. Whether it was the last that did.
    pub(crate) fn remove(
        &mut self,
        role: u32,
        compiled: Option<&Compiled>,
        budget: &mut Budget,
    ) -> bool {
        self.unresolved -= usize::from(compiled.is_none());
        let Ok(place) = self.roles.binary_search_by_key(&role, |held| held.role) else {
            return false;
        };
        self.roles[place].bindings -= 1;
        let last = self.roles[place].bindings == 0;
        if last {
            self.displace(role, compiled, budget);
            self.roles.remove(place);
        }
        last
    }

    /// A role that is given has changed, or came, or went.
    pub(crate) fn changed(
        &mut self,
        role: u32,
        [before, after]: [Option<&Compiled>; 2],
        budget: &mut Budget,
    ) {
        let Ok(place) = self.roles.binary_search_by_key(&role, |held| held.role) else { return };
        let bindings = self.roles[place].bindings;
        self.displace(role, before, budget);
        self.place(role, after, budget);
        self.unresolved -= if before.is_none() { bindings } else { 0 };
        self.unresolved += if after.is_none() { bindings } else { 0 };
    }

    /// Starts to merge with many roles, stops with few.
    pub(crate) fn settle<'a>(
        &mut self,
        compiled: impl Fn(u32) -> Option<&'a Compiled>,
        budget: &mut Budget,
    ) {
        let merges = match self.merged {
            None => self.roles.len() > FEW,
            Some(_) => self.roles.len() > FEW / 2,
        };
        if merges == self.merged.is_some() {
            return;
        }
        let roles: Vec<u32> = self.roles.iter().map(|held| held.role).collect();
        for role in &roles {
            self.displace(*role, compiled(*role), budget);
        }
        self.merged = merges.then(FxHashMap::default);
        for role in roles {
            self.place(role, compiled(role), budget);
        }
    }

    fn place(&mut self, role: u32, compiled: Option<&Compiled>, budget: &mut Budget) {
        let place = match (compiled, &mut self.merged) {
            (None, _) => Place::Nowhere,
            (Some(compiled), Some(merged))
                if compiled.wide.is_empty() && budget.has_room(compiled) =>
            {
                budget.merged += compiled.cells.len();
                for (cell, bits) in &compiled.cells {
                    merged
                        .entry(*cell)
                        .and_modify(|sum| sum.add(*bits))
                        .or_insert(Sum::Same { bits: *bits, roles: 1 });
                }
                Place::Merged
            }
            _ => {
                self.alone.push(role);
                Place::Alone
            }
        };
        self.set_place(role, place);
    }

    fn displace(&mut self, role: u32, compiled: Option<&Compiled>, budget: &mut Budget) {
        let before = self.set_place(role, Place::Nowhere);
        match (before, compiled, &mut self.merged) {
            (Place::Merged, Some(compiled), Some(merged)) => {
                budget.merged -= compiled.cells.len();
                for (cell, bits) in &compiled.cells {
                    if merged.get_mut(cell).is_some_and(|sum| sum.remove(*bits)) {
                        merged.remove(cell);
                    }
                }
            }
            (Place::Alone, ..) => {
                if let Some(place) = self.alone.iter().position(|alone| *alone == role) {
                    self.alone.swap_remove(place);
                }
            }
            _ => {}
        }
    }

    fn set_place(&mut self, role: u32, place: Place) -> Place {
        match self.roles.binary_search_by_key(&role, |held| held.role) {
            Ok(at) => std::mem::replace(&mut self.roles[at].place, place),
            Err(_) => Place::Nowhere,
        }
    }
}

// === impl Sum ===

impl Sum {
    fn bits(&self) -> u32 {
        match self {
            Sum::Same { bits, .. } | Sum::Different { bits, .. } => *bits,
        }
    }

    fn add(&mut self, more: u32) {
        match self {
            Sum::Same { bits, roles } if *bits == more => *roles += 1,
            Sum::Same { bits, roles } => {
                let both = [(*bits, *roles), (more, 1)].into_iter().collect();
                *self = Sum::Different { bits: *bits | more, roles: Box::new(both) };
            }
            Sum::Different { bits, roles } => {
                *bits |= more;
                *roles.entry(more).or_default() += 1;
            }
        }
    }

    /// Whether nothing is left.
    fn remove(&mut self, less: u32) -> bool {
        match self {
            Sum::Same { roles, .. } => {
                *roles -= 1;
                *roles == 0
            }
            Sum::Different { bits, roles } => {
                if let Some(n) = roles.get_mut(&less) {
                    *n -= 1;
                    if *n == 0 {
                        roles.remove(&less);
                        *bits = roles.keys().fold(0, |all, bits| all | bits);
                    }
                }
                roles.is_empty()
            }
        }
    }
}

// === impl Budget ===

impl Budget {
    fn has_room(&self, role: &Compiled) -> bool {
        let most = 65_536 + 8 * self.cells + 16 * self.subjects;
        self.merged + role.cells.len() <= most
    }
}
