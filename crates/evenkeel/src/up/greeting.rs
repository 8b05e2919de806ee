//! What somebody needs to go on.

use std::{fmt::Write, path::Path};

use super::{parts::Cluster, places::Places};
use crate::{
    apiserver::shell_quoted,
    printer::{GOOD, HEADING, styled},
    table::Table,
};

/// `data`: the folder that is kept.
pub(super) fn text(data: Option<&Path>, cluster: &Cluster, places: &Places) -> String {
    render(data, &cluster.kubeconfig, places)
}

fn render(data: Option<&Path>, kubeconfig: &Path, places: &Places) -> String {
    let mut text = format!("{}\n\n", styled(GOOD, "evenkeel is up"));
    let mut table = Table::new(&["PART", "WHERE", "WHAT"]);
    for place in places.iter() {
        table.row([place.part.clone(), place.at.clone(), place.what.clone()]);
    }
    let _ = writeln!(text, "{}", table.render(""));
    let _ = match data {
        Some(data) => {
            let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
            writeln!(text, "data:       {} (the next start continues there)", data.display())
        }
        None => writeln!(text, "data:       in memory; it ends with this process"),
    };
    let quoted = shell_quoted(kubeconfig);
    let _ = writeln!(text, "kubeconfig: {}\n", kubeconfig.display());
    let _ = writeln!(text, "{}", styled(HEADING, "TRY"));
    let _ = writeln!(text, "  export KUBECONFIG={quoted}");
    let _ = writeln!(text, "  kubectl get services -A");
    let _ = writeln!(text, "  evenkeel status");
    let _ = writeln!(text, "or");
    let _ = writeln!(text, "  kubectl --kubeconfig {quoted} get services -A");
    text
}

#[cfg(test)]
mod tests {
    use super::{super::places::Place, *};

    #[test]
    fn it_says_what_runs_where_and_what_to_copy() {
        let mut places = Places::default();
        for (part, at) in [("api", "https://127.0.0.1:6443"), ("controller", "http://[::1]:1")] {
            places.push(Place { part: part.into(), at: at.into(), what: "it".into() });
        }
        let told = render(Some(Path::new("/a b")), Path::new("/a b/kubeconfig"), &places);
        let told = anstream::adapter::strip_str(&told).to_string();
        let expected = "\
evenkeel is up

PART         WHERE                    WHAT
api          https://127.0.0.1:6443   it
controller   http://[::1]:1           it

data:       /a b (the next start continues there)
kubeconfig: /a b/kubeconfig

TRY
  export KUBECONFIG='/a b/kubeconfig'
  kubectl get services -A
  evenkeel status
or
  kubectl --kubeconfig '/a b/kubeconfig' get services -A
";
        assert_eq!(told, expected);
    }
}
