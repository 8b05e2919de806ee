//! Tokens that must not be accepted, one by one; what Kubernetes says to most of them is in
//! `recorded`.

use std::{
    cell::Cell,
    collections::BTreeMap,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use evenkeel_store::Revision;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use ring::{hmac, rand::SystemRandom};
use serde_json::{Value, json};

use super::{
    AccountTokens, Keys, Refusal,
    claims::{BoundClaims, NewToken, ObjectClaim},
    jwt::{self, MAX_LENGTH},
    keys::KeySet,
    validate::Objects,
};
use crate::{
    kinds::KindRef,
    server::{in_process::settings, testing::Server},
    settings::ServiceAccounts,
};

const ISSUER: &str = "https://kubernetes.default.svc";

/// A world of objects, by plural and key; counts the objects that were read.
#[derive(Default)]
struct World {
    objects: BTreeMap<(&'static str, String), (Revision, Value)>,
    reads: Cell<usize>,
}

impl Objects for World {
    fn object(&self, kind: &'static KindRef, key: &str) -> Option<(Revision, Value)> {
        self.reads.set(self.reads.get() + 1);
        self.objects.get(&(&kind.plural, key.to_owned())).cloned()
    }

    fn revision(&self, kind: &'static KindRef, key: &str) -> Option<Revision> {
        Some(self.objects.get(&(&kind.plural, key.to_owned()))?.0)
    }
}

impl World {
    fn put(&mut self, plural: &'static str, key: &str, uid: &str) {
        let revision = 1 + self.objects.values().map(|(at, _)| *at).max().unwrap_or_default();
        let object = json!({"metadata": {"uid": uid}});
        self.objects.insert((plural, key.to_owned()), (revision, object));
    }
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn after(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

fn tokens() -> AccountTokens {
    AccountTokens::new(ServiceAccounts::default(), Keys::in_memory(now()).unwrap())
}

fn world() -> World {
    let mut world = World::default();
    world.put("serviceaccounts", "shop/web", "u1");
    world.put("serviceaccounts", "bank/web", "u9");
    world.put("pods", "shop/web-1", "u2");
    world
}

/// Bound to a Pod, for an hour.
fn issued(tokens: &AccountTokens) -> String {
    issued_for(tokens, &[ISSUER.to_owned()], ISSUER)
}

fn issued_for(tokens: &AccountTokens, audiences: &[String], issuer: &str) -> String {
    let bound = BoundClaims {
        namespace: "shop".to_owned(),
        account: ObjectClaim::new("web", "u1"),
        pod: Some(ObjectClaim::new("web-1", "u2")),
        ..BoundClaims::default()
    };
    let token = NewToken { issuer, audiences, bound, lifetime: 3600, warn_after: None, id: "j" };
    tokens.issue(&token, now()).unwrap()
}

fn check(
    tokens: &AccountTokens,
    token: &str,
    at: Timestamp,
    world: &World,
) -> Result<String, Refusal> {
    let valid = tokens.valid(token, tokens.audiences(), at, world)?;
    Ok(valid.user.name.clone())
}

fn is_accepted(tokens: &AccountTokens, token: &str) -> bool {
    check(tokens, token, now(), &world()).is_ok()
}

/// A token with another header or other claims, signed by the server's key.
fn resigned(tokens: &AccountTokens, header: &Value, claims: &str) -> String {
    let claims = URL_SAFE_NO_PAD.encode(claims);
    let message = format!("{}.{claims}", URL_SAFE_NO_PAD.encode(header.to_string()));
    let keys = tokens.keys.current();
    let signature = keys.signing(now()).unwrap().sign(message.as_bytes(), &SystemRandom::new());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.unwrap()))
}

fn kid(tokens: &AccountTokens) -> String {
    tokens.keys.current().signing(now()).unwrap().kid().to_owned()
}

fn claims_of(token: &str) -> String {
    let part = token.split('.').nth(1).unwrap();
    String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn with_header(header: impl Fn(&str) -> Value) -> bool {
    let tokens = tokens();
    let header = header(&kid(&tokens));
    let token = resigned(&tokens, &header, &claims_of(&issued(&tokens)));
    is_accepted(&tokens, &token)
}

#[test]
fn an_issued_token_is_accepted() {
    let tokens = tokens();
    assert!(is_accepted(&tokens, &issued(&tokens)));
    assert!(with_header(|kid| json!({"alg": "ES256", "kid": kid})));
}

#[test]
fn an_expired_token_is_refused_also_if_it_is_known() {
    let (tokens, world) = (tokens(), world());
    let token = issued(&tokens);
    assert!(check(&tokens, &token, after(3660), &world).is_ok());
    let expired = Refusal::Because("service account token has expired".to_owned());
    assert_eq!(check(&tokens, &token, after(3661), &world), Err(expired));
}

#[test]
fn a_token_that_is_not_valid_yet_is_refused() {
    let (tokens, world) = (tokens(), world());
    let token = issued(&tokens);
    assert!(check(&tokens, &token, after(-60), &world).is_ok());
    assert!(check(&tokens, &token, after(-61), &world).is_err());
}

#[test]
fn a_token_for_another_audience_is_refused() {
    let tokens = tokens();
    assert!(!is_accepted(&tokens, &issued_for(&tokens, &["other".to_owned()], ISSUER)));
    // Being known for its own audience does not help it.
    let token = issued_for(&tokens, &["other".to_owned()], ISSUER);
    assert!(tokens.valid(&token, &["other".to_owned()], now(), &world()).is_ok());
    assert!(!is_accepted(&tokens, &token));
}

#[test]
fn a_token_of_another_issuer_is_refused() {
    let tokens = tokens();
    assert!(!is_accepted(&tokens, &issued_for(&tokens, &[ISSUER.to_owned()], "https://x")));
}

#[test]
fn a_token_of_another_key_is_refused() {
    assert!(!is_accepted(&tokens(), &issued(&tokens())));
    // Also under the ID of the right one.
    let (own, other) = (tokens(), tokens());
    let header = json!({"alg": "ES256", "kid": kid(&own)});
    let forged = resigned(&other, &header, &claims_of(&issued(&own)));
    assert!(!is_accepted(&own, &forged));
}

#[test]
fn a_token_with_an_unknown_kid_or_none_is_refused() {
    assert!(!with_header(|_| json!({"alg": "ES256", "kid": "other"})));
    assert!(!with_header(|_| json!({"alg": "ES256"})));
    assert!(!with_header(|kid| json!({"alg": "ES256", "kid": [kid]})));
}

#[test]
fn alg_none_is_refused_with_and_without_signature() {
    assert!(!with_header(|kid| json!({"alg": "none", "kid": kid})));
    let tokens = tokens();
    let token = issued(&tokens);
    let claims = token.split('.').nth(1).unwrap();
    for alg in ["none", "None", "NONE", "", "ES256"] {
        let header = json!({"alg": alg, "kid": kid(&tokens)}).to_string();
        let header = URL_SAFE_NO_PAD.encode(header);
        assert!(!is_accepted(&tokens, &format!("{header}.{claims}.")), "{alg}");
    }
}

#[test]
fn alg_hs256_with_the_public_key_as_secret_is_refused() {
    let tokens = tokens();
    let claims = claims_of(&issued(&tokens));
    let header = json!({"alg": "HS256", "kid": kid(&tokens)}).to_string();
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let public = &tokens.keys.current().published()["keys"][0];
    for secret in [public.to_string(), public["x"].as_str().unwrap().to_owned()] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, message.as_bytes()));
        assert!(!is_accepted(&tokens, &format!("{message}.{signature}")));
    }
}

#[test]
fn other_algorithms_are_refused() {
    for alg in ["ES384", "RS256", "PS256", "es256", "EdDSA"] {
        assert!(!with_header(|kid| json!({"alg": alg, "kid": kid})), "{alg}");
    }
    assert!(!with_header(|kid| json!({"alg": ["ES256"], "kid": kid})));
    assert!(!with_header(|kid| json!({"kid": kid})));
}

#[test]
fn unknown_critical_headers_are_refused() {
    for crit in [json!(["x"]), json!(["b64"]), json!("x"), json!(null), json!({})] {
        assert!(!with_header(|kid| json!({"alg": "ES256", "kid": kid, "crit": crit})), "{crit}");
    }
}

#[test]
fn a_key_in_the_header_is_refused() {
    let tokens = tokens();
    let jwk = tokens.keys.current().published()["keys"][0].clone();
    assert!(!with_header(|kid| json!({"alg": "ES256", "kid": kid, "jwk": jwk})));
}

#[test]
fn duplicate_claims_are_refused() {
    let tokens = tokens();
    let header = json!({"alg": "ES256", "kid": kid(&tokens)});
    let claims = claims_of(&issued(&tokens));
    let doubled = claims.replacen('{', r#"{"sub":"system:serviceaccount:kube-system:admin","#, 1);
    let nested = claims.replacen(r#""namespace""#, r#""namespace":"kube-system","namespace""#, 1);
    for claims in [doubled, nested] {
        let refused = check(&tokens, &resigned(&tokens, &header, &claims), now(), &world());
        let Err(Refusal::Because(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("duplicate key"), "{why}");
    }
}

#[test]
fn trailing_data_and_other_forms_are_refused() {
    let tokens = tokens();
    let token = issued(&tokens);
    let header = json!({"alg": "ES256", "kid": kid(&tokens)});
    let claims = claims_of(&token);
    let trailing = resigned(&tokens, &header, &format!("{claims} {{}}"));
    let list = resigned(&tokens, &header, &format!("[{claims}]"));
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let json = json!({"payload": signed, "signature": signature}).to_string();
    for wrong in [
        trailing,
        list,
        json,
        format!("{token}."),
        format!("{token}.e30"),
        format!(".{token}"),
        signed.to_owned(),
        format!("{signed}."),
        "..".to_owned(),
        ".".to_owned(),
        String::new(),
    ] {
        assert!(!is_accepted(&tokens, &wrong), "{wrong}");
    }
}

#[test]
fn base64_in_another_form_is_refused() {
    let tokens = tokens();
    let token = issued(&tokens);
    let last = token.chars().last().unwrap();
    // 64 bytes leave four bits of the last letter unused.
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let value = alphabet.find(last).unwrap();
    assert_eq!(value % 16, 0, "canonical");
    for bits in 1..16 {
        let other = alphabet.as_bytes()[value + bits];
        let token = format!("{}{}", &token[..token.len() - 1], char::from(other));
        assert!(!is_accepted(&tokens, &token), "{bits}");
    }
    for wrong in [format!("{token}="), format!("{token}\n"), format!(" {token}")] {
        assert!(!is_accepted(&tokens, &wrong), "{wrong}");
    }
    if token.contains(['-', '_']) {
        assert!(!is_accepted(&tokens, &token.replace('-', "+").replace('_', "/")));
    }
}

#[test]
fn a_token_larger_than_any_issued_one_is_not_even_decoded() {
    let tokens = tokens();
    let token = issued(&tokens);
    for size in [MAX_LENGTH + 1, 10 << 20] {
        let begin = Instant::now();
        for filler in ["A", ".", "e30.", &token] {
            let huge = filler.repeat(size / filler.len() + 1);
            assert_eq!(check(&tokens, &huge, now(), &world()), Err(Refusal::NotOurs));
        }
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    }
    let header = json!({"alg": "ES256", "kid": kid(&tokens)});
    let padded = |size: usize| {
        let claims =
            claims_of(&token).replacen('{', &format!("{{\"x\":\"{}\",", "x".repeat(size)), 1);
        resigned(&tokens, &header, &claims)
    };
    assert!(is_accepted(&tokens, &padded(20_000)));
    assert!(!is_accepted(&tokens, &padded(30_000)));
}

#[test]
fn a_token_of_a_deleted_account_is_refused_at_once() {
    let (tokens, mut world) = (tokens(), world());
    let token = issued(&tokens);
    assert!(check(&tokens, &token, now(), &world).is_ok());
    let account = world.objects.remove(&("serviceaccounts", "shop/web".to_owned())).unwrap();
    assert!(check(&tokens, &token, now(), &world).is_err());
    assert_eq!(tokens.cache.len(), 0);
    // The same account, from a backup.
    world.objects.insert(("serviceaccounts", "shop/web".to_owned()), account);
    assert!(check(&tokens, &token, now(), &world).is_ok());
}

#[test]
fn a_token_of_an_account_created_again_is_refused() {
    let (tokens, mut world) = (tokens(), world());
    let token = issued(&tokens);
    assert!(check(&tokens, &token, now(), &world).is_ok());
    world.put("serviceaccounts", "shop/web", "u7");
    assert!(check(&tokens, &token, now(), &world).is_err());
}

#[test]
fn a_token_of_a_deleted_pod_is_refused_at_once() {
    let (tokens, mut world) = (tokens(), world());
    let token = issued(&tokens);
    assert!(check(&tokens, &token, now(), &world).is_ok());
    world.objects.remove(&("pods", "shop/web-1".to_owned()));
    assert!(check(&tokens, &token, now(), &world).is_err());
    world.put("pods", "shop/web-1", "u8");
    assert!(check(&tokens, &token, now(), &world).is_err());
}

#[test]
fn a_token_of_an_account_that_is_being_deleted_is_refused_after_a_minute() {
    let (tokens, mut world) = (tokens(), world());
    let token = issued(&tokens);
    world.put("serviceaccounts", "shop/web", "u1");
    let account = world.objects.get_mut(&("serviceaccounts", "shop/web".to_owned())).unwrap();
    account.1["metadata"]["deletionTimestamp"] = now().to_string().into();
    for (seconds, expected) in [(0, true), (60, true), (61, false), (62, false)] {
        let checked = check(&tokens, &token, after(seconds), &world);
        assert_eq!(checked.is_ok(), expected, "{seconds}");
    }
}

#[test]
fn a_token_of_another_namespace_is_not_that_of_its_namesake() {
    let (tokens, world) = (tokens(), world());
    let name = check(&tokens, &issued(&tokens), now(), &world).unwrap();
    assert_eq!(name, "system:serviceaccount:shop:web");
    // Only the key's owner could claim another namespace, and then the UID differs.
    let claims = claims_of(&issued(&tokens)).replace("\"shop\"", "\"bank\"");
    let header = json!({"alg": "ES256", "kid": kid(&tokens)});
    assert!(check(&tokens, &resigned(&tokens, &header, &claims), now(), &world).is_err());
}

#[test]
fn a_known_token_reads_no_object_until_one_changes() {
    let (tokens, mut world) = (tokens(), world());
    let token = issued(&tokens);
    assert!(check(&tokens, &token, now(), &world).is_ok());
    let reads = world.reads.get();
    for _ in 0..10 {
        assert!(check(&tokens, &token, after(10), &world).is_ok());
    }
    assert_eq!(world.reads.get(), reads);
    world.put("pods", "shop/web-1", "u2");
    assert!(check(&tokens, &token, now(), &world).is_ok());
    assert!(world.reads.get() > reads);
}

#[test]
fn the_cache_is_bounded_and_keeps_what_is_used() {
    let (tokens, world) = (tokens(), world());
    let used = issued(&tokens);
    let valid = tokens.valid(&used, tokens.audiences(), now(), &world).unwrap();
    for number in 0..20_000 {
        tokens.cache.put(&format!("{number:0>64}"), valid.clone());
        if number % 1_000 == 0 {
            assert!(tokens.cache.get(&used).is_some(), "{number}");
        }
    }
    assert!(tokens.cache.len() <= 4_096, "{}", tokens.cache.len());
    assert!(tokens.cache.get(&format!("{:0>64}", 0)).is_none());
    tokens.cache.put(&"x".repeat(5_000), valid);
    assert!(tokens.cache.get(&"x".repeat(5_000)).is_none(), "a long one is not kept");
}

#[test]
fn who_knows_only_the_signature_of_a_known_token_is_refused() {
    let (tokens, world) = (tokens(), world());
    let token = issued(&tokens);
    assert!(check(&tokens, &token, now(), &world).is_ok());
    let other = issued_for(&tokens, &["x".to_owned()], ISSUER);
    let (signed, _) = other.rsplit_once('.').unwrap();
    let (_, signature) = token.rsplit_once('.').unwrap();
    assert!(check(&tokens, &format!("{signed}.{signature}"), now(), &world).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_token_with_any_byte_changed_is_refused(
        position in any::<prop::sample::Index>(),
        letter in prop::sample::select(('!'..='~').collect::<Vec<char>>()),
        known in any::<bool>(),
    ) {
        let (tokens, world) = (tokens(), world());
        let token = issued(&tokens);
        if known {
            prop_assert!(check(&tokens, &token, now(), &world).is_ok());
        }
        let at = position.index(token.len());
        let changed = format!("{}{letter}{}", &token[..at], &token[at + 1..]);
        prop_assume!(changed != token);
        prop_assert!(check(&tokens, &changed, now(), &world).is_err(), "{}", changed);
    }

    #[test]
    fn no_text_is_accepted_or_panics(text in "\\PC{0,200}|[A-Za-z0-9_.=-]{0,300}") {
        prop_assert!(!is_accepted(&tokens(), &text));
    }

    #[test]
    fn no_header_or_claims_panic(header in "\\PC{0,60}", claims in "\\PC{0,60}") {
        let parts = [header, claims, String::new()].map(|part| URL_SAFE_NO_PAD.encode(part));
        let keys = KeySet::new(now(), &SystemRandom::new()).unwrap();
        prop_assert!(jwt::verified(&parts.join("."), &keys, |_| true).is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_megabytes_of_token_are_refused_quickly() {
    let server = Server::start(None, settings()).await;
    let begin = Instant::now();
    let huge = "eyJhbGciOiJFUzI1NiJ9.".repeat(10 << 20 >> 4);
    let (code, _) = server.ask_with(&huge, Method::GET, "/apis", &Value::Null).await;
    assert_eq!(code, 401);
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let (code, _) = server.ask(Method::POST, path, &json!({"spec": {"token": huge}})).await;
    assert_eq!(code, 413, "it exceeds the limit of bodies");
    let within = &huge[..2 << 20];
    let (code, answer) = server.ask(Method::POST, path, &json!({"spec": {"token": within}})).await;
    assert_eq!((code, &answer["status"]["error"]), (201, &json!("invalid bearer token")));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    server.stop().await;
}
