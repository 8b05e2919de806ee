//! The server as a person starts it, asked with the real `kubectl`, `curl` and `openssl`.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use crate::run::evenkeel;

/// A server that runs until it is stopped or dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    pub(crate) kubeconfig: PathBuf,
}

pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("apiserver").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    folder
}

impl Server {
    pub(crate) fn start(args: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["apiserver", "--listen", "127.0.0.1:0"])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut after = |prefix: &str| {
            let line = lines.next().expect("the server says that it is ready").unwrap();
            line.strip_prefix(prefix).unwrap_or_else(|| panic!("{line}")).to_owned()
        };
        let address = after("The API server is ready on ").trim_end_matches('.').to_owned();
        let kubeconfig = after("kubeconfig: ").into();
        Server { child, address, kubeconfig }
    }

    pub(crate) fn in_folder(data: &Path, args: &[&str]) -> Server {
        Server::start(&[&["--data", data.to_str().unwrap()], args].concat())
    }

    /// With the kubeconfig of a user that has no role.
    pub(crate) fn without_permissions(test: &str) -> (Server, PathBuf) {
        let file = |end: &str| folder(&format!("permissions-{test}{end}"));
        let (data, tokens, kubeconfig) = (file(""), file(".csv"), file(".kubeconfig"));
        fs::write(&tokens, "weak,bob,u2\n").unwrap();
        let server = Server::in_folder(&data, &["--token-auth-file", tokens.to_str().unwrap()]);
        let authority = std::path::absolute(data.join("pki/ca.crt")).unwrap();
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: x\n\
             clusters: [{{name: x, cluster: {{server: 'https://{}', certificate-authority: '{}'}}}}]\n\
             users: [{{name: x, user: {{token: weak}}}}]\n\
             contexts: [{{name: x, context: {{cluster: x, user: x}}}}]\n",
            server.address,
            authority.display()
        );
        fs::write(&kubeconfig, text).unwrap();
        (server, kubeconfig)
    }

    /// Creates the objects of a manifest.
    pub(crate) fn create(&self, manifest: &str) {
        let file = folder(&format!("create-{}.yaml", self.address));
        fs::write(&file, manifest).unwrap();
        let created = self.kubectl(&["create", "-f", file.to_str().unwrap()]);
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
        fs::remove_file(file).unwrap();
    }

    pub(crate) fn patch_status(&self, kind: &str, name: &str, patch: &str) {
        let args = ["patch", kind, name, "--subresource=status", "--type=merge", "-p", patch];
        let patched = self.kubectl(&args);
        assert!(patched.status.success(), "{}", String::from_utf8_lossy(&patched.stderr));
    }

    fn kubectl(&self, args: &[&str]) -> Output {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(args);
        // kubectl keeps a cache at home.
        command.env("HOME", env!("CARGO_TARGET_TMPDIR")).output().expect("kubectl is installed")
    }

    fn curl(&self, data: &Path, path: &str, args: &[&str]) -> String {
        let url = format!("https://{}{path}", self.address);
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--write-out", "%{http_code}", "--cacert"])
            .arg(data.join("pki/ca.crt"))
            .args(args)
            .arg(url)
            .output()
            .expect("curl is installed");
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
    }

    /// Sends a signal and gives the exit code, and what was said.
    fn stop(mut self, signal: &str) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn kubectl_reaches_a_server_through_its_kubeconfig() {
    let data = folder("kubectl");
    let server = Server::in_folder(&data, &[]);
    assert_eq!(server.kubeconfig, std::path::absolute(data.join("kubeconfig")).unwrap());
    assert_eq!((mode(&data), mode(&server.kubeconfig)), (0o700, 0o600));
    let version = server.kubectl(&["get", "--raw", "/version"]);
    assert!(version.status.success(), "{}", String::from_utf8_lossy(&version.stderr));
    assert!(String::from_utf8_lossy(&version.stdout).contains("gitVersion"));
    let context = server.kubectl(&["config", "current-context"]);
    assert_eq!(String::from_utf8_lossy(&context.stdout), "evenkeel\n");
    let (code, said) = server.stop("-TERM");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn credentials_are_asked_for_and_checked() {
    let data = folder("credentials");
    let tokens = folder("tokens.csv");
    fs::write(&tokens, "right,alice,u1,\"system:masters\"\nweak,bob,u2\n").unwrap();
    let server = Server::in_folder(&data, &["--token-auth-file", tokens.to_str().unwrap()]);
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    let of = |path, args: &[&str]| server.curl(&data, path, args);
    assert_eq!(of("/livez", &[]), "ok200");
    assert!(of("/metrics", &[]).ends_with("401"));
    assert!(of("/metrics", &["-H", &bearer("wrong")]).ends_with("401"));
    assert!(of("/metrics", &["-H", &bearer("right")]).ends_with("# EOF\n200"));
    let refused = of("/metrics", &["-H", &bearer("weak")]);
    assert!(refused.contains(r#"User \"bob\" cannot get path \"/metrics\""#), "{refused}");
    let pki = |name: &str| data.join("pki").join(name).to_str().unwrap().to_owned();
    let admin = ["--cert", &pki("admin.crt"), "--key", &pki("admin.key")];
    for version in ["--http1.1", "--http2"] {
        let text = of("/metrics", &[&admin[..], &[version]].concat());
        assert!(text.ends_with("# EOF\n200"), "{text}");
    }
    let (code, said) = server.stop("-INT");
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("right") && !said.contains("weak"), "{said}");
}

#[test]
fn openssl_verifies_the_certificates() {
    let data = folder("openssl");
    let server = Server::in_folder(&data, &[]);
    let pki = data.join("pki");
    for (name, purpose) in [("apiserver.crt", "sslserver"), ("admin.crt", "sslclient")] {
        let verified = Command::new("openssl")
            .args(["verify", "-x509_strict", "-purpose", purpose, "-CAfile"])
            .args([pki.join("ca.crt"), pki.join(name)])
            .output()
            .expect("openssl is installed");
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    }
    let names = Command::new("openssl")
        .args(["x509", "-noout", "-ext", "subjectAltName", "-in"])
        .arg(pki.join("apiserver.crt"))
        .output()
        .unwrap();
    let names = String::from_utf8(names.stdout).unwrap();
    let wanted =
        ["DNS:localhost", "DNS:kubernetes.default.svc.cluster.local", "IP Address:10.96.0.1"];
    for name in wanted {
        assert!(names.contains(name), "{name} is not in {names}");
    }
    drop(server);
}

#[test]
fn a_second_server_on_the_same_data_or_address_is_refused() {
    let (data, other) = (folder("taken"), folder("taken-other"));
    let server = Server::in_folder(&data, &[]);
    let second =
        evenkeel(&["apiserver", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()], b"");
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains("another server runs on this data"), "{}", second.stderr);
    let third = evenkeel(
        &["apiserver", "--listen", &server.address, "--data", other.to_str().unwrap()],
        b"",
    );
    assert_eq!(third.code, 1);
    assert!(third.stderr.contains("give another --listen"), "{}", third.stderr);
}

#[test]
fn a_server_keeps_its_authority_over_restarts() {
    let data = folder("restart");
    let first = Server::in_folder(&data, &[]);
    let authority = fs::read(data.join("pki/ca.crt")).unwrap();
    assert_eq!(first.stop("-TERM").0, Some(0));
    let second = Server::in_folder(&data, &[]);
    assert_eq!(fs::read(data.join("pki/ca.crt")).unwrap(), authority);
    assert!(second.kubectl(&["get", "--raw", "/version"]).status.success());
}

#[test]
fn an_ephemeral_server_leaves_nothing_behind() {
    let server = Server::start(&["--ephemeral"]);
    let kubeconfig = server.kubeconfig.clone();
    assert_eq!(mode(&kubeconfig), 0o600);
    assert!(server.kubectl(&["get", "--raw", "/readyz"]).status.success());
    assert_eq!(server.stop("-TERM").0, Some(0));
    assert!(!kubeconfig.exists());
}

#[test]
fn log_lines_are_json_if_asked_for() {
    let server = Server::start(&["--ephemeral", "--log-format", "json", "-v"]);
    assert!(server.kubectl(&["get", "--raw", "/livez"]).status.success());
    let (_, said) = server.stop("-TERM");
    let lines: Vec<serde_json::Value> =
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let is_answer = |line: &&serde_json::Value| {
        line["fields"]["message"] == "request completed" && line["span"]["path"] == "/livez"
    };
    let answered = lines.iter().find(is_answer).unwrap_or_else(|| panic!("{said}"));
    assert_eq!(answered["fields"]["code"], 200);
    assert_eq!(answered["span"]["audit_id"].as_str().unwrap().len(), 36);
}

#[test]
fn wrong_settings_are_refused_with_what_to_do() {
    let tokens = folder("wrong.csv");
    fs::write(&tokens, "secret,alice\n").unwrap();
    let tokens = tokens.to_str().unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["--data"]),
        (&["--ephemeral", "--feature-gates", "Nope=true"], &["Nope", "ServiceTrafficDistribution"]),
        (&["--ephemeral", "--listen", "here"], &["--listen"]),
        (&["--ephemeral", "--service-node-port-range", "9-1"], &["lower one first"]),
        (&["--ephemeral", "--service-cluster-ip-range", "10.0.0.0/31"], &["at least 8 addresses"]),
        (&["--ephemeral", "--token-auth-file", tokens], &["line 1", "3 columns", "token,user,uid"]),
        (
            &["--ephemeral", "--token-auth-file", "/nonexistent/x"],
            &["/nonexistent/x", "can't be read"],
        ),
    ];
    for (args, parts) in cases {
        let ran = evenkeel(&[&["apiserver"], *args].concat(), b"");
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
        for part in *parts {
            assert!(ran.stderr.contains(part), "{args:?}: {part:?} is not in {:?}", ran.stderr);
        }
        assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let ran = evenkeel(&["apiserver", "--listen", "127.0.0.1:0", "--data", "/proc/nope"], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("/proc/nope: can't be used as data folder"), "{}", ran.stderr);
}
