//! The tables of this node in the kernel: taken over at the start, changed by commits, watched for
//! what others do to them.

use std::io;

use evenkeel_nft::{Adopted, ChainId, Config, Family, Transaction};
use rustc_hash::FxHashMap;

use crate::{
    NetworkNamespace,
    error::Error,
    netlink::{
        self,
        nftables::{CommitError, Listing, Nftables, Ownership},
    },
};

/// An open connection to nftables.
#[derive(Debug)]
pub(crate) struct Kernel {
    nftables: Nftables,
    ownership: Ownership,
    /// The handle of each table that is there.
    handles: FxHashMap<Family, u64>,
    /// The state of all tables, ours and others', that was last looked at.
    generation: u32,
    /// Others committed something that was not looked at.
    is_overtaken: bool,
}

/// What was found at the start.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) tables: Vec<(Family, Listing)>,
    /// [`Config::seed`] of the tables.
    pub(crate) seed: Option<u32>,
}

/// Whether tables are as they were committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intact {
    Yes,
    /// Somebody committed something, and our tables are owned: it can't be to them.
    OthersChanged,
    /// A table is gone, or is another one.
    Lost,
    /// Somebody committed something, perhaps to our tables.
    Unknown,
}

// === impl Kernel ===

impl Kernel {
    pub(crate) fn open(
        namespace: Option<&NetworkNamespace>,
        is_owner: bool,
    ) -> Result<Kernel, Error> {
        let mut nftables = inside(namespace, Nftables::open)?.map_err(Error::Netlink)?;
        let generation = nftables.generation().map_err(Error::Netlink)?.id;
        let ownership = match is_owner && nftables.supports_ownership().map_err(Error::Netlink)? {
            true => Ownership::OwnedPersistent,
            false => Ownership::Shared,
        };
        let handles = FxHashMap::default();
        Ok(Kernel { nftables, ownership, handles, generation, is_overtaken: false })
    }

    pub(crate) fn is_owner(&self) -> bool {
        self.ownership == Ownership::OwnedPersistent
    }

    /// Lists the tables once. A table of this name that somebody else made is an error, unless it is to
    /// be taken.
    pub(crate) fn find(
        &mut self,
        config: &Config,
        families: &[Family],
        take: bool,
    ) -> Result<Found, Error> {
        let mut found = Found::default();
        for family in families {
            let listing = self.nftables.list(*family, &config.table).map_err(Error::Netlink)?;
            let Some(listing) = listing else { continue };
            let own = self.nftables.port();
            if listing.table.owner.is_some_and(|owner| owner != own) {
                return Err(Error::OwnedTable { table: name(*family, config) });
            }
            let is_ours = listing.chains.iter().any(|chain| matches!(chain, ChainId::Version(_)));
            if !is_ours && !take {
                return Err(Error::ForeignTable { table: name(*family, config) });
            }
            self.handles.insert(*family, listing.table.handle);
            found.seed = found.seed.or_else(|| seed(&listing));
            found.tables.push((*family, listing));
        }
        Ok(found)
    }

    /// Makes this process the owner of the tables that were found. Returns the families of those that
    /// have to be replaced for it: the kernel gives away only what an owner left behind.
    pub(crate) fn own(&mut self, config: &Config) -> Result<Vec<Family>, Error> {
        let mut to_replace = Vec::new();
        if !self.is_owner() {
            return Ok(to_replace);
        }
        let families: Vec<Family> = self.handles.keys().copied().collect();
        for family in families {
            let table = self.nftables.table(family, &config.table).map_err(Error::Netlink)?;
            match table {
                Some(table) if table.is_orphan() => {
                    self.nftables.adopt(family, &config.table).map_err(Error::Netlink)?;
                }
                Some(table) if table.owner.is_none() => to_replace.push(family),
                Some(_) | None => {}
            }
        }
        self.generation = self.nftables.generation().map_err(Error::Netlink)?.id;
        Ok(to_replace)
    }

    /// All of it, or nothing.
    pub(crate) fn commit(
        &mut self,
        transaction: &Transaction,
        config: &Config,
    ) -> Result<(), CommitError> {
        let is_new = !transaction.create.is_empty();
        let before = self.generation;
        self.generation = self.nftables.commit(transaction, config, self.ownership, None)?;
        // Somebody committed since the last look, and this commit must not hide it.
        self.is_overtaken |= self.generation != following(before);
        if is_new {
            self.look_up(config)?;
        }
        Ok(())
    }

    fn look_up(&mut self, config: &Config) -> Result<(), CommitError> {
        self.handles.clear();
        for family in Family::ALL {
            if let Some(table) = self.nftables.table(family, &config.table)? {
                self.handles.insert(family, table.handle);
            }
        }
        Ok(())
    }

    /// Looks whether somebody else changed something since the last commit or look.
    pub(crate) fn look(&mut self, config: &Config) -> netlink::Result<Intact> {
        let generation = self.nftables.generation()?.id;
        if generation == self.generation && !self.is_overtaken {
            return Ok(Intact::Yes);
        }
        for (family, handle) in &self.handles {
            let table = self.nftables.table(*family, &config.table)?;
            if table.is_none_or(|table| table.handle != *handle) {
                return Ok(Intact::Lost);
            }
        }
        (self.generation, self.is_overtaken) = (generation, false);
        Ok(if self.is_owner() { Intact::OthersChanged } else { Intact::Unknown })
    }

    /// The next look is not content with the generation alone.
    pub(crate) fn look_again(&mut self) {
        self.is_overtaken = true;
    }

    /// What a table of ours has now.
    pub(crate) fn list(
        &mut self,
        family: Family,
        config: &Config,
    ) -> netlink::Result<Option<Adopted>> {
        let listing = self.nftables.list(family, &config.table)?;
        Ok(listing.map(|listing| listing.adopted(family, config)))
    }

    /// Deletes a table; `false` if there is none.
    pub(crate) fn delete(&mut self, family: Family, config: &Config) -> Result<bool, Error> {
        match self.nftables.delete_table(family, &config.table) {
            Ok(is_deleted) => Ok(is_deleted),
            Err(error) if error.errno() == Some(rustix::io::Errno::PERM) => {
                Err(Error::OwnedTable { table: name(family, config) })
            }
            Err(error) => Err(Error::Netlink(error)),
        }
    }
}

/// Runs in a namespace, if one is given.
pub(crate) fn inside<R: Send>(
    namespace: Option<&NetworkNamespace>,
    act: impl FnOnce() -> R + Send,
) -> Result<R, Error> {
    let Some(namespace) = namespace else { return Ok(act()) };
    let failed = |source: io::Error| Error::Namespace { path: namespace.path().into(), source };
    namespace.run(act).map_err(failed)
}

/// The kernel leaves out 0.
fn following(generation: u32) -> u32 {
    generation.wrapping_add(1).max(1)
}

fn name(family: Family, config: &Config) -> String {
    format!("{family} {}", config.table)
}

fn seed(listing: &Listing) -> Option<u32> {
    listing.chains.iter().find_map(|chain| match chain {
        ChainId::Version(version) => Some(version.seed),
        _ => None,
    })
}
