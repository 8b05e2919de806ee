//! Names of Dataplanes, for people and for completion.

use std::{collections::BTreeSet, env, ffi::OsStr, path::Path, str::FromStr};

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use evenkeel_locality::{
    Compat,
    resource::{Key, Kind},
    view::ProxyKey,
};
use evenkeel_xds_server::source::folder;
use serde::Deserialize;

use super::admin;
use crate::{complete, error::Error};

const DEFAULT_MESH: &str = "default";
const FORM: &str = "must be KIND/NAME or KIND/MESH/NAME";
/// More names than this help nobody.
const MOST: usize = 500;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Known {
    proxies: Vec<Peer>,
    not_connected: Vec<Missing>,
}

#[derive(Debug, Deserialize)]
struct Peer {
    mesh: String,
    dataplane: String,
}

#[derive(Debug, Deserialize)]
struct Missing {
    mesh: String,
    name: String,
}

/// A resource, as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named(pub(super) Key);

// === impl Named ===

impl FromStr for Named {
    type Err = String;

    /// `KIND/NAME` or `KIND/MESH/NAME`.
    fn from_str(given: &str) -> Result<Self, String> {
        let parts: Vec<&str> = given.split('/').collect();
        let (kind, mesh, name) = match parts[..] {
            [kind, name] => (kind, None, name),
            [kind, mesh, name] => (kind, Some(mesh), name),
            _ => return Err(FORM.to_owned()),
        };
        if name.is_empty() || mesh == Some("") {
            return Err(FORM.to_owned());
        }
        let known = Kind::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(kind));
        let (_, kind) = known.ok_or_else(|| {
            let kinds = Kind::ALL.map(|(kind, _)| kind).join(", ");
            format!("there is no such kind; there are {kinds}")
        })?;
        // A mesh is in itself.
        let default = if *kind == Kind::Mesh { name } else { DEFAULT_MESH };
        Ok(Named(Key::new(*kind, mesh.unwrap_or(default), name)))
    }
}

/// The proxies that a running control plane knows.
pub(super) fn known_to(admin: &str) -> Result<Vec<ProxyKey>, Error> {
    let page = admin::page(admin, "/mesh/proxies")?;
    let Known { proxies, not_connected } = admin::decoded(admin, &page)?;
    let proxies = proxies.iter().map(|peer| ProxyKey::new(&peer.mesh, &peer.dataplane));
    let missing = not_connected.iter().map(|one| ProxyKey::new(&one.mesh, &one.name));
    let all: BTreeSet<ProxyKey> = proxies.chain(missing).collect();
    Ok(all.into_iter().collect())
}

/// Without the mesh if it is the one that commands take by default.
pub(super) fn short(proxy: &ProxyKey) -> String {
    match &*proxy.mesh {
        DEFAULT_MESH => proxy.name.to_string(),
        _ => proxy.to_string(),
    }
}

/// The first of `n` proxies, and how many more there are.
pub(super) fn some(proxies: &[ProxyKey], n: usize) -> String {
    let mut names: Vec<String> = proxies.iter().map(short).collect();
    let more = n.saturating_sub(names.len());
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

pub(crate) fn dataplanes() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let words: Vec<String> = env::args().collect();
        let current = current.to_string_lossy();
        let is_given = |flag| value_of(&words, flag).is_some();
        let names: Vec<String> = match value_of(&words, "--resources") {
            Some(folder) => in_folder(Path::new(folder)).iter().map(short).collect(),
            None if is_given("--kubeconfig") || is_given("--context") => {
                complete::dataplanes_of_cluster()
            }
            None => {
                let admin = admin::url(value_of(&words, "--control-plane-admin"));
                known_to(&admin).unwrap_or_default().iter().map(short).collect()
            }
        };
        let names = names.into_iter().filter(|name| name.starts_with(&*current));
        names.take(MOST).map(CompletionCandidate::new).collect()
    })
}

fn in_folder(folder: &Path) -> Vec<ProxyKey> {
    let Ok((resources, _)) = folder::resources(folder, Compat::default()) else {
        return Vec::new();
    };
    let keys = resources.iter().map(|resource| &resource.key);
    let dataplanes = keys.filter(|key| key.kind == Kind::Dataplane);
    dataplanes.map(|key| ProxyKey { mesh: key.mesh.clone(), name: key.name.clone() }).collect()
}

/// The words need not be complete, so they are not parsed as a command line.
fn value_of<'a>(words: &'a [String], flag: &str) -> Option<&'a str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((name, value)) if name == flag => return Some(value),
            None if word == flag => return words.next().map(String::as_str),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_the_folder() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let of = |line: &str| value_of(&words(line), "--resources").map(str::to_owned);
        assert_eq!(of("evenkeel mesh inspect w --resources ./m").as_deref(), Some("./m"));
        assert_eq!(of("evenkeel mesh inspect --resources=./m w").as_deref(), Some("./m"));
        assert_eq!(of("evenkeel mesh inspect w --resources"), None);
        assert_eq!(of("evenkeel mesh inspect w"), None);
    }

    #[test]
    fn a_resource_is_named_by_kind_mesh_and_name() {
        let named = |given: &str| given.parse::<Named>().map(|named| named.0.to_string());
        for (given, expected) in [
            ("MeshService/web", "MeshService default/web"),
            ("meshhttproute/shop/web.ns", "MeshHTTPRoute shop/web.ns"),
            ("mesh/shop", "Mesh shop/shop"),
        ] {
            assert_eq!(named(given).as_deref(), Ok(expected));
        }
        for given in ["web", "", "MeshService/", "MeshService//web", "MeshService/a/b/c", "/web"] {
            assert!(named(given).is_err(), "{given}");
        }
        assert!(named("MeshMagic/web").unwrap_err().contains("MeshHTTPRoute"));
    }

    #[test]
    fn the_default_mesh_is_not_repeated() {
        assert_eq!(short(&ProxyKey::new("default", "web-1")), "web-1");
        assert_eq!(short(&ProxyKey::new("shop", "web-1")), "shop/web-1");
    }
}
