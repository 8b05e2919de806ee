//! Rulesets as text that `nft -f` loads, from nftables 1.0.6 on.
//!
//! Loading it gives the same tables as committing the value does.

use std::fmt::{self, Write};

use evenkeel_model::Protocol;

use crate::{
    ChainId, Config, Data, DataType, Element, Family, MOST_AFFINITIES, SetId, Type, Verdict,
    fixed_chains,
    rule::{Action, Field, HASH_MODULUS, InterfaceName, Match, Rule, client},
    rules,
    value::scratch_text,
};

/// A table with these chains beside the fixed ones, and these elements.
///
/// The text replaces a table of the same name.
pub fn table(
    out: &mut impl Write,
    config: &Config,
    family: Family,
    counters: impl IntoIterator<Item = impl AsRef<str>>,
    chains: impl IntoIterator<Item = ChainId>,
    elements: &[Element],
) -> fmt::Result {
    let table = format!("{family} {}", config.table);
    writeln!(out, "table {table} {{}}\ndelete table {table}\ntable {table} {{")?;
    for counter in counters {
        writeln!(out, "\tcounter {} {{ packets 0 bytes 0 }}", counter.as_ref())?;
    }
    let mut chains: Vec<ChainId> = chains.into_iter().collect();
    chains.extend(fixed_chains(config, family));
    // Verdicts in sets name chains, which must be there before.
    for chain in &chains {
        writeln!(out, "\tchain {chain} {{\n{}\t}}", hook(*chain))?;
    }
    for set in sets(config) {
        let of_set = elements.iter().filter(|e| e.set == set && e.family == family);
        write_set(out, set, family, of_set)?;
    }
    for chain in &chains {
        writeln!(out, "\tchain {chain} {{")?;
        for rule in rules(*chain, config, family) {
            writeln!(out, "\t\t{}", rule_text(&rule, family))?;
        }
        writeln!(out, "\t}}")?;
    }
    writeln!(out, "}}")
}

/// The sets of a table, in their order.
pub fn sets(config: &Config) -> impl Iterator<Item = SetId> {
    let counts = |set: &SetId| matches!(set, SetId::Counters(_));
    let with_counters = config.zone_counters;
    SetId::all().filter(move |set| with_counters || !counts(set))
}

fn hook(chain: ChainId) -> String {
    chain.hook().map_or_else(String::new, |hook| {
        format!("\t\ttype nat hook {} priority {}; policy accept;\n", hook.name, hook.priority)
    })
}

fn write_set<'a>(
    out: &mut impl Write,
    set: SetId,
    family: Family,
    elements: impl Iterator<Item = &'a Element>,
) -> fmt::Result {
    let kind = if set.data() == DataType::None { "set" } else { "map" };
    writeln!(out, "\t{kind} {} {{\n\t\t{}", set.name(), type_text(set, family))?;
    if set.has_ranges() {
        writeln!(out, "\t\tflags interval")?;
    }
    if set.is_dynamic() {
        writeln!(out, "\t\tsize {MOST_AFFINITIES}\n\t\tflags dynamic,timeout")?;
    }
    let mut separator = "\t\telements = { ";
    for element in elements {
        write!(out, "{separator}{}", element_text(element))?;
        separator = ",\n\t\t\t     ";
    }
    if separator.starts_with(',') {
        writeln!(out, " }}")?;
    }
    writeln!(out, "\t}}")
}

/// `typeof` where a key has an index, which has no type by name.
pub(crate) fn type_text(set: SetId, family: Family) -> String {
    let has_index = set.key(family).contains(&Type::Index);
    let (word, names): (_, fn(Type, Family) -> &'static str) =
        if has_index { ("typeof", expression_name) } else { ("type", type_name) };
    let key: Vec<&str> = set.key(family).iter().map(|ty| names(*ty, family)).collect();
    let data: String = match set.data() {
        DataType::None => String::new(),
        DataType::Verdict => " : verdict".into(),
        DataType::Counter => " : counter".into(),
        DataType::Scratch => format!(" : {}", names(Type::Scratch, family)),
        DataType::Backend => {
            format!(" : {} . {}", names(Type::Address, family), names(Type::Port, family))
        }
    };
    format!("{word} {}{data}", key.join(" . "))
}

fn type_name(ty: Type, family: Family) -> &'static str {
    match (ty, family) {
        (Type::Address, Family::Ipv4) => "ipv4_addr",
        (Type::Address, Family::Ipv6) => "ipv6_addr",
        (Type::Protocol, _) => "inet_proto",
        (Type::Port, _) => "inet_service",
        (Type::Index, _) => "integer",
        (Type::Scratch, _) => "classid",
    }
}

fn expression_name(ty: Type, family: Family) -> &'static str {
    match (ty, family) {
        (Type::Address, Family::Ipv4) => "ip daddr",
        (Type::Address, Family::Ipv6) => "ip6 daddr",
        (Type::Protocol, _) => "meta l4proto",
        (Type::Port, _) => "th dport",
        (Type::Index, _) => "numgen random mod 2",
        (Type::Scratch, _) => "meta priority",
    }
}

fn element_text(element: &Element) -> String {
    let Element { family, set, key, end, data } = element;
    let mut fields = key.fields(set.key(*family), *family).unwrap_or_default();
    if key != end
        && let Some(last) =
            end.fields(set.key(*family), *family).and_then(|mut fields| fields.pop())
        && let Some(first) = fields.last_mut()
    {
        *first = range_text(first, &last);
    }
    let key = fields.join(" . ");
    match data {
        Data::None => key,
        Data::Backend(backend) => format!("{key} : {} . {}", backend.ip, backend.port),
        Data::Scratch(number) => format!("{key} : {}", scratch_text(*number)),
        Data::Verdict(Verdict::Goto(chain)) => format!("{key} : goto {chain}"),
        Data::Verdict(Verdict::Drop) => format!("{key} : drop"),
        Data::Counter(name) => format!("{key} : {}", name),
    }
}

fn range_text(first: &str, last: &str) -> String {
    format!("{first}-{last}")
}

fn protocol_text(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
        Protocol::Sctp => "sctp",
    }
}

/// One rule, without its chain.
pub fn rule_text(rule: &Rule, family: Family) -> String {
    let matches = rule.matches.iter().map(|it| match_text(it, family));
    let actions = rule.actions.iter().map(|it| action_text(it, family));
    matches.chain(actions).collect::<Vec<_>>().join(" ")
}

fn match_text(it: &Match, family: Family) -> String {
    let not = |is| if is { "" } else { "!= " };
    match it {
        Match::InSet { key, set, is_in } => {
            format!("{} {}@{}", key_text(key, family), not(*is_in), set.name())
        }
        Match::Source { range, is_in } => format!("{family} saddr {}{range}", not(*is_in)),
        Match::SourceIsLocal => "fib saddr type local".into(),
        Match::Interface { name: InterfaceName::Exactly(name), is_it } => {
            format!("iifname {}\"{name}\"", not(*is_it))
        }
        Match::Interface { name: InterfaceName::Prefix(name), is_it } => {
            format!("iifname {}\"{name}*\"", not(*is_it))
        }
        Match::ScratchIsNone(true) => "meta priority none".into(),
        Match::ScratchIsNone(false) => "meta priority != none".into(),
        Match::Mark(mark) => format!("meta mark & {mark:#010x} == {mark:#010x}"),
        Match::Translated => "ct status dnat".into(),
        Match::Protocol(protocol) => format!("meta l4proto {}", protocol_text(*protocol)),
    }
}

fn action_text(it: &Action, family: Family) -> String {
    let key = |key: &[Field]| key_text(key, family);
    match it {
        Action::SetMark(mark) => format!("meta mark set meta mark | {mark:#010x}"),
        Action::ClearMark(mark) => format!("meta mark set meta mark ^ {mark:#010x}"),
        Action::ClearScratch => "meta priority set none".into(),
        Action::ScratchFrom { key: of, map } => {
            format!("meta priority set {} map @{}", key(of), map.name())
        }
        Action::Remember { key: of, map, seconds } => {
            format!("update @{} {{ {} timeout {seconds}s : meta priority }}", map.name(), key(of))
        }
        Action::Forget { key: of, map } => {
            format!("delete @{} {{ {} : meta priority }}", map.name(), key(of))
        }
        Action::Count { key: of, map } => format!("counter name {} map @{}", key(of), map.name()),
        Action::VerdictFrom { key: of, map } => format!("{} vmap @{}", key(of), map.name()),
        Action::TranslateTo { key: of, map } => {
            format!("dnat {family} to {} map @{}", key(of), map.name())
        }
        Action::Masquerade => "masquerade fully-random".into(),
        Action::Reject => "reject".into(),
        Action::Reset => "reject with tcp reset".into(),
        Action::Drop => "drop".into(),
        Action::Return => "return".into(),
        Action::Jump(chain) => format!("jump {chain}"),
    }
}

fn key_text(key: &[Field], family: Family) -> String {
    key.iter().map(|field| field_text(*field, family)).collect::<Vec<_>>().join(" . ")
}

fn field_text(field: Field, family: Family) -> String {
    match field {
        Field::SourceAddress => format!("{family} saddr"),
        Field::DestinationAddress => format!("{family} daddr"),
        Field::Protocol => "meta l4proto".into(),
        Field::DestinationPort => "th dport".into(),
        Field::Scratch => "meta priority".into(),
        Field::Random { modulus, offset: 0 } => format!("numgen random mod {modulus}"),
        Field::Random { modulus, offset } => format!("numgen random mod {modulus} offset {offset}"),
        Field::ClientHash { by, seed } => {
            let key = key_text(&client(by), family);
            format!("jhash {key} mod {HASH_MODULUS} seed {seed:#x}")
        }
        Field::OriginalDestinationAddress => format!("ct original {family} daddr"),
        Field::OriginalDestinationPort => "ct original proto-dst".into(),
    }
}
