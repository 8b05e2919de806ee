//! The rules of each chain: the path of a connection through a table.
//!
//! ```text
//!  prerouting, output ─► services: masquerade? firewall? ─┬─ cluster, external, load-balancer IP ─► pick
//!                                                         ├─ unknown port of a cluster IP ─► reject
//!                                                         └─ node-port IP ─► nodeports ─► pick
//!  postrouting: hairpin and marked connections are masqueraded
//! ```
//!
//! A frontend with `externalTrafficPolicy: Local` first passes a chain that lets Pods and this node
//! through to all endpoints, and sends everybody else to the endpoints of this node.
//!
//! **Picking.** `services` leads a frontend to a chain for its number of endpoints N, which looks up the
//! frontend and a random index below N. Under zone shares the random number picks a slot, the slot
//! leads to a zone's rank, and the rank to a chain that picks one of that zone's endpoints; their
//! indexes begin at the rank's base. With session affinity the maps hold ids of endpoints: an id that a
//! client was given is good as long as `pinned` has it, whatever the indexes are.
//!
//! **Commits are not atomic for a packet**: each lookup reads the newest generation, so an index may be
//! gone that the lookup before led to. Then the fallback index is looked up, which there always is
//! while there are endpoints. If that fails too, the packet is dropped, and the client's retry finds
//! the new rules: a packet that fell through would leave a connection without translation behind.

use evenkeel_model::Protocol;

use crate::{
    By, ChainId, Config, DetectLocal, Family, Lane, SetId,
    chain::{From, Pick},
    rule::{Action, Field, Match, Rule, client, frontend},
};

/// Where the indexes of the zone of this rank begin.
pub(crate) fn base(rank: u16) -> u32 {
    u32::from(rank) << 20
}

/// The index of the endpoint that is used when another lookup fails, under zone shares. Otherwise
/// it is the first.
pub(crate) const FALLBACK: u32 = 1 << 31;

pub fn rules(chain: ChainId, config: &Config, family: Family) -> Vec<Rule> {
    match chain {
        ChainId::Prerouting | ChainId::Output => {
            vec![Rule::always(Action::Jump(ChainId::Services))]
        }
        ChainId::Input => vec![Rule::always(Action::Jump(ChainId::Count))],
        ChainId::Postrouting => postrouting(config),
        ChainId::Services => services(config, family),
        ChainId::NodePorts => by_frontend(By::NodePort, config),
        ChainId::OutsideLocal(by) => outside_local(by, config, family),
        ChainId::Count => counting(),
        ChainId::Reject => reject(),
        ChainId::Version(_) => vec![],
        ChainId::Pick(pick) => match pick.sticky {
            None => plain(pick),
            Some(seconds) => {
                let client = match family {
                    Family::Ipv4 => client(pick.by),
                    Family::Ipv6 => vec![Field::ClientHash { by: pick.by, seed: config.seed }],
                };
                Sticky { pick, seconds, client }.rules()
            }
        },
    }
}

fn services(config: &Config, family: Family) -> Vec<Rule> {
    let to_cluster_ip = || is_in(vec![Field::DestinationAddress], SetId::ClusterIps);
    let mut rules = Vec::new();
    let from_outside = is_of_cluster(false, config, family);
    if config.masquerade_all || !from_outside.is_empty() {
        let from_outside = from_outside.into_iter().filter(|_| !config.masquerade_all);
        let matches = [to_cluster_ip()].into_iter().chain(from_outside);
        rules.push(Rule::new(matches, [Action::SetMark(config.mark())]));
    }
    let mut range = frontend(By::Address);
    range.push(Field::SourceAddress);
    rules.push(Rule::new(
        [
            is_in(frontend(By::Address), SetId::Firewall),
            Match::InSet { key: range, set: SetId::SourceRanges, is_in: false },
        ],
        [Action::Drop],
    ));
    rules.extend(by_frontend(By::Address, config));
    rules.push(Rule::new([to_cluster_ip()], [Action::Jump(ChainId::Reject)]));
    rules.push(Rule::new(
        [is_in(vec![Field::DestinationAddress], SetId::NodePortIps)],
        [Action::Jump(ChainId::NodePorts)],
    ));
    rules
}

fn by_frontend(by: By, config: &Config) -> Vec<Rule> {
    vec![
        Rule::new([is_in(frontend(by), SetId::Masquerade(by))], [Action::SetMark(config.mark())]),
        Rule::new(
            [is_in(frontend(by), SetId::OutsideLocal(by))],
            [Action::Jump(ChainId::OutsideLocal(by))],
        ),
        Rule::always(Action::VerdictFrom {
            key: frontend(by),
            map: SetId::Services(by, Lane::Main),
        }),
    ]
}

/// Whether traffic comes from a Pod of the cluster: one of these matches if it does, all of them if
/// it does not. There are none where that is not known.
fn is_of_cluster(it_is: bool, config: &Config, family: Family) -> Vec<Match> {
    match &config.detect_local {
        DetectLocal::Off => vec![],
        DetectLocal::Ranges(ranges) => {
            let ranges = ranges.iter().filter(|range| Family::of(range.network()) == family);
            ranges.map(|range| Match::Source { range: *range, is_in: it_is }).collect()
        }
        DetectLocal::Interface(name) => vec![Match::Interface { name: name.clone(), is_it: it_is }],
    }
}

fn outside_local(by: By, config: &Config, family: Family) -> Vec<Rule> {
    let lets_through = |is_it| Rule::new([is_it], [Action::Return]);
    let of_cluster = is_of_cluster(true, config, family).into_iter();
    let mut rules: Vec<Rule> = of_cluster.map(lets_through).collect();
    rules.push(Rule::new([Match::SourceIsLocal], [Action::SetMark(config.mark()), Action::Return]));
    rules.push(Rule::always(Action::VerdictFrom {
        key: frontend(by),
        map: SetId::Services(by, Lane::Outside),
    }));
    rules.push(Rule::always(Action::Drop));
    rules
}

/// To an ICMP error that arrives while it is still connecting, which it does from the same machine, a
/// TCP socket listens at its second attempt only, a second later.
fn reject() -> Vec<Rule> {
    vec![Rule::new([Match::Protocol(Protocol::Tcp)], [Action::Reset]), Rule::always(Action::Reject)]
}

fn postrouting(config: &Config) -> Vec<Rule> {
    let hairpin = vec![Field::SourceAddress, Field::DestinationAddress];
    let mark = config.mark();
    let count = config.zone_counters.then(|| Rule::always(Action::Jump(ChainId::Count)));
    let masquerade = [
        Rule::new([Match::Translated, is_in(hairpin, SetId::Hairpin)], [Action::Masquerade]),
        Rule::new([Match::Mark(mark)], [Action::ClearMark(mark), Action::Masquerade]),
    ];
    count.into_iter().chain(masquerade).collect()
}

/// One rule for each protocol: without one, `nft` does not know that connections have ports.
fn counting() -> Vec<Rule> {
    let protocols = [Protocol::Tcp, Protocol::Udp, Protocol::Sctp];
    let to_node_port = || is_in(vec![Field::OriginalDestinationAddress], SetId::NodePortIps);
    let rules = protocols.into_iter().flat_map(|protocol| {
        let matches = [Match::Translated, Match::Protocol(protocol)];
        let at_node_ports = matches.clone().into_iter().chain([to_node_port()]);
        [Rule::new(matches, [count(By::Address)]), Rule::new(at_node_ports, [count(By::NodePort)])]
    });
    rules.collect()
}

fn count(by: By) -> Action {
    let mut key = match by {
        By::Address => vec![Field::OriginalDestinationAddress],
        By::NodePort => vec![],
    };
    key.extend([Field::Protocol, Field::OriginalDestinationPort, Field::DestinationAddress]);
    Action::Count { key, map: SetId::Counters(by) }
}

fn plain(Pick { by, lane, from, .. }: Pick) -> Vec<Rule> {
    let to = |index| {
        let map = SetId::Endpoints(by, lane);
        Rule::always(Action::TranslateTo { key: frontend_and(by, index), map })
    };
    let mut rules = match from {
        From::All(endpoints) => vec![to(random(endpoints, 0)), to(random(1, 0))],
        From::Slots(slots) => {
            let mut rules = pick_zone(by, slots);
            rules.push(to(random(1, FALLBACK)));
            rules
        }
        From::Zone { rank, endpoints } => vec![
            Rule::always(Action::ClearScratch),
            to(random(endpoints, base(rank))),
            to(random(1, FALLBACK)),
        ],
    };
    rules.push(Rule::always(Action::Drop));
    rules
}

/// The scratch value becomes the rank of a zone, and the zone's chain takes over.
fn pick_zone(by: By, slots: u32) -> Vec<Rule> {
    vec![
        Rule::always(Action::ClearScratch),
        Rule::always(Action::ScratchFrom {
            key: frontend_and(by, random(slots, 0)),
            map: SetId::ZoneSlots(by),
        }),
        Rule::always(Action::VerdictFrom {
            key: frontend_and(by, Field::Scratch),
            map: SetId::Zones(by),
        }),
    ]
}

/// A pick with session affinity. The scratch value is the id of an endpoint.
struct Sticky {
    pick: Pick,
    seconds: u32,
    client: Vec<Field>,
}

impl Sticky {
    fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        match self.pick.from {
            From::All(endpoints) => {
                rules.extend(self.known_client());
                rules.extend(self.new_client(random(endpoints, 0), random(1, 0)));
            }
            From::Slots(slots) => {
                rules.extend(self.known_client());
                rules.extend(pick_zone(self.pick.by, slots));
                rules.extend(self.new_client(random(1, FALLBACK), random(1, FALLBACK)));
            }
            From::Zone { rank, endpoints } => {
                rules.extend(self.new_client(random(endpoints, base(rank)), random(1, FALLBACK)));
            }
        }
        rules.push(Rule::always(Action::Drop));
        rules
    }

    /// A client that was given an endpoint stays with it, if it is still there. Otherwise it is
    /// forgotten first: an update would not replace the old id.
    fn known_client(&self) -> Vec<Rule> {
        let map = SetId::Affinity(self.pick.by);
        vec![
            Rule::always(Action::ClearScratch),
            Rule::always(Action::ScratchFrom { key: self.client.clone(), map }),
            self.remember(),
            self.to_pinned(),
            Rule::always(Action::Forget { key: self.client.clone(), map }),
        ]
    }

    fn new_client(&self, index: Field, fallback: Field) -> Vec<Rule> {
        let map = SetId::StickySlots(self.pick.by, self.pick.lane);
        let from = |index| Action::ScratchFrom { key: frontend_and(self.pick.by, index), map };
        vec![
            Rule::always(Action::ClearScratch),
            Rule::always(from(index)),
            Rule::new([Match::ScratchIsNone(true)], [from(fallback)]),
            self.remember(),
            self.to_pinned(),
        ]
    }

    fn remember(&self) -> Rule {
        let (key, map) = (self.client.clone(), SetId::Affinity(self.pick.by));
        Rule::new(
            [Match::ScratchIsNone(false)],
            [Action::Remember { key, map, seconds: self.seconds }],
        )
    }

    fn to_pinned(&self) -> Rule {
        let map = SetId::Pinned(self.pick.by, self.pick.lane);
        Rule::always(Action::TranslateTo { key: frontend_and(self.pick.by, Field::Scratch), map })
    }
}

fn frontend_and(by: By, field: Field) -> Vec<Field> {
    let mut key = frontend(by);
    key.push(field);
    key
}

fn random(modulus: u32, offset: u32) -> Field {
    Field::Random { modulus, offset }
}

fn is_in(key: Vec<Field>, set: SetId) -> Match {
    Match::InSet { key, set, is_in: true }
}
