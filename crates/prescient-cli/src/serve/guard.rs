//! Who may ask, and who may teach.
//!
//! A page elsewhere on the web can make a browser send requests here. It can neither read answers (nothing here allows another origin to), nor
//! send forms under its own name (`Origin` must be this host), nor reach a service on this machine under a name of its own that leads
//! here (`Host` must be one of this machine's names). Teaching needs a token besides, which no browser adds by itself.

use super::problem::Problem;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use prescient::error::RunError;
use std::net::IpAddr;
use std::path::Path;

/// The rules of one service.
#[derive(Debug)]
pub(super) struct Guard {
    /// Names that `Host` may have; all where it listens to other machines and none were given.
    hosts: Option<Vec<String>>,
    /// The digest of the token for teaching; none where nobody may teach.
    token: Option<blake3::Hash>,
}

impl Guard {
    pub(super) fn new(address: IpAddr, allowed: &[String], token: Option<&str>) -> Self {
        let mut hosts: Vec<String> = allowed.iter().map(|host| host.to_ascii_lowercase()).collect();
        let any = hosts.is_empty() && !address.is_loopback();
        hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(String::from));
        hosts.push(match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        });
        Self { hosts: (!any).then_some(hosts), token: token.map(|token| blake3::hash(token.as_bytes())) }
    }

    /// Whether anybody may teach.
    pub(super) fn learns(&self) -> bool {
        self.token.is_some()
    }

    /// Refuses what comes under a foreign name or from a foreign page.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let named = headers.get(header::HOST).map(|host| host.to_str().unwrap_or_default().to_ascii_lowercase());
        let host =
            uri.authority().map(|authority| authority.as_str().to_ascii_lowercase()).or(named).unwrap_or_default();
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => &host,
        };
        if self.hosts.as_ref().is_some_and(|hosts| !hosts.iter().any(|known| known == name)) {
            return Err(Problem::new(
                StatusCode::MISDIRECTED_REQUEST,
                format!("this service does not answer as `{host}`"),
                "use the address that it printed when it started, or start it with `--allow-host NAME`",
            ));
        }
        if let Some(origin) = headers.get(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
            let from = origin.split_once("://").map(|(_, from)| from);
            if from != Some(&host) {
                return Err(Problem::new(
                    StatusCode::FORBIDDEN,
                    format!("pages of `{origin}` may not use this service"),
                    "call it from a program, or from its own page",
                ));
            }
        }
        Ok(())
    }

    /// Lets who has the token teach: `Authorization: Bearer TOKEN`.
    pub(super) fn may_learn(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(token) = &self.token else {
            return Err(Problem::new(
                StatusCode::FORBIDDEN,
                "this service does not learn",
                "start it with `prescient serve PROJECT --allow-learn`",
            ));
        };
        let refused = |error: &str| {
            let hint = "send `Authorization: Bearer TOKEN` with the token that the service was started with";
            Err(Problem::new(StatusCode::UNAUTHORIZED, error, hint))
        };
        let Some(given) = headers.get(header::AUTHORIZATION) else { return refused("teaching needs a token") };
        let given = given.to_str().unwrap_or_default();
        match given.split_once(' ') {
            // Digests are compared in the same time wherever they differ, and say nothing of how much of the token was right.
            Some((scheme, given))
                if scheme.eq_ignore_ascii_case("bearer") && blake3::hash(given.trim().as_bytes()) == *token =>
            {
                Ok(())
            }
            _ => refused("this is not the token"),
        }
    }
}

/// A token of 256 random bits.
pub(super) fn new_token() -> Result<String, RunError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| RunError::io(Path::new("random numbers"))(error.into()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const ANY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);

    fn headers(given: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (name.clone(), value.parse().expect("a header"))).collect()
    }

    fn status(guard: &Guard, given: &[(header::HeaderName, &'static str)]) -> u16 {
        let checked = guard.check(&Uri::from_static("/predict"), &headers(given));
        checked.err().map_or(200, |problem| problem.status.as_u16())
    }

    #[test]
    fn a_foreign_name_for_this_machine_is_refused() {
        let guard = Guard::new(LOOPBACK, &["shop.example".to_owned()], None);
        for fine in ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000", "shop.example:80"] {
            assert_eq!(status(&guard, &[(header::HOST, fine)]), 200, "{fine}");
        }
        for foreign in ["evil.example", "127.0.0.1.evil.example:8000", "localhost.evil.example", ""] {
            assert_eq!(status(&guard, &[(header::HOST, foreign)]), 421, "{foreign}");
        }
        assert_eq!(status(&Guard::new(ANY, &[], None), &[(header::HOST, "shop.example")]), 200);
    }

    #[test]
    fn a_foreign_page_is_refused() {
        let guard = Guard::new(LOOPBACK, &[], None);
        let with = |origin| [(header::HOST, "127.0.0.1:8000"), (header::ORIGIN, origin)];
        assert_eq!(status(&guard, &with("http://127.0.0.1:8000")), 200);
        for foreign in ["https://evil.example", "http://127.0.0.1:9000", "http://127.0.0.1", "null"] {
            assert_eq!(status(&guard, &with(foreign)), 403, "{foreign}");
        }
    }

    #[test]
    fn teaching_needs_the_very_token() {
        let guard = Guard::new(LOOPBACK, &[], Some("secret"));
        let status = |given: &[(header::HeaderName, &'static str)]| {
            guard.may_learn(&headers(given)).err().map_or(200, |problem| problem.status.as_u16())
        };
        assert_eq!(status(&[(header::AUTHORIZATION, "Bearer secret")]), 200);
        assert_eq!(status(&[(header::AUTHORIZATION, "bearer secret")]), 200);
        for wrong in ["Bearer secre", "Bearer secret1", "Bearer", "Basic secret", "secret", "Bearer "] {
            assert_eq!(status(&[(header::AUTHORIZATION, wrong)]), 401, "{wrong}");
        }
        assert_eq!(status(&[]), 401);
        let off = Guard::new(LOOPBACK, &[], None).may_learn(&HeaderMap::new());
        assert_eq!(off.expect_err("off").status.as_u16(), 403);
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let (one, two) = (new_token().expect("random"), new_token().expect("random"));
        assert!(one.len() == 64 && one != two);
    }
}
