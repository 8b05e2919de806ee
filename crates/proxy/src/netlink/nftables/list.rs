//! Lists a table as values, once at start, to adopt what an earlier process left.
//!
//! Elements that packets wrote (session affinity) are not listed: they are no part of the value.

use std::sync::Arc;

use evenkeel_nft::{Adopted, ChainId, Config, Element, Family, SetId, rules, text};
use rustc_hash::FxHashMap;

use super::{
    super::{
        Error, Result,
        attribute::{Attributes, Message},
        message::{Writer, flags},
    },
    Nftables, SUBSYSTEM, Table, compare,
    element::{self, Decoded},
    encode::{self, RULE_CHAIN, RULE_EXPRESSIONS, RULE_TABLE},
    family_number, kind, set,
};

/// What a table holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    pub table: Table,
    /// The state that this shows.
    pub generation: u32,
    pub chains: Vec<ChainId>,
    /// In their order, by chain.
    pub rules: Vec<ListedRule>,
    pub sets: Vec<SetId>,
    pub counters: Vec<Arc<str>>,
    pub elements: Vec<Element>,
    /// Names of chains and sets that no ruleset of this program has, that are defined otherwise there,
    /// or that have such elements.
    pub foreign: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRule {
    pub chain: String,
    pub handle: u64,
    /// What `nft` keeps a comment in; empty for the rules of this program.
    pub user_data: Vec<u8>,
    /// As the kernel lists them.
    expressions: Vec<u8>,
}

/// The chains that elements may lead to, by name.
pub(super) type ChainNames = FxHashMap<String, ChainId>;

const ATTEMPTS: u32 = 10;
/// The length of `struct nfgenmsg`.
const NFGENMSG: usize = 4;

const RULE_HANDLE: u16 = 3;
const RULE_USER_DATA: u16 = 7;
const SET_TABLE: u16 = 1;
const SET_NAME: u16 = 2;

// === impl Listing ===

impl Listing {
    /// The table, to be taken over if it has the rules of `config`.
    pub fn adopted(self, family: Family, config: &Config) -> Adopted {
        let is_foreign = !self.foreign.is_empty()
            || !self.sets.iter().copied().eq(text::sets(config))
            || !self.has_rules(family, config);
        let Self { chains, counters, elements, .. } = self;
        Adopted { chains, is_foreign, counters, elements }
    }

    /// Whether every chain has exactly its rules.
    fn has_rules(&self, family: Family, config: &Config) -> bool {
        let mut listed: FxHashMap<&str, Vec<&ListedRule>> = FxHashMap::default();
        for rule in &self.rules {
            listed.entry(&rule.chain).or_default().push(rule);
        }
        self.chains.iter().all(|chain| {
            let expected = rules(*chain, config, family);
            let listed = listed.get(chain.to_string().as_str()).map_or(&[][..], Vec::as_slice);
            listed.len() == expected.len()
                && listed.iter().zip(&expected).all(|(listed, rule)| {
                    let ListedRule { user_data, expressions, .. } = listed;
                    user_data.is_empty()
                        && compare::is_rule(expressions, rule, family).unwrap_or(false)
                })
        })
    }
}

// === impl Nftables ===

impl Nftables {
    /// None if there is no such table. Starts again when the ruleset changes meanwhile.
    pub fn list(&mut self, family: Family, name: &str) -> Result<Option<Listing>> {
        for _ in 0..ATTEMPTS {
            let before = self.generation()?.id;
            let Some(table) = self.table(family, name)? else { return Ok(None) };
            let listing = self.list_once(family, name, table, before)?;
            if self.generation()?.id == before {
                return Ok(Some(listing));
            }
        }
        Err(Error::Interrupted { attempts: ATTEMPTS })
    }

    fn list_once(
        &mut self,
        family: Family,
        name: &str,
        table: Table,
        generation: u32,
    ) -> Result<Listing> {
        let mut foreign = Vec::new();
        let mut chains = ChainNames::default();
        let of = (encode::CHAIN_TABLE, encode::CHAIN_NAME);
        let found = self.objects(family, name, kind::GET_CHAIN, of, |chain, listed| {
            let Some(id) = ChainId::from_name(chain) else { return Ok(None) };
            let write = |writer: &mut Writer| encode::write_chain(writer, name, id);
            Ok(compare::is_as_written(listed, write)?.then_some(id))
        })?;
        for (chain, id) in found {
            match id {
                Some(id) => drop(chains.insert(chain, id)),
                None => foreign.push(chain),
            }
        }
        let mut sets = Vec::new();
        let found =
            self.objects(family, name, kind::GET_SET, (SET_TABLE, SET_NAME), |set, listed| {
                let Some(id) = SetId::from_name(set) else { return Ok(None) };
                let write = |writer: &mut Writer| set::write(writer, name, id, family);
                Ok(compare::is_as_written(listed, write)?.then_some(id))
            })?;
        for (set, id) in found {
            match id {
                Some(id) => sets.push(id),
                None => foreign.push(set),
            }
        }
        let counters = self.counters(family, name)?;
        let counters: Vec<Arc<str>> =
            counters.into_iter().map(|counter| counter.name.into()).collect();
        let mut elements = Vec::new();
        for set in sets.iter().filter(|set| !set.is_dynamic()) {
            let (mut listed, others) = self.elements(family, name, *set, &chains)?;
            elements.append(&mut listed);
            if others {
                foreign.push(set.name().to_owned());
            }
        }
        let rules = self.rules(family, name)?;
        let mut chains: Vec<ChainId> = chains.into_values().collect();
        chains.sort_unstable();
        Ok(Listing { table, generation, chains, rules, sets, counters, elements, foreign })
    }

    /// The objects of a kind by name, with what `known` makes of name and attributes.
    fn objects<T>(
        &mut self,
        family: Family,
        table: &str,
        kind: u8,
        (table_kind, name_kind): (u16, u16),
        known: impl Fn(&str, &[u8]) -> Result<Option<T>>,
    ) -> Result<Vec<(String, Option<T>)>> {
        self.dump(family, kind, &[(table_kind, table)], |message, objects| {
            let (mut of, mut name) = (None, None);
            for attribute in attributes(&message, family)? {
                let attribute = attribute?;
                match attribute.kind {
                    kind if kind == table_kind => of = Some(attribute.string()?),
                    kind if kind == name_kind => name = Some(attribute.string()?),
                    _ => {}
                }
            }
            if let Some(name) = name.filter(|_| of == Some(table)) {
                let listed = message.payload.get(NFGENMSG..).unwrap_or_default();
                objects.push((name.to_owned(), known(name, listed)?));
            }
            Ok(())
        })
    }

    fn rules(&mut self, family: Family, table: &str) -> Result<Vec<ListedRule>> {
        self.dump(family, kind::GET_RULE, &[(RULE_TABLE, table)], |message, rules| {
            let mut of = None;
            let mut rule = ListedRule {
                chain: String::new(),
                handle: 0,
                user_data: Vec::new(),
                expressions: Vec::new(),
            };
            for attribute in attributes(&message, family)? {
                let attribute = attribute?;
                match attribute.kind {
                    RULE_TABLE => of = Some(attribute.string()?),
                    RULE_CHAIN => rule.chain = attribute.string()?.to_owned(),
                    RULE_HANDLE => rule.handle = attribute.be64()?,
                    RULE_EXPRESSIONS => rule.expressions = attribute.payload.to_vec(),
                    RULE_USER_DATA => rule.user_data = attribute.payload.to_vec(),
                    _ => {}
                }
            }
            rules.extend((of == Some(table)).then_some(rule));
            Ok(())
        })
    }

    /// The elements of a set, and whether there are others that are none of these rulesets.
    fn elements(
        &mut self,
        family: Family,
        table: &str,
        set: SetId,
        chains: &ChainNames,
    ) -> Result<(Vec<Element>, bool)> {
        let of = [(element::LIST_TABLE, table), (element::LIST_SET, set.name())];
        let mut foreign = false;
        let elements = self.dump(family, kind::GET_ELEMENT, &of, |message, elements| {
            for attribute in attributes(&message, family)? {
                let attribute = attribute?;
                if attribute.kind != element::LIST_ELEMENTS {
                    continue;
                }
                for listed in attribute.nested() {
                    match element::read(&listed?, set, family, chains)? {
                        Decoded::Element(element) => elements.push(element),
                        Decoded::Foreign => foreign = true,
                    }
                }
            }
            Ok(())
        })?;
        Ok((elements, foreign))
    }

    fn dump<T>(
        &mut self,
        family: Family,
        kind: u8,
        of: &[(u16, &str)],
        each: impl FnMut(Message<'_>, &mut Vec<T>) -> Result<()>,
    ) -> Result<Vec<T>> {
        let header = (family_number(family), 0);
        self.socket.collect(
            |writer, sequence| {
                let flags = flags::REQUEST | flags::DUMP;
                let message = writer.begin_netfilter((SUBSYSTEM, kind), flags, sequence, header);
                for (kind, name) in of {
                    writer.string(*kind, name);
                }
                writer.end(message);
            },
            each,
        )
    }
}

/// The attributes of an answer; none of one for another family.
fn attributes<'a>(message: &Message<'a>, family: Family) -> Result<Attributes<'a>> {
    let (of, attributes) = message.netfilter()?;
    Ok(if of == family_number(family) { attributes } else { Attributes::new(&[]) })
}
