//! The identity of a part: its objects from `deploy/`, and a token that is renewed before it expires.
//!
//! The token is in a file beside the administrator's kubeconfig, with a kubeconfig that names it. The
//! part's client reads it again every minute, and so can people: `kubectl --kubeconfig
//! .evenkeel/evenkeel-controller.kubeconfig auth can-i --list` shows what the controller is allowed.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use evenkeel_k8s::live::{self, ClusterSource, LiveError};
use futures_util::future::try_join_all;
use jiff::Timestamp;
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    config::{AuthInfo, Kubeconfig, NamedAuthInfo},
};
use tokio::{sync::oneshot, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    deployed::{Deployed, Rendered},
    parts::Cluster,
};
use crate::error::Error;

/// The lifetime asked for. It is the one that kubelets ask for, nearly.
const LIFETIME_SECONDS: i64 = 3600;

/// Between two looks at the account and the clock. A timer would not count the time that the machine
/// sleeps.
const LOOK: Duration = Duration::from_secs(10);

/// Creates the objects of the identity, or gives them the rules that `deploy/` has.
pub(super) async fn grant(client: &Client, deployed: &'static Deployed) -> Result<(), Error> {
    let objects = deployed.objects();
    // The namespace is needed by the rest.
    let (first, rest) = objects.split_at(objects.len().min(1));
    for objects in [first, rest] {
        try_join_all(objects.iter().map(|object| apply(client, object))).await?;
    }
    Ok(())
}

/// Keeps a token of the account until `stop`. `ready` takes a client that uses it.
pub(super) async fn run(
    cluster: Cluster,
    deployed: &'static Deployed,
    ready: oneshot::Sender<Client>,
    stop: CancellationToken,
) -> Result<(), Error> {
    let mut account = Account::new(cluster, deployed);
    account.renew().await?;
    // Nobody receives it during shutdown.
    let _ = ready.send(account.client().await?);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = sleep(LOOK) => {}
        }
        if let Err(error) = account.look().await {
            tracing::warn!(%error, account = deployed.account, "renewing the token failed, retrying");
        }
    }
}

struct Account {
    cluster: Cluster,
    deployed: &'static Deployed,
    files: Files,
    /// Of the ServiceAccount that the token is for.
    uid: Option<String>,
    renew_at: Timestamp,
}

/// Both are readable by their owner alone.
#[derive(Debug)]
struct Files {
    token: PathBuf,
    kubeconfig: PathBuf,
}

impl Account {
    fn new(cluster: Cluster, deployed: &'static Deployed) -> Account {
        let beside =
            |ending| cluster.kubeconfig.with_file_name(format!("{}.{ending}", deployed.account));
        let files = Files { token: beside("token"), kubeconfig: beside("kubeconfig") };
        Account { cluster, deployed, files, uid: None, renew_at: Timestamp::MIN }
    }

    /// A new token if it is time for one, or if the account was deleted, which ended the old one. The
    /// identity is then created again: nobody else would, and the part would be without rights.
    async fn look(&mut self) -> Result<(), Error> {
        let found = self.accounts().get_opt(self.deployed.account).await;
        let found = found.map_err(|source| self.failed(source))?;
        let is_same = found.is_some_and(|account| account.uid() == self.uid);
        if !is_same {
            grant(&self.cluster.client, self.deployed).await?;
        }
        if !is_same || Timestamp::now() >= self.renew_at {
            self.renew().await?;
        }
        Ok(())
    }

    async fn renew(&mut self) -> Result<(), Error> {
        let name = self.deployed.account;
        let account = self.accounts().get(name).await.map_err(|source| self.failed(source))?;
        let spec = TokenRequestSpec {
            expiration_seconds: Some(LIFETIME_SECONDS),
            ..TokenRequestSpec::default()
        };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let asked = Timestamp::now();
        let answer =
            self.accounts().create_token_request(name, &PostParams::default(), &request).await;
        let status = answer.map_err(|source| self.failed(source))?.status.unwrap_or_default();
        write(&self.files.token, &status.token.unwrap_or_default())?;
        self.uid = account.uid();
        // A server that does not say when it expires is asked again at the next look.
        let expires = status.expiration_timestamp.map_or(asked, |time| time.0);
        self.renew_at = renew_at(asked, expires);
        Ok(())
    }

    async fn client(&self) -> Result<Client, Error> {
        let Files { token, kubeconfig } = &self.files;
        let admin = Kubeconfig::read_from(&self.cluster.kubeconfig);
        let admin = admin.map_err(|source| LiveError::Kubeconfig { source: Box::new(source) })?;
        let text = serde_json::to_string_pretty(&with_token(admin, self.deployed, token));
        write(kubeconfig, &(text.expect("strings can be written as JSON") + "\n"))?;
        let source = ClusterSource::file(kubeconfig.clone(), None);
        Ok(live::controller_client(&source).await?.client)
    }

    fn accounts(&self) -> Api<ServiceAccount> {
        Api::namespaced(self.cluster.client.clone(), self.deployed.namespace)
    }

    fn failed(&self, source: kube::Error) -> Error {
        let Deployed { account, namespace, .. } = self.deployed;
        let what = format!("ServiceAccount {namespace}/{account}");
        Error::Identity { what, source: Box::new(source) }
    }
}

/// Creates the object, or sets all fields that it has.
async fn apply(client: &Client, Rendered { resource, object }: &Rendered) -> Result<(), Error> {
    let api: Api<DynamicObject> = match object.metadata.namespace.as_deref() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    };
    let name = object.name_any();
    let done = match api.create(&PostParams::default(), object).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            api.patch(&name, &PatchParams::default(), &Patch::Merge(object)).await
        }
        done => done,
    };
    let what = || format!("{} {name}", resource.kind);
    done.map(drop).map_err(|source| Error::Identity { what: what(), source: Box::new(source) })
}

/// When four fifths of its lifetime have passed, as kubelets do.
fn renew_at(from: Timestamp, expires: Timestamp) -> Timestamp {
    let seconds = expires.as_second().saturating_sub(from.as_second());
    Timestamp::from_second(from.as_second() + seconds / 5 * 4).unwrap_or(expires)
}

/// The same cluster, with the token in place of the administrator's certificate.
fn with_token(admin: Kubeconfig, deployed: &Deployed, token: &Path) -> Kubeconfig {
    let token_file = Some(token.display().to_string());
    let user = AuthInfo { token_file, ..AuthInfo::default() };
    let name = deployed.account.to_owned();
    let mut contexts = admin.contexts;
    for context in contexts.iter_mut().filter_map(|context| context.context.as_mut()) {
        context.user = Some(name.clone());
        context.namespace = Some(deployed.namespace.to_owned());
    }
    let auth_infos =
        vec![NamedAuthInfo { name, auth_info: Some(user), other: BTreeMap::default() }];
    Kubeconfig { auth_infos, contexts, ..admin }
}

/// Writes a new file beside it, and renames it: a reader sees the old text or the new one.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    let write = || -> io::Result<()> {
        let fresh = path.with_extension("new");
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&fresh, path)
    };
    write().map_err(|source| Error::Write { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{super::deployed::CONTROLLER, *};

    #[test]
    fn a_token_is_renewed_after_four_fifths_of_its_life() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(renew_at(at(1000), at(4600)), at(3880));
        assert_eq!(renew_at(at(1000), at(1600)), at(1480));
        // It has expired already, or the clock was set.
        assert!(renew_at(at(1000), at(900)) < at(1000));
        assert_eq!(renew_at(at(1000), at(1000)), at(1000));
    }

    #[test]
    fn the_kubeconfig_has_the_token_and_not_the_certificate() {
        let admin = "
            clusters: [{name: evenkeel, cluster: {server: https://127.0.0.1:1}}]
            users: [{name: admin, user: {client-certificate-data: YQ==, client-key-data: Yg==}}]
            contexts: [{name: evenkeel, context: {cluster: evenkeel, user: admin}}]
            current-context: evenkeel";
        let admin: Kubeconfig = Kubeconfig::from_yaml(admin).unwrap();
        let made = with_token(admin, &CONTROLLER, Path::new("/x/t.token"));
        let text = serde_json::to_string(&made).unwrap();
        let read = Kubeconfig::from_yaml(&text).unwrap();
        let [user] = &read.auth_infos[..] else { panic!("{text}") };
        let info = user.auth_info.as_ref().unwrap();
        assert_eq!(info.token_file.as_deref(), Some("/x/t.token"));
        assert!(info.client_key_data.is_none() && info.client_certificate_data.is_none());
        let context = read.contexts[0].context.as_ref().unwrap();
        assert_eq!(context.user.as_deref(), Some("evenkeel-controller"));
        assert_eq!(context.namespace.as_deref(), Some("evenkeel-system"));
        assert_eq!(read.current_context.as_deref(), Some("evenkeel"));
    }

    #[test]
    fn files_are_replaced_and_are_their_owners_alone() {
        let folder =
            std::env::temp_dir().join(format!("evenkeel-account-{:016x}", rand::random::<u64>()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.token");
        for text in ["one", "two"] {
            write(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(write(&path, ""), Err(Error::Write { .. })));
    }
}
