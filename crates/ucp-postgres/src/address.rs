//! The address of a database, and how it is used.

use std::{str::FromStr, time::Duration};

use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};

/// Name of the gateway among the connections of the server.
const APPLICATION: &str = "ucp-gateway";

/// Time after which a connection that does not answer is given up, if the address says nothing else.
const CONNECT: Duration = Duration::from_secs(5);

/// A database, and how it is used. Its address contains a password, and is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Options {
    pub(crate) config: Config,
    /// Maximum number of connections.
    pub connections: usize,
    /// Time after which a statement is given up; what became of it is then found out.
    pub statement_timeout: Duration,
    /// `true` if statements are prepared on the server, once per connection. With a pooler that hands every transaction to
    /// another connection, it has to follow them there (pgbouncer 1.21 and later do).
    pub named: bool,
    /// Certificates of authorities that the server may be certified by, beside those of the system; DER.
    pub(crate) roots: Vec<Vec<u8>>,
}
ucp_core::opaque!(Options);

/// An address that is not one of a PostgreSQL database.
#[derive(Debug, thiserror::Error)]
pub enum InvalidAddress {
    /// The form.
    #[error("must be of the form `postgres://user:password@host:port/database`{}", because(.0))]
    Form(Option<String>),
    /// No database, or no user.
    #[error("must name {0}, as in `postgres://user:password@host:port/database`")]
    Incomplete(&'static str),
}

/// A file without certificates.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("must hold one or more certificates in PEM form")]
pub struct InvalidCertificates;

fn because(cause: &Option<String>) -> String {
    cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default()
}

impl Options {
    /// Returns `true` if `text` is meant to be the address of a PostgreSQL database.
    pub fn is_address(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Trusts the authorities whose certificates are in a file (PEM). Fails with [`InvalidCertificates`] if there are
    /// none in it, or one cannot be read.
    pub fn trust(&mut self, pem: &[u8]) -> Result<(), InvalidCertificates> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let certificates = read.map_err(|_| InvalidCertificates)?;
        if certificates.is_empty() {
            return Err(InvalidCertificates);
        }
        self.roots.extend(certificates.iter().map(|certificate| certificate.to_vec()));
        Ok(())
    }

    /// Returns a description of the database without user and password.
    pub fn place(&self) -> String {
        let hosts: Vec<_> = self.config.get_hosts().iter().map(name).collect();
        let ports = self.config.get_ports();
        let place = |(nth, host): (usize, &String)| match ports.get(nth).or(ports.first()) {
            Some(port) if !host.starts_with('/') => format!("{host}:{port}"),
            _ => host.clone(),
        };
        let places: Vec<_> = hosts.iter().enumerate().map(place).collect();
        format!("{}/{}", places.join(","), self.config.get_dbname().unwrap_or_default())
    }

    /// Returns `true` if passwords and addresses of buyers can be read on the way to the server.
    pub fn is_exposed(&self) -> bool {
        self.config.get_ssl_mode() != SslMode::Require && !self.config.get_hosts().iter().all(is_near)
    }
}

impl FromStr for Options {
    type Err = InvalidAddress;

    /// Reads an address. Connections to another machine are encrypted, and the server has to show a certificate for its name,
    /// unless the address says `sslmode=disable`. Of several hosts, the one that can be written is used.
    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        if !Self::is_address(text) {
            return Err(InvalidAddress::Form(None));
        }
        // Every connection that is encrypted is one to a server whose certificate is for its name: there is no weaker form of it.
        let known =
            text.replace("sslmode=verify-full", "sslmode=require").replace("sslmode=verify-ca", "sslmode=require");
        // What the parser says names a parameter, and no value.
        let mut config: Config = known.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            InvalidAddress::Form(cause.filter(|cause| cause.len() < 100))
        })?;
        if config.get_hosts().is_empty() {
            return Err(InvalidAddress::Incomplete("a host"));
        }
        if config.get_dbname().is_none_or(str::is_empty) {
            return Err(InvalidAddress::Incomplete("a database"));
        }
        if config.get_user().is_none() {
            return Err(InvalidAddress::Incomplete("a user"));
        }
        let states_mode = text.contains("sslmode=");
        if !states_mode {
            let near = config.get_hosts().iter().all(is_near);
            config.ssl_mode(if near { SslMode::Disable } else { SslMode::Require });
        }
        if config.get_hosts().len() > 1 && !text.contains("target_session_attrs=") {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name(APPLICATION);
        }
        Ok(Self {
            config,
            connections: 16,
            statement_timeout: Duration::from_secs(10),
            named: false,
            roots: Vec::new(),
        })
    }
}

fn name(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    }
}

/// Returns `true` for a host that is this machine.
fn is_near(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_is_spoken_to_in_secret_unless_the_address_says_otherwise() {
        let exposed = |address: &str| address.parse::<Options>().expect(address).is_exposed();
        assert!(!exposed("postgres://u:p@db.example/shop"));
        assert!(!exposed("postgres://u@127.0.0.1/shop"));
        assert!(!exposed("postgresql://u@%2Frun%2Fpostgresql/shop"));
        assert!(!exposed("postgres://u@db.example/shop?sslmode=verify-full"));
        assert!(exposed("postgres://u:p@db.example/shop?sslmode=disable"));
        assert!(exposed("postgres://u:p@localhost,db.example/shop?sslmode=prefer"));
    }

    #[test]
    fn a_password_is_never_printed() {
        let options: Options = "postgres://me:hunter2@a.example:5433,b.example:5434/shop".parse().expect("an address");
        assert_eq!(options.place(), "a.example:5433,b.example:5434/shop");
        assert!(!format!("{options:?}").contains("hunter2"));
        assert_eq!(options.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
    }

    #[test]
    fn an_address_that_cannot_be_used_says_what_is_missing() {
        for (address, part) in [
            ("mysql://u@h/d", "postgres://user"),
            ("postgres://u@h", "a database"),
            ("postgres://h/d", "a user"),
            ("postgres:///d?user=u", "a host"),
            ("postgres://u:secret@h/d?sslmood=x", "sslmood"),
        ] {
            let error = address.parse::<Options>().expect_err(address).to_string();
            assert!(error.contains(part) && !error.contains("secret"), "{address}: {error}");
        }
    }
}
