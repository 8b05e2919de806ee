//! Replays requests that were recorded from a kube-apiserver with a key on P-256.
//!
//! `recorded.jsonl` has one step per line. `do` prepares an object, `post` is a TokenRequest,
//! `review` a TokenReview of a token and a request with it, `keep` obtains a token for later,
//! `store` puts one into a Secret, `get` is a document. Texts such as `<uid:web>` and `<now+60>`
//! stand for what differs from run to run. The recorder waited until Kubernetes' own cache of
//! tokens, which outlives their objects by ten seconds, was empty.

use std::collections::BTreeMap;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use http::Method;
use jiff::Timestamp;
use ring::{hmac, rand::SystemRandom};
use serde_json::{Value, json};

use super::keys::KeySet;
use crate::server::{in_process::settings, testing::Server};

const STEPS: &str = include_str!("recorded.jsonl");
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

/// What this server does differently, on purpose.
const DIFFERENT: &[(&str, &str)] = &[
    // Kubernetes then tries all keys. All tokens of this server name theirs.
    ("without kid", "[invalid bearer token, invalid signature, no keys found]"),
];

/// Texts that differ from run to run, and the real ones.
struct Run {
    server: Server,
    uids: BTreeMap<String, String>,
    kept: BTreeMap<String, String>,
    other: KeySet,
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_reviews_are_answered_as_recorded() {
    let server = Server::start(None, settings()).await;
    let other = KeySet::new(Timestamp::now(), &SystemRandom::new()).unwrap();
    let mut run = Run { server, uids: BTreeMap::new(), kept: BTreeMap::new(), other };
    for line in STEPS.lines() {
        let step: Value = serde_json::from_str(line).unwrap();
        let why = step["why"].as_str().unwrap_or_default();
        if step["do"].is_array() {
            run.prepare(&step).await;
        } else if step["post"].is_string() {
            run.request(&step).await;
        } else if step["review"].is_object() && !why.starts_with("a token of the file") {
            run.review(&step).await;
        } else if step["keep"].is_object() {
            run.token(&step["keep"]).await;
        } else if let Some(name) = step["store"].as_str() {
            run.store(name).await;
        }
    }
    run.server.stop().await;
}

impl Run {
    async fn prepare(&mut self, step: &Value) {
        let [method, path] = [0, 1].map(|index| step["do"][index].as_str().unwrap());
        let body = self.real(&step["do"][2], 0);
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let (code, answer) = self.server.ask(method, path, &body).await;
        assert!(code < 300, "{path}: {answer}");
        if let Some(name) = step["name"].as_str() {
            let uid = answer["metadata"]["uid"].as_str().unwrap();
            self.uids.insert(name.to_owned(), uid.to_owned());
        }
    }

    async fn request(&self, step: &Value) {
        let (why, path) = (&step["why"], step["post"].as_str().unwrap());
        let now = Timestamp::now().as_second();
        let body = self.real(&step["body"], now);
        let (code, answer) = self.server.ask(Method::POST, path, &body).await;
        let answer = self.masked(&answer, now);
        assert_eq!(
            (code, answer),
            (step["status"].as_u64().unwrap() as u16, step["answer"].clone()),
            "{why}"
        );
    }

    async fn review(&mut self, step: &Value) {
        let why = step["why"].as_str().unwrap();
        let now = Timestamp::now().as_second();
        let token = self.token(&step["review"]).await;
        let mut spec = json!({"token": token});
        if step["audiences"].is_array() {
            spec["audiences"] = step["audiences"].clone();
        }
        let (_, answer) = self.server.ask(Method::POST, REVIEWS, &json!({"spec": spec})).await;
        let found = self.masked(&answer["status"], now);
        let (code, _) = self.server.ask_with(&token, Method::GET, "/apis", &Value::Null).await;
        match DIFFERENT.iter().find(|(differs, _)| *differs == why) {
            Some((_, error)) => {
                assert_eq!((&found["error"], code), (&json!(error), 401), "{why}");
                assert_eq!(step["status"]["authenticated"], true, "{why}: no longer differs");
            }
            None => {
                assert_eq!(found, step["status"], "{why}");
                assert_eq!(u64::from(code), step["as"].as_u64().unwrap(), "{why}");
            }
        }
    }

    async fn token(&mut self, described: &Value) -> String {
        let now = Timestamp::now().as_second();
        let text = |name: &str| described[name].as_str();
        let mut token = if let Some(name) = text("kept") {
            self.kept[name].clone()
        } else if let Some(raw) = text("raw") {
            raw.to_owned()
        } else if let Some(path) = text("of") {
            let body = self.real(&described["body"], now);
            let (code, answer) = self.server.ask(Method::POST, path, &body).await;
            assert_eq!(code, 201, "{answer}");
            answer["status"]["token"].as_str().unwrap().to_owned()
        } else {
            let header = self.real(&described["header"], now).to_string();
            let claims = self.real(&described["claims"], now).to_string();
            self.signed(&header, text("payload").unwrap_or(&claims), text("key").unwrap())
        };
        token.push_str(text("append").unwrap_or_default());
        if let Some(name) = text("keep") {
            self.kept.insert(name.to_owned(), token.clone());
        }
        token
    }

    fn signed(&self, header: &str, claims: &str, key: &str) -> String {
        let own = self.server.api.accounts.keys.current();
        let message = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
        let by = |keys: &KeySet| {
            let key = keys.signing(Timestamp::now()).unwrap();
            key.sign(message.as_bytes(), &SystemRandom::new()).unwrap()
        };
        let signature = match key {
            "own" => by(&own),
            "other" => by(&self.other),
            "hs256" => {
                let public = own.published().to_string();
                let key = hmac::Key::new(hmac::HMAC_SHA256, public.as_bytes());
                hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
            }
            _ => Vec::new(),
        };
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    async fn store(&mut self, name: &str) {
        let annotations = json!({"kubernetes.io/service-account.name": "web"});
        let secret = json!({
            "metadata": {"name": name, "annotations": annotations},
            "type": "kubernetes.io/service-account-token",
            "data": {"token": STANDARD.encode(&self.kept[name])},
        });
        self.server.create("/api/v1/namespaces/tok/secrets", &secret).await;
    }

    fn kid(&self) -> String {
        let keys = self.server.api.accounts.keys.current();
        keys.signing(Timestamp::now()).unwrap().kid().to_owned()
    }

    /// With the real texts.
    fn real(&self, value: &Value, now: i64) -> Value {
        match value {
            Value::String(text) => {
                match text.strip_prefix("<now").and_then(|t| t.strip_suffix('>')) {
                    Some("") => now.into(),
                    Some(offset) => (now + offset.parse::<i64>().unwrap()).into(),
                    None => {
                        let uids = self.uids.iter();
                        let text = uids
                            .fold(text.replace("<kid>", &self.kid()), |text, (name, uid)| {
                                text.replace(&format!("<uid:{name}>"), uid)
                            });
                        text.into()
                    }
                }
            }
            Value::Array(all) => all.iter().map(|one| self.real(one, now)).collect(),
            Value::Object(all) => {
                all.iter().map(|(key, one)| (key.clone(), self.real(one, now))).collect()
            }
            other => other.clone(),
        }
    }

    /// With the recorded texts; a token by its content.
    fn masked(&self, value: &Value, now: i64) -> Value {
        match value {
            Value::String(text) => self.masked_text(text, now),
            Value::Array(all) => all.iter().map(|one| self.masked(one, now)).collect(),
            Value::Object(all) => {
                let masked = |(key, one): (&String, &Value)| match key.as_str() {
                    "exp" | "iat" | "nbf" | "warnafter" => {
                        (key.clone(), relative("now", one.as_i64().unwrap(), now))
                    }
                    _ => (key.clone(), self.masked(one, now)),
                };
                all.iter().map(masked).collect()
            }
            other => other.clone(),
        }
    }

    fn masked_text(&self, text: &str, now: i64) -> Value {
        if let [header, claims, _] = text.split('.').collect::<Vec<_>>()[..]
            && text.starts_with("eyJ")
        {
            let [header, claims] = [header, claims].map(|part| {
                let part = URL_SAFE_NO_PAD.decode(part).unwrap();
                self.masked(&serde_json::from_slice(&part).unwrap(), now)
            });
            return json!({"header": header, "claims": claims});
        }
        if let (Ok(time), true) = (text.parse::<Timestamp>(), text.ends_with('Z')) {
            return relative("time", time.as_second(), now);
        }
        let text = text.replace(&self.kid(), "<kid>");
        let text = self
            .uids
            .iter()
            .fold(text, |text, (name, uid)| text.replace(uid, &format!("<uid:{name}>")));
        let jti = text.strip_prefix("JTI=").or(Some(&text)).filter(|id| is_uuid(id));
        match jti {
            Some(id) => text.replace(id, "<uuid>").into(),
            None => text.into(),
        }
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

/// A time near `now`, by its offset.
fn relative(word: &str, time: i64, now: i64) -> Value {
    let near = [0, 3600, 600, 3607, 7200, 31_536_000, 4_294_967_296];
    let offset = near.into_iter().find(|offset| (time - now - offset).abs() <= 3);
    match offset.unwrap_or(time - now) {
        0 => format!("<{word}>").into(),
        offset => format!("<{word}{offset:+}>").into(),
    }
}
