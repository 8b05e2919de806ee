//! `evenkeel apiserver` on a data folder, with a token for each user.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{
    client::Client,
    users::{STAFF, User, admin},
};

/// A running server. It is killed and its data is removed on drop.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
    pub(crate) target: Target,
}

/// Where clients connect to.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    address: SocketAddr,
    authority: CertificateDer<'static>,
}

impl Server {
    /// `name` is that of its folder. Returns when the users have their rights.
    pub(crate) async fn start(name: &str, users: &[User], flags: &[&str]) -> Server {
        // Not the folder for temporary files, which may be in memory: writes must wait for a disk.
        let parent = env::var_os("EVENKEEL_DATA").unwrap_or(env!("CARGO_TARGET_TMPDIR").into());
        let folder = Path::new(&parent).join(format!("overload-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let records: String = users.iter().chain([&admin()]).map(User::record).collect();
        fs::write(folder.join("tokens"), records).unwrap();
        let mut child = spawn(&folder, flags);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().trim_end_matches('.').rsplit(' ').next().unwrap_or_default();
        let address = address.parse().unwrap_or_else(|_| panic!("it did not start: {line:?}"));
        let authority = CertificateDer::from_pem_file(folder.join("data/pki/ca.crt")).unwrap();
        let server = Server { child, folder, target: Target { address, authority } };
        server.admin().await.create(BINDINGS, &rights()).await;
        server
    }

    /// Of the administrator.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("data/kubeconfig")
    }

    pub(crate) async fn admin(&self) -> Client {
        Client::connect(&self.target, &admin()).await
    }
}

impl Target {
    /// A TLS connection with these protocols on offer.
    pub(crate) async fn stream(&self, protocols: &[&str]) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|&name| name.into()).collect();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

fn rights() -> serde_json::Value {
    let group = "rbac.authorization.k8s.io";
    json!({
        "metadata": {"name": STAFF},
        "subjects": [{"kind": "Group", "name": STAFF, "apiGroup": group}],
        "roleRef": {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": group},
    })
}

fn spawn(folder: &Path, flags: &[&str]) -> Child {
    Command::new(env::var_os("EVENKEEL_BINARY").unwrap_or(env!("CARGO_BIN_EXE_evenkeel").into()))
        .args(["apiserver", "--listen", "127.0.0.1:0", "--log-level", "error", "--data"])
        .arg(folder.join("data"))
        .arg("--token-auth-file")
        .arg(folder.join("tokens"))
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}
