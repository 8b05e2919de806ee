//! Services outside of the mesh.

use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::status::{Address, Generator, Vip};

/// What clients address, and where it is.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "kuma.io",
    version = "v1alpha1",
    kind = "MeshExternalService",
    plural = "meshexternalservices",
    shortname = "extsvc",
    category = "kuma",
    namespaced,
    status = "MeshExternalServiceStatus",
    derive = "PartialEq",
    doc = "A service outside of the mesh.",
    printcolumn(name = "Hostname", type_ = "string", json_path = ".status.addresses[0].hostname")
)]
#[serde(rename_all = "camelCase")]
pub struct MeshExternalServiceSpec {
    /// What clients address.
    pub r#match: Match,
    /// Where the service is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<ExternalEndpoint>,
    /// TLS to the service, begun by the proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<ExternalTls>,
    /// Configuration of an extension of a control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extension: Option<Extension>,
}

/// What clients address.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Match {
    /// How the hostname is found. Defaults to HostnameGenerator.
    #[serde(default = "generated", skip_serializing_if = "Option::is_none")]
    pub r#type: Option<MatchType>,
    /// The port that clients use.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// What is spoken. Defaults to tcp.
    #[serde(default = "tcp", skip_serializing_if = "Option::is_none")]
    pub protocol: Option<ExternalProtocol>,
}

/// How the hostname is found.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum MatchType {
    #[default]
    HostnameGenerator,
}

/// What is spoken with an external service.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExternalProtocol {
    #[default]
    Tcp,
    Grpc,
    Http,
    Http2,
}

/// Where a service is.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalEndpoint {
    /// An IP address, a hostname or the path of a Unix socket.
    #[schemars(length(min = 1))]
    pub address: String,
    /// The port.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Endpoints with a higher number are used when those before fail. Defaults to 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 128))]
    pub priority: Option<i32>,
}

/// Configuration of an extension.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Extension {
    /// Its name.
    pub r#type: String,
    /// What it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "anything")]
    pub config: Option<Value>,
}

/// TLS to a service.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalTls {
    /// Whether the proxy begins TLS. Defaults to false.
    #[serde(default = "no", skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether sessions may be renegotiated, which is not safe. Defaults to false.
    #[serde(default = "no", skip_serializing_if = "Option::is_none")]
    pub allow_renegotiation: Option<bool>,
    /// Versions of TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<TlsVersions>,
    /// How the service is verified, and the client to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
}

/// Versions of TLS.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TlsVersions {
    /// The oldest. Defaults to TLSAuto.
    #[serde(default = "automatic", skip_serializing_if = "Option::is_none")]
    pub min: Option<TlsVersion>,
    /// The newest. Defaults to TLSAuto.
    #[serde(default = "automatic", skip_serializing_if = "Option::is_none")]
    pub max: Option<TlsVersion>,
}

/// Versions of TLS.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum TlsVersion {
    #[default]
    TLSAuto,
    TLS10,
    TLS11,
    TLS12,
    TLS13,
}

/// How a service is verified, and the client to it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// What is verified. Defaults to Secured.
    #[serde(default = "secured", skip_serializing_if = "Option::is_none")]
    pub mode: Option<VerificationMode>,
    /// The name that is asked for (SNI).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Names of which the certificate must have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subject_alt_names: Vec<SubjectAltName>,
    /// The certificate authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_cert: Option<DataSource>,
    /// The client's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cert: Option<DataSource>,
    /// The key of the client's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key: Option<DataSource>,
}

/// What is verified of a certificate.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum VerificationMode {
    SkipSAN,
    SkipCA,
    #[default]
    Secured,
    SkipAll,
}

/// A name that a certificate must have.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectAltName {
    /// How it is compared. Defaults to Exact.
    #[serde(default = "exact", skip_serializing_if = "Option::is_none")]
    pub r#type: Option<SanMatch>,
    /// The name.
    pub value: String,
}

/// How names are compared.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum SanMatch {
    #[default]
    Exact,
    Prefix,
}

/// Where a certificate or key is: type and its field, or one of the older fields secret, inline and
/// inlineString.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DataSource {
    /// Which of the other fields counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<SourceType>,
    /// A file of the proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FilePath>,
    /// A Secret of the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
    /// An environment variable of the proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_var: Option<EnvVar>,
    /// The text itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_inline: Option<InlineText>,
    /// The name of a Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// The data in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "byte"))]
    pub inline: Option<String>,
    /// The text itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline_string: Option<String>,
}

/// Where data is.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum SourceType {
    #[default]
    File,
    Secret,
    EnvVar,
    InsecureInline,
}

/// A file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FilePath {
    /// Its path.
    pub path: String,
}

/// A reference to a Secret.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Always Secret.
    pub kind: SecretKind,
    /// Its name.
    pub name: String,
}

/// The kind of a Secret.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum SecretKind {
    #[default]
    Secret,
}

/// An environment variable.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    /// Its name.
    pub name: String,
}

/// A text.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InlineText {
    /// The text.
    pub value: String,
}

/// What control planes report of an external service.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeshExternalServiceStatus {
    /// Generated hostnames.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<Address>,
    /// What each HostnameGenerator reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hostname_generators: Vec<Generator>,
    /// Its virtual address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip: Option<Vip>,
}

fn generated() -> Option<MatchType> {
    Some(MatchType::HostnameGenerator)
}

fn tcp() -> Option<ExternalProtocol> {
    Some(ExternalProtocol::Tcp)
}

fn no() -> Option<bool> {
    Some(false)
}

fn automatic() -> Option<TlsVersion> {
    Some(TlsVersion::TLSAuto)
}

fn secured() -> Option<VerificationMode> {
    Some(VerificationMode::Secured)
}

fn exact() -> Option<SanMatch> {
    Some(SanMatch::Exact)
}

fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}
