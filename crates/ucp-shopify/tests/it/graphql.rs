//! A server in the place of a shop behind the Storefront API.
//!
//! It knows nothing of GraphQL: what a request is about it tells from the name of the operation and its variables.

use std::{future::Future, io};

use http::HeaderMap;
use serde_json::Value;
use ucp_testkit::{Host, host::Peer};

/// Request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) operation: String,
    pub(crate) variables: Value,
    pub(crate) headers: HeaderMap,
}

/// Starts a server that answers every request with what `answer` writes to the caller; it hangs up where that is an
/// error.
pub(crate) async fn serve<F, R>(answer: F) -> Host
where
    F: Fn(Peer, Asked) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = io::Result<Peer>> + Send + 'static,
{
    Host::start(move |mut peer| {
        let answer = answer.clone();
        async move {
            loop {
                let request = peer.request().await?;
                assert!(request.uri().path().ends_with("/graphql.json"), "{}", request.uri());
                let body: Value = serde_json::from_slice(request.body()).expect("JSON");
                let query = body["query"].as_str().expect("a document");
                let after =
                    query.split_once("query ").or_else(|| query.split_once("mutation ")).expect("an operation").1;
                let operation =
                    after.split(|letter: char| !letter.is_alphanumeric()).next().expect("a name").to_owned();
                let asked =
                    Asked { operation, variables: body["variables"].clone(), headers: request.headers().clone() };
                peer = answer(peer, asked).await?;
            }
        }
    })
    .await
}

/// Answers with a document.
pub(crate) async fn document(peer: &mut Peer, document: &Value) -> io::Result<()> {
    peer.answer(200, &[("content-type", "application/json")], document.to_string()).await
}
