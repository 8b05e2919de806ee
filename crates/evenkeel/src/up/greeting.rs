//! What `evenkeel up` prints when it is ready.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use super::{
    components::{self, Components},
    invocation,
    parts::proxy,
};
use crate::{
    apiserver::shell_quoted,
    printer::{GOOD, HEADING, styled},
    table::Table,
    up::DATA,
};

/// What the printed commands depend on.
#[derive(Clone, Debug)]
pub(super) struct Greeting {
    /// How to run this program.
    program: String,
    /// The folder where data is stored, if it is.
    data: Option<PathBuf>,
    /// Absolute.
    kubeconfig: PathBuf,
    /// Commands started in this folder find the kubeconfig themselves.
    is_found: bool,
}

impl Greeting {
    pub(super) fn new(data: Option<&Path>, kubeconfig: &Path) -> Greeting {
        let usual = std::path::absolute(Path::new(DATA).join("kubeconfig"));
        let is_named = std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty());
        Greeting {
            program: invocation::of_process(),
            data: data.map(|data| std::path::absolute(data).unwrap_or_else(|_| data.to_owned())),
            kubeconfig: kubeconfig.to_owned(),
            is_found: !is_named && usual.is_ok_and(|usual| usual == kubeconfig),
        }
    }

    /// A command of this program on this cluster, to be copied.
    pub(super) fn command(&self, args: &str) -> String {
        let Greeting { program, kubeconfig, is_found, .. } = self;
        match is_found {
            true => format!("{program} {args}"),
            false => format!("{program} {args} --kubeconfig {}", shell_quoted(kubeconfig)),
        }
    }

    /// `dashboard`: the address to open.
    pub(super) fn text(&self, dashboard: &str, components: &Components) -> String {
        let mut text = format!("dashboard:  {dashboard}\n\n");
        let _ = writeln!(text, "{}\n", styled(GOOD, "evenkeel is up"));
        let mut table = Table::new(&["COMPONENT", "ADDRESS", "DESCRIPTION"]);
        for one in components.iter() {
            table.row([one.name.clone(), one.address.clone(), one.description.clone()]);
        }
        let _ = writeln!(text, "{}", table.render(""));
        let _ = match &self.data {
            Some(data) => {
                writeln!(text, "data:       {} (the next `up` resumes)", data.display())
            }
            None => writeln!(text, "data:       in memory, lost when this process ends"),
        };
        let quoted = shell_quoted(&self.kubeconfig);
        let _ = writeln!(text, "kubeconfig: {}\n", self.kubeconfig.display());
        let _ = writeln!(text, "{}", styled(HEADING, "TRY (in another shell)"));
        let _ = writeln!(text, "  export KUBECONFIG={quoted}");
        let _ = writeln!(text, "  kubectl get services -A");
        let _ = writeln!(text, "  {} status", self.program);
        if let Some(namespace) = components.address(proxy::NAME) {
            let _ = write!(text, "{}", self.requests(namespace));
        }
        if components.address(components::XDS).is_some() {
            let _ = write!(text, "{}", self.mesh());
        }
        text
    }

    /// Commands that send requests, as root. The Node, the Service and the zone are those of the sample.
    fn requests(&self, namespace: &str) -> String {
        let (program, inside) = (&self.program, namespace.replace(proxy::NODE, "node-a1"));
        let address = "$(kubectl get service web -n shop -o jsonpath='{.spec.clusterIP}')";
        format!(
            "  {program} curl --from node-a1 http://web.shop\n\
             \x20 {program} curl --from node-a1 http://web.shop --count 100\n\
             \x20 {program} drill --lose zone-a\n\
             \x20 ip netns exec {inside} curl -s http://{address}\n"
        )
    }

    /// Commands about the mesh. They find the addresses beside the kubeconfig. The Dataplane is that of the
    /// sample.
    fn mesh(&self) -> String {
        let Greeting { program, kubeconfig, .. } = self;
        let kubeconfig = shell_quoted(kubeconfig);
        format!(
            "  {program} mesh inspect client-a.shop\n\
             \x20 {program} xds bootstrap --dataplane client-a.shop --kubeconfig {kubeconfig} >envoy.yaml\n\
             \x20 envoy -c envoy.yaml\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{super::components::Component, *};

    const URL: &str = "http://127.0.0.1:7070/#token=0";

    fn greeting(is_found: bool) -> Greeting {
        Greeting {
            program: "evenkeel".into(),
            data: Some("/a b".into()),
            kubeconfig: "/a b/kubeconfig".into(),
            is_found,
        }
    }

    #[test]
    fn it_lists_the_components_and_commands_to_copy() {
        let mut components = Components::default();
        for (name, at) in [("api", "https://127.0.0.1:6443"), ("controller", "http://[::1]:1")] {
            let (address, description) = (at.into(), "it".into());
            components.push(Component { name: name.into(), address, description });
        }
        let text = greeting(true).text(URL, &components);
        let text = anstream::adapter::strip_str(&text).to_string();
        let expected = "\
dashboard:  http://127.0.0.1:7070/#token=0

evenkeel is up

COMPONENT    ADDRESS                  DESCRIPTION
api          https://127.0.0.1:6443   it
controller   http://[::1]:1           it

data:       /a b (the next `up` resumes)
kubeconfig: /a b/kubeconfig

TRY (in another shell)
  export KUBECONFIG='/a b/kubeconfig'
  kubectl get services -A
  evenkeel status
";
        assert_eq!(text, expected);
    }

    #[test]
    fn with_proxies_it_shows_how_to_send_requests() {
        let mut components = Components::default();
        let (name, address) = (proxy::NAME.into(), "evenkeel2-NODE".into());
        components.push(Component { name, address, description: "it".into() });
        let text = greeting(true).text(URL, &components);
        for line in [
            "  evenkeel curl --from node-a1 http://web.shop\n",
            "  evenkeel drill --lose zone-a\n",
            "  ip netns exec evenkeel2-node-a1 curl -s http://$(kubectl get service web -n shop ",
        ] {
            assert!(text.contains(line), "{line:?} is not in {text}");
        }
    }

    #[test]
    fn with_a_mesh_it_shows_how_to_start_a_proxy() {
        let mut components = Components::default();
        let (name, address) = (components::XDS.into(), "127.0.0.1:5678".into());
        components.push(Component { name, address, description: "it".into() });
        let text = greeting(true).text(URL, &components);
        let line = "  evenkeel xds bootstrap --dataplane client-a.shop --kubeconfig '/a b/kubeconfig' \
                    >envoy.yaml\n  envoy -c envoy.yaml\n";
        assert!(text.contains(line), "{line:?} is not in {text}");
    }

    #[test]
    fn a_command_names_the_kubeconfig_unless_it_is_found_anyway() {
        assert_eq!(greeting(true).command("status"), "evenkeel status");
        let named = "evenkeel status --kubeconfig '/a b/kubeconfig'";
        assert_eq!(greeting(false).command("status"), named);
    }
}
