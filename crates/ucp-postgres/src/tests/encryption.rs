//! Encrypted connections: the server has to show a certificate for its name, from an authority that is trusted.

use std::{error::Error, iter::successors};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use ucp_core::ShopId;
use ucp_testkit::postgres::{self, Cluster};

use crate::{OpenError, Options, PostgresStore};

/// An authority, and a server that it has certified under a name.
fn certified(name: &str) -> Option<(String, Cluster)> {
    postgres::database()?;
    let authority_key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = authority.self_signed(&authority_key).expect("a certificate").pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().expect("a key");
    let server = CertificateParams::new([name.to_owned()]).expect("parameters");
    let server = server.signed_by(&key, &issuer).expect("a certificate").pem();
    Some((root, Cluster::start_with_certificate(&server, &key.serialize_pem())?))
}

/// Opens the database under the name `localhost`.
async fn open(cluster: &Cluster, root: Option<&str>, parameters: &str) -> Result<PostgresStore, OpenError> {
    let url = cluster.url("postgres").replace("127.0.0.1", "localhost");
    let mut options: Options = format!("{url}?{parameters}").parse().expect("an address");
    if let Some(root) = root {
        options.trust(root.as_bytes()).expect("certificates");
    }
    PostgresStore::open(&options, ShopId::default()).await
}

fn chain(error: &dyn Error) -> String {
    successors(Some(error), |error| (*error).source()).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// `true` if the connections of gateways are encrypted.
const ENCRYPTED: &str = "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
    WHERE application_name = 'ucp-gateway' AND pid <> pg_backend_pid()";

#[tokio::test]
async fn a_server_is_spoken_to_in_secret_if_its_authority_is_trusted() {
    let Some((root, cluster)) = certified("localhost") else { return };
    for mode in ["sslmode=require", "sslmode=verify-full"] {
        let store = open(&cluster, Some(&root), mode).await.expect("opens");
        store.ping().await.expect("answers");
        assert_eq!(cluster.psql(ENCRYPTED), "t", "{mode}");
    }
    let refused = open(&cluster, None, "sslmode=require").await.expect_err("nobody knows the authority");
    assert!(chain(&refused).contains("certificate"), "{}", chain(&refused));
    let own = open(&cluster, None, "sslmode=disable").await.expect("opens");
    own.ping().await.expect("answers");
    assert!(cluster.psql(ENCRYPTED).contains('f'), "without encryption only if the address says so");
}

#[tokio::test]
async fn a_server_with_the_certificate_of_another_name_is_refused() {
    let Some((root, cluster)) = certified("elsewhere.example") else { return };
    let refused = open(&cluster, Some(&root), "sslmode=require").await.expect_err("it is another server's");
    assert!(chain(&refused).contains("certificate"), "{}", chain(&refused));
}
