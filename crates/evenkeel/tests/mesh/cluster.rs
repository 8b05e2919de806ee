//! An API server with the definitions of `deploy/crds/mesh`, and resources that the real kubectl puts there.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    control_plane::{evenkeel, eventually},
    folder::{Place, free_address},
};

pub(crate) const NAMESPACE: &str = "default";

/// It is killed when this is dropped, and its data removed.
pub(crate) struct Cluster {
    /// `None` while it is away.
    child: Option<Child>,
    address: SocketAddr,
    data: PathBuf,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

// === impl Cluster ===

impl Cluster {
    /// With the definitions, which are served.
    pub(crate) fn start(test: &str) -> Cluster {
        let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mesh-cluster").join(test);
        let _ = fs::remove_dir_all(&data);
        fs::create_dir_all(data.parent().unwrap()).unwrap();
        let mut cluster = Cluster { child: None, address: free_address(), data };
        cluster.begin();
        cluster.done(&["apply", "-k", deploy("crds/mesh").to_str().unwrap()]);
        // `wait` fails on conditions that are null, as those of a new definition are.
        for what in ["jsonpath={.status.conditions[0].type}", "condition=Established"] {
            let until = format!("--for={what}");
            let part = "app.kubernetes.io/part-of=evenkeel";
            cluster.done(&["wait", "crd", "-l", part, &until, "--timeout=60s"]);
        }
        cluster
    }

    /// Starts it, with the data of the one before, at the same address.
    pub(crate) fn begin(&mut self) {
        self.begin_at(self.address);
    }

    pub(crate) fn begin_at(&mut self, address: SocketAddr) {
        let mut command = evenkeel(&["apiserver", "--listen", &address.to_string(), "--data"]);
        command.arg(&self.data).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("The API server is ready on "), "{line}");
        self.child = Some(child);
    }

    /// Without a chance to say anything to those who watch.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.data.join("kubeconfig")
    }

    /// A kubeconfig that acts as this user.
    pub(crate) fn kubeconfig_of(&self, user: &str) -> PathBuf {
        let text = fs::read_to_string(self.kubeconfig()).unwrap();
        let limited = self.data.join("limited");
        fs::write(&limited, text.replace("  user:\n", &format!("  user:\n    as: {user}\n")))
            .unwrap();
        limited
    }

    /// kubectl, with what it is to read from stdin.
    pub(crate) fn kubectl(&self, args: &[&str], stdin: &str) -> Ran {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(self.kubeconfig()).args(args);
        // kubectl keeps a cache at home.
        ran(command.env("HOME", env!("CARGO_TARGET_TMPDIR")), stdin)
    }

    pub(crate) fn done(&self, args: &[&str]) {
        let ran = self.kubectl(args, "");
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
    }

    /// Applies an object, which may be refused.
    pub(crate) fn apply(&self, object: &Value) -> Ran {
        self.kubectl(&["apply", "-f", "-"], &object.to_string())
    }
}

impl Place for Cluster {
    fn put(&self, resource: &Value) {
        let object = custom(resource);
        // A kind is served a moment after its definition says that it is.
        eventually("the object", || {
            let ran = self.apply(&object);
            if ran.code == 0 { Ok(()) } else { Err(format!("{ran:?}")) }
        });
    }

    fn name_of(&self, name: &str) -> String {
        format!("{name}.{NAMESPACE}")
    }

    fn flags(&self) -> Vec<String> {
        vec!["--kubeconfig".to_owned(), self.kubeconfig().to_str().unwrap().to_owned()]
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.data);
    }
}

/// A resource in the form of files, as a custom resource.
pub(crate) fn custom(resource: &Value) -> Value {
    let kind = resource["type"].as_str().unwrap();
    let mut object = json!({
        "apiVersion": "kuma.io/v1alpha1",
        "kind": kind,
        "metadata": {
            "name": resource["name"],
            "namespace": NAMESPACE,
            "labels": { "kuma.io/mesh": resource["mesh"] },
        },
    });
    match resource.get("spec") {
        Some(spec) => object["spec"] = spec.clone(),
        None => object["spec"] = json!({ "networking": resource["networking"] }),
    }
    object
}

pub(crate) fn deploy(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(folder)
}

/// Runs it to its end.
pub(crate) fn ran(command: &mut Command, stdin: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may have ended without reading.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().expect("not killed"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
