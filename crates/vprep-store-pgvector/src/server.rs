//! Where the server is, and how to get in.

use crate::{NAME, URL};
use std::net::IpAddr;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use vprep_store::StoreError;

/// How long to wait for a server that does not answer, unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const EXAMPLE: &str = "postgresql://user:password@host:5432/database";

/// A server, not yet connected. It has no `Debug`, so that no password is printed.
#[derive(Clone)]
pub(crate) struct Server {
    config: Config,
    place: String,
}

impl Server {
    /// Reads a URL; `password` stands in where the URL has none.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotConfigured`] without a URL, [`StoreError::Unreachable`] if it cannot be
    /// read or asks for what this store does not do. No part of the URL is repeated: where it is
    /// malformed, any part may be the password's.
    pub(crate) fn new(url: Option<&str>, password: Option<&str>) -> Result<Self, StoreError> {
        let Some(url) = url else {
            return Err(StoreError::NotConfigured { store: NAME, variable: URL, example: EXAMPLE });
        };
        let wrong = |message: &str| StoreError::Unreachable {
            store: NAME,
            place: format!("the server in {URL}"),
            message: message.to_owned(),
        };
        if url.contains("sslmode=verify") {
            return Err(wrong(NO_TLS));
        }
        let mut config = parse(url).ok_or_else(|| {
            wrong("it is no URL such as postgresql://user:password@host:5432/database (write @, / and ? in a password as %40, %2F and %3F)")
        })?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(wrong(NO_TLS));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(wrong("the URL names no host"));
        }
        if let (None, Some(password)) = (config.get_password(), password) {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("vprep");
        }
        config.ssl_mode(SslMode::Disable);
        Ok(Self { place: place(&config), config })
    }

    /// How to connect, with the credentials.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Host, port and database, without the credentials.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Whether the server runs on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let loopback = |address: &IpAddr| address.is_loopback();
        let local = |host: &Host| match host {
            #[cfg(unix)]
            Host::Unix(_) => true,
            Host::Tcp(name) => {
                name == "localhost" || name.parse().is_ok_and(|address| loopback(&address))
            }
        };
        self.config.get_hosts().iter().all(local)
            && self.config.get_hostaddrs().iter().all(loopback)
    }
}

const NO_TLS: &str = "the URL asks for TLS, which this store does not speak; use sslmode=disable, on a trusted network or through a tunnel";

/// Reads a URL, unless it is ambiguous: tokio-postgres takes everything before the first `@` for
/// credentials, wherever it stands, so that the rest of a password with `@` in it would become the
/// host, and be shown.
fn parse(url: &str) -> Option<Config> {
    let rest = url.strip_prefix("postgresql://").or_else(|| url.strip_prefix("postgres://"))?;
    let authority = rest.split(['/', '?']).next()?;
    let ats = |text: &str| text.matches('@').count();
    if ats(rest) > 1 || ats(authority) != ats(rest) {
        return None;
    }
    url.parse().ok()
}

/// `host:port/database`, or several of them where the URL names several.
fn place(config: &Config) -> String {
    let host = |host: &Host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    };
    let mut hosts: Vec<String> = config.get_hosts().iter().map(host).collect();
    if hosts.is_empty() {
        hosts = config.get_hostaddrs().iter().map(IpAddr::to_string).collect();
    }
    let ports = config.get_ports();
    let port = |i: usize| ports.get(i).or(ports.first()).copied().unwrap_or(5432);
    let database = config.get_dbname().map(|name| format!("/{name}")).unwrap_or_default();
    let places: Vec<String> = (0..).zip(&hosts).map(|(i, h)| format!("{h}:{}", port(i))).collect();
    format!("{}{database}", places.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> Result<Server, StoreError> {
        Server::new(Some(url), None)
    }

    #[test]
    fn a_place_has_no_credentials() {
        for (url, place, local) in [
            ("postgresql://u:s3cret@db.example:6543/data", "db.example:6543/data", false),
            ("postgres://u:s3cret@localhost/data", "localhost:5432/data", true),
            ("postgresql://[::1]:7000/data?user=u&password=s3cret", "::1:7000/data", true),
            ("postgresql:///data?host=/run/pg&user=u&port=5", "/run/pg:5/data", true),
            ("postgresql://u@a,b:1/d", "a:5432,b:1/d", false),
            ("postgresql://s3cret@h", "h:5432", false),
        ] {
            let server = server(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!((server.place(), server.is_local()), (place, local), "{url}");
        }
    }

    #[test]
    fn nothing_of_a_malformed_url_is_repeated() {
        for url in [
            "s3cret",
            "mysql://u:s3cret@h/d",
            "postgresql://u:x@s3cret@h/d",
            "postgresql://u:x/s3cret@h/d",
            "postgresql://u:x?s3cret=1@h/d",
            "postgresql:///d?user=u&password=x@s3cret",
            "postgresql://u:s3cret@h:port/d",
            "postgresql://u:s3cret@h/d?s3cret=1",
            "postgresql://u:s3cret@h/d?sslmode=require",
            "postgresql://u:s3cret@h/d?sslmode=verify-full",
            "postgresql://u:s3cret@/d",
        ] {
            let error = server(url).err().unwrap_or_else(|| panic!("{url} is accepted"));
            let text = format!("{error} {error:?}");
            assert!(matches!(error, StoreError::Unreachable { .. }), "{url}: {text}");
            assert!(!text.contains("s3cret"), "{url}: {text}");
            assert_eq!(text.contains("TLS"), url.contains("sslmode"), "{url}: {text}");
        }
    }

    #[test]
    fn a_password_from_the_environment_stands_in() {
        let with = |url| Server::new(Some(url), Some("other")).expect("a URL").config;
        assert_eq!(with("postgresql://u@h/d").get_password(), Some(b"other".as_slice()));
        assert_eq!(with("postgresql://u:own@h/d").get_password(), Some(b"own".as_slice()));
    }
}
