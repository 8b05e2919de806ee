//! The binary, started as a process of its own.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer, pki_types::pem::PemObject};

use super::{Failure, connection::Connection};

pub(crate) const TOKEN: &str = "load";

/// A folder for one server's data, removed at the end.
pub(crate) struct Folder(PathBuf);

pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
    tls: Arc<ClientConfig>,
}

impl Folder {
    pub(crate) fn new(name: &str) -> Result<Folder, Failure> {
        // Not the folder for temporary files, which may be in memory: there is nothing to sync.
        let parent = env::var_os("EVENKEEL_DATA").unwrap_or(env!("CARGO_TARGET_TMPDIR").into());
        let path = Path::new(&parent).join(format!("bench-{}-{name}", std::process::id()));
        fs::create_dir_all(&path)?;
        fs::write(path.join("tokens"), format!("{TOKEN},load,1,system:masters\n"))?;
        Ok(Folder(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Server {
    /// Until the first answer of `/readyz`.
    pub(crate) fn start(folder: &Folder) -> Result<Server, Failure> {
        let data = folder.path().join("data");
        let mut process = Command::new(binary())
            .args(["apiserver", "--listen", "127.0.0.1:0", "--data"])
            .arg(&data)
            .arg("--token-auth-file")
            .arg(folder.path().join("tokens"))
            .stdout(Stdio::piped())
            .spawn()?;
        let said = process.stdout.take().ok_or("the server has an output")?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        let address = line.trim().trim_end_matches('.').rsplit(' ').next().unwrap_or_default();
        let address = address.parse().map_err(|_| format!("the server said {line:?}"))?;
        let tls = tls(&data.join("pki/ca.crt"))?;
        let server = Server { process, address, tls };
        runtime().block_on(async {
            let mut connection = server.connect().await?;
            connection.get("/readyz").await.map(|_| ())
        })?;
        Ok(server)
    }

    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        Connection::open(self.address, self.tls.clone()).await
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    /// Not in order: the journal is good for that too.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What is measured.
pub(crate) fn binary() -> OsString {
    let other = env::var_os("EVENKEEL_BINARY");
    other.unwrap_or(env!("CARGO_BIN_EXE_evenkeel").into())
}

/// One thread: the server has need of the other.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime starts")
}

fn tls(authority: &Path) -> Result<Arc<ClientConfig>, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority)?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
