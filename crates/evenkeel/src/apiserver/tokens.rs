//! The flags about tokens of ServiceAccounts, named as those of kube-apiserver.

use std::time::Duration;

use clap::{ArgAction, Args};
use evenkeel_apiserver::ServiceAccounts;

use crate::duration::duration;

const HOUR: Duration = Duration::from_secs(3600);
/// Longer than any token may live.
const LONGEST: Duration = Duration::from_secs(1 << 32);

#[derive(Debug, Args)]
#[command(next_help_heading = "Tokens of ServiceAccounts")]
pub(crate) struct TokenArgs {
    /// Issuer of tokens; if given several times, the first one issues and those of all are accepted
    #[arg(long, value_name = "ISSUER", default_value = "https://kubernetes.default.svc", value_parser = issuer)]
    pub service_account_issuer: Vec<String>,
    /// Audiences that tokens for this server must have one of; by default the issuers
    #[arg(long, value_name = "AUDIENCE", value_delimiter = ',')]
    pub api_audiences: Vec<String>,
    /// Longest lifetime of a token, from 1h up; without it a client may ask for any
    #[arg(long, value_name = "DURATION", value_parser = lifetime)]
    pub service_account_max_token_expiration: Option<Duration>,
    /// Let tokens for Pods live for a year where old clients may not read them again
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    pub service_account_extend_token_expiration: bool,
}

pub(super) fn service_accounts(args: &TokenArgs) -> ServiceAccounts {
    let mut issuers = args.service_account_issuer.clone();
    let mut seen = std::collections::BTreeSet::new();
    issuers.retain(|issuer| seen.insert(issuer.clone()));
    ServiceAccounts {
        issuers,
        api_audiences: args.api_audiences.clone(),
        max_token_expiration: args.service_account_max_token_expiration,
        extend_token_expiration: args.service_account_extend_token_expiration,
    }
}

/// As for OpenID Connect: an address, if it looks like one.
fn issuer(given: &str) -> Result<String, String> {
    let is_address = given.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty() && !rest.is_empty() && !given.contains(char::is_whitespace)
    });
    match given.is_empty() || (given.contains(':') && !is_address) {
        true => Err("expected a name or an address as in https://issuer.example.com".to_owned()),
        false => Ok(given.to_owned()),
    }
}

fn lifetime(given: &str) -> Result<Duration, String> {
    let lifetime = duration(given)?;
    match (HOUR..=LONGEST).contains(&lifetime) {
        true => Ok(lifetime),
        false => Err("expected a duration between 1 hour and 2^32 seconds".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Only {
        #[command(flatten)]
        args: TokenArgs,
    }

    fn read(args: &[&str]) -> Result<ServiceAccounts, String> {
        let only = Only::try_parse_from(std::iter::once(&"x").chain(args));
        only.map(|only| service_accounts(&only.args)).map_err(|problem| problem.to_string())
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        assert_eq!(read(&[]), Ok(ServiceAccounts::default()));
    }

    #[test]
    fn flags_are_read_as_kube_apiserver_reads_them() {
        let found = read(&[
            "--service-account-issuer=https://a",
            "--service-account-issuer=https://b",
            "--service-account-issuer=https://a",
            "--api-audiences=x,y",
            "--service-account-max-token-expiration=2h",
            "--service-account-extend-token-expiration=false",
        ]);
        let expected = ServiceAccounts {
            issuers: vec!["https://a".to_owned(), "https://b".to_owned()],
            api_audiences: vec!["x".to_owned(), "y".to_owned()],
            max_token_expiration: Some(2 * HOUR),
            extend_token_expiration: false,
        };
        assert_eq!(found, Ok(expected));
        for wrong in [
            "--service-account-issuer=",
            "--service-account-issuer=a:b",
            "--service-account-max-token-expiration=59m",
            "--service-account-max-token-expiration=2000000h",
        ] {
            assert!(read(&[wrong]).is_err(), "{wrong}");
        }
    }
}
