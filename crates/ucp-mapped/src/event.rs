//! Signatures of the shop's events.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ucp_contract::http::{SigningSecret, unhex};
use ucp_core::{Code, Refusal, ports::Notice};

use super::{
    file::{Encoding, Signature},
    source::{SourceError, Surroundings},
};

/// Signature of the events of a shop. `Debug` does not print the secret.
pub(super) struct EventSignature {
    header: String,
    prefix: String,
    encoding: Encoding,
    secret: SigningSecret,
}
ucp_core::opaque!(EventSignature { header });

impl EventSignature {
    /// Looks the secret up. Fails with [`SourceError::Secret`] if it is not stated.
    pub(super) fn open(signature: &Signature, around: &Surroundings<'_>) -> Result<Self, SourceError> {
        let Signature { header, secret, prefix, encoding } = signature;
        let found = (around.secret)(secret).filter(|secret| !secret.is_empty());
        let found = found
            .ok_or_else(|| SourceError::Secret { source_name: "order_event".to_owned(), secret: secret.clone() })?;
        let (header, prefix) = (header.to_ascii_lowercase(), prefix.clone());
        Ok(Self { header, prefix, encoding: *encoding, secret: SigningSecret::new(&found) })
    }

    /// Checks that a notice is the shop's, in a time that does not depend on where the HMACs differ. Fails with
    /// [`SignatureMissing`](Code::SignatureMissing) or [`SignatureInvalid`](Code::SignatureInvalid).
    pub(super) fn verify(&self, notice: &Notice<'_>) -> Result<(), Refusal> {
        let accepted = format!("the HMAC-SHA256 of the body in `{}`, as the mapping describes it", self.header);
        let stated = notice.header(&self.header).ok_or_else(|| {
            Refusal::new(Code::SignatureMissing, "An event must be signed by the shop.").accepting(accepted.clone())
        })?;
        let digest = stated.strip_prefix(&*self.prefix).and_then(|stated| match self.encoding {
            Encoding::Hex => unhex(stated),
            Encoding::Base64 => STANDARD.decode(stated).ok(),
        });
        if digest.is_some_and(|digest| self.secret.has_signed(notice.body, &digest)) {
            return Ok(());
        }
        let content = format!("`{}` must be the HMAC of this body under the shared secret.", self.header);
        Err(Refusal::new(Code::SignatureInvalid, content).accepting(accepted))
    }
}
