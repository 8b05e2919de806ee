//! Commits a transaction, and says what the kernel refused and why.

use core::{fmt, ops::Range};

use evenkeel_nft::{ChainId, Change, Config, Create, Family, Remove, SetId, Transaction, Verb};
use rustix::io::Errno;

use super::{
    super::Error,
    Nftables, Ownership, SUBSYSTEM,
    encode::{Batch, Options, Step, encode},
    generation::generation,
    kind,
};

/// Nothing of the transaction is in force.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    #[error("table {table}: {operation}: {reason}")]
    Refused { table: String, operation: Operation, reason: Reason },
    /// Somebody else has committed since.
    #[error("the ruleset has another generation than {expected}: somebody else changed it")]
    OtherGeneration { expected: u32 },
    #[error(transparent)]
    Netlink(#[from] Error),
}

/// What was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    Commit,
    ReplaceTable(Family),
    CreateChain(Family, ChainId),
    CreateSet(Family, SetId),
    /// The rule at this place of the chain.
    CreateRule(Family, ChainId, usize),
    CreateCounter(Family, String),
    /// `elements` of them in one message; then `key` is the first.
    Element {
        verb: Verb,
        family: Family,
        set: SetId,
        key: String,
        elements: usize,
    },
    RemoveChain(Family, ChainId),
    RemoveCounter(Family, String),
}

/// Why it was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    pub errno: Errno,
    /// What to do about it, where that is known.
    pub advice: Option<&'static str>,
}

// === impl Nftables ===

impl Nftables {
    /// Commits all of `transaction`, or nothing; returns the generation that it led to.
    ///
    /// With `only_at`, it is refused unless the ruleset is still at that generation. A transaction
    /// without changes is not sent.
    pub fn commit(
        &mut self,
        transaction: &Transaction,
        config: &Config,
        ownership: Ownership,
        only_at: Option<u32>,
    ) -> Result<u32, CommitError> {
        if transaction.is_empty() {
            return Ok(self.generation()?.id);
        }
        let commit = Commit { transaction, config, ownership, only_at };
        match self.attempt(&commit, 0..0)? {
            // Nothing is in force, so the batch can be sent again, with the changes of the refused
            // message apart, to learn which of them it is.
            Err(Refusal { step: Step::Elements(elements), .. }) if elements.len() > 1 => {
                self.attempt(&commit, elements)?
            }
            outcome => outcome,
        }
        .map_err(|refusal| refusal.explain(&commit))
    }

    fn attempt(
        &mut self,
        commit: &Commit<'_>,
        apart: Range<usize>,
    ) -> Result<Result<u32, Refusal>, Error> {
        let Commit { transaction, config, ownership, only_at } = *commit;
        let first = self.socket.sequences(0);
        let options = Options { config, ownership, first, generation: only_at, apart };
        let batch = encode(transaction, &options)?;
        self.socket.sequences(batch.steps.len() as u32);

        let mut committed = None;
        let replies = self.socket.batch(&batch.bytes, |message| {
            if message.kind == u16::from_be_bytes([SUBSYSTEM, kind::NEW_GENERATION]) {
                committed = Some(generation(&message)?.id);
            }
            Ok(())
        })?;
        let refusals = replies.iter().filter_map(|reply| {
            Some(Refusal { step: batch.step(reply.sequence)?.clone(), errno: reply.errno? })
        });
        // Later refusals may only follow from the first one.
        let first = refusals.min_by_key(|refusal| batch.place(&refusal.step));
        match (first, committed) {
            (Some(refusal), _) => Ok(Err(refusal)),
            (None, Some(generation)) => Ok(Ok(generation)),
            (None, None) if replies.is_empty() => Err(Error::NoAnswer),
            (None, None) => Ok(Ok(self.generation()?.id)),
        }
    }
}

#[derive(Clone, Copy)]
struct Commit<'a> {
    transaction: &'a Transaction,
    config: &'a Config,
    ownership: Ownership,
    only_at: Option<u32>,
}

struct Refusal {
    step: Step,
    errno: Errno,
}

// === impl Batch ===

impl Batch {
    fn step(&self, sequence: u32) -> Option<&Step> {
        self.steps.get(sequence.wrapping_sub(self.first) as usize)
    }

    fn place(&self, step: &Step) -> usize {
        self.steps.iter().position(|other| other == step).unwrap_or(usize::MAX)
    }
}

// === impl Refusal ===

impl Refusal {
    fn explain(self, commit: &Commit<'_>) -> CommitError {
        let Self { step, errno } = self;
        if let (Step::Begin, Errno::RESTART, Some(expected)) = (&step, errno, commit.only_at) {
            return CommitError::OtherGeneration { expected };
        }
        let advice = advice(&step, errno);
        CommitError::Refused {
            table: commit.config.table.clone(),
            operation: operation(step, commit.transaction),
            reason: Reason { errno, advice },
        }
    }
}

fn operation(step: Step, transaction: &Transaction) -> Operation {
    match step {
        Step::Begin | Step::End => Operation::Commit,
        Step::ReplaceTable(family) => Operation::ReplaceTable(family),
        Step::Chain(family, chain) => Operation::CreateChain(family, chain),
        Step::Set(family, set) => Operation::CreateSet(family, set),
        Step::Rule(family, chain, place) => Operation::CreateRule(family, chain, place),
        Step::Counter(index) => match transaction.create.get(index) {
            Some(Create::Counter(family, name)) => {
                Operation::CreateCounter(*family, name.to_string())
            }
            _ => Operation::Commit,
        },
        Step::Elements(range) => {
            let elements = range.len();
            transaction.elements.get(range.start).map_or(Operation::Commit, |change| {
                let Change { verb, element } = change;
                let fields = element.key.fields(element.set.key(element.family), element.family);
                let key = fields.map_or_else(|| format!("{:?}", element.key), |f| f.join(" . "));
                let (verb, family, set) = (*verb, element.family, element.set);
                Operation::Element { verb, family, set, key, elements }
            })
        }
        Step::Remove(index) => match transaction.remove.get(index) {
            Some(Remove::Chain(family, chain)) => Operation::RemoveChain(*family, *chain),
            Some(Remove::Counter(family, name)) => {
                Operation::RemoveCounter(*family, name.to_string())
            }
            None => Operation::Commit,
        },
    }
}

/// What to do about an error, from what the kernel means by it at this step.
fn advice(step: &Step, errno: Errno) -> Option<&'static str> {
    Some(match (step, errno) {
        (Step::Begin | Step::End, Errno::PERM) => {
            "run with the capability CAP_NET_ADMIN in this network namespace"
        }
        (_, Errno::PERM) => "the table is owned by another process; stop it, or use another name",
        (Step::ReplaceTable(_), Errno::OPNOTSUPP) => {
            "the kernel has no owned persistent tables, which need Linux 6.9, or no nf_tables"
        }
        (Step::ReplaceTable(_), Errno::AFNOSUPPORT) => {
            "the kernel has no nf_tables for this address family (CONFIG_NF_TABLES_IPV4, _IPV6)"
        }
        (Step::Begin, Errno::INVAL | Errno::OPNOTSUPP) => {
            "the kernel has no nf_tables (CONFIG_NF_TABLES)"
        }
        (Step::Chain(..), Errno::NOENT | Errno::OPNOTSUPP) => {
            "the kernel has no NAT chains for nf_tables (CONFIG_NFT_NAT, module nft_chain_nat)"
        }
        (Step::Set(_, set), Errno::OPNOTSUPP | Errno::INVAL) if set.has_ranges() => {
            "the kernel has no sets of concatenated ranges, which need Linux 5.6"
        }
        (Step::Rule(..), Errno::NOENT | Errno::OPNOTSUPP) => {
            "the kernel lacks an expression; it needs modules nft_ct, nft_nat, nft_masq, nft_reject, \
             nft_fib, nft_hash, nft_numgen and nft_objref"
        }
        (Step::Elements(_), Errno::EXIST) => "it is there already: somebody else changed the table",
        (Step::Elements(_) | Step::Remove(_), Errno::NOENT) => {
            "it, or what it names, is not there: somebody else changed the table"
        }
        (Step::Remove(_) | Step::ReplaceTable(_), Errno::BUSY) => "it is still in use",
        (Step::Elements(_), Errno::NFILE) => "the set is full",
        (_, Errno::MLINK | Errno::LOOP) => "chains would lead back to themselves",
        (_, Errno::NOMEM) => "the kernel is out of memory",
        _ => return None,
    })
}

// === impl Operation ===

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit => f.write_str("commit"),
            Self::ReplaceTable(family) => write!(f, "replace the {family} table"),
            Self::CreateChain(family, chain) => write!(f, "create {family} chain {chain}"),
            Self::CreateSet(family, set) => write!(f, "create {family} set {}", set.name()),
            Self::CreateRule(family, chain, place) => {
                write!(f, "create rule {} of {family} chain {chain}", place + 1)
            }
            Self::CreateCounter(family, name) => write!(f, "create {family} counter {name}"),
            Self::Element { verb, family, set, key, elements } => {
                let verb = match verb {
                    Verb::Add => "add",
                    Verb::Delete => "delete",
                };
                write!(f, "{verb} element {key} of {family} set {}", set.name())?;
                match elements {
                    0 | 1 => Ok(()),
                    more => write!(f, " or one of the {} after it", more - 1),
                }
            }
            Self::RemoveChain(family, chain) => write!(f, "remove {family} chain {chain}"),
            Self::RemoveCounter(family, name) => write!(f, "remove {family} counter {name}"),
        }
    }
}

// === impl Reason ===

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.advice {
            Some(advice) => write!(f, "{}: {advice}", self.errno),
            None => self.errno.fmt(f),
        }
    }
}
