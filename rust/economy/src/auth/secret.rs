//! Shared secrets and their signatures: HMAC-SHA1 and HMAC-SHA256. The `hmac` crate compares
//! signatures in constant time. Knows nothing of the signed texts.

use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::Sha256;
use std::fmt;

/// Shorter secrets can be found by guessing, offline, from one observed signature.
const BYTES_ADVISED: usize = 16;

/// A secret that a user shares with the server. Never shown: it has no `Display`, and its `Debug`
/// hides it.
#[derive(Clone)]
pub struct Secret(Box<[u8]>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// The hash function of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    /// As published (DP-36).
    Sha1,
    /// For version 2.
    Sha256,
}

impl Secret {
    /// Takes the bytes from the file; HMAC accepts any number of them.
    pub fn new(bytes: &[u8]) -> Secret {
        Secret(bytes.into())
    }

    /// Tells whether it may be guessed, so that failures must limit correct signatures, too.
    pub(crate) fn is_short(&self) -> bool {
        self.0.len() < BYTES_ADVISED
    }

    /// The secret that stands in for an unknown user, so that a check takes as long. Its signatures
    /// count for nothing, even though any caller can compute them.
    pub(crate) fn of_nobody() -> Secret {
        Secret::new(&[0x5a; 32])
    }

    /// Signs `text`.
    pub(crate) fn sign(&self, hash: Hash, text: &[u8]) -> Vec<u8> {
        match hash {
            Hash::Sha1 => self
                .mac::<Hmac<Sha1>>(text)
                .finalize()
                .into_bytes()
                .to_vec(),
            Hash::Sha256 => self
                .mac::<Hmac<Sha256>>(text)
                .finalize()
                .into_bytes()
                .to_vec(),
        }
    }

    /// Checks `signature` against `text`, in a time that does not reveal where they differ.
    pub(crate) fn proves(&self, hash: Hash, text: &[u8], signature: &[u8]) -> bool {
        match hash {
            Hash::Sha1 => self.mac::<Hmac<Sha1>>(text).verify_slice(signature).is_ok(),
            Hash::Sha256 => self
                .mac::<Hmac<Sha256>>(text)
                .verify_slice(signature)
                .is_ok(),
        }
    }

    fn mac<M: Mac + KeyInit>(&self, text: &[u8]) -> M {
        let mut mac = <M as Mac>::new_from_slice(&self.0).expect("HMAC takes any key");
        mac.update(text);
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// RFC 2202, section 3, test cases 1, 2, 3 and 6 (a key longer than a block).
    #[test]
    fn the_published_vectors_of_hmac_sha1() {
        let signed = |key: &[u8], text: &[u8]| hex(&Secret::new(key).sign(Hash::Sha1, text));
        assert_eq!(
            signed(&[0x0b; 20], b"Hi There"),
            "b617318655057264e28bc0b6fb378c8ef146be00"
        );
        assert_eq!(
            signed(b"Jefe", b"what do ya want for nothing?"),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
        );
        assert_eq!(
            signed(&[0xaa; 20], &[0xdd; 50]),
            "125d7342b9ac11cd91a39af48aa17b4f63f175d3"
        );
        assert_eq!(
            signed(
                &[0xaa; 80],
                b"Test Using Larger Than Block-Size Key - Hash Key First"
            ),
            "aa4ae5e15272d00e95705637ce8a3b55ed402112"
        );
    }

    /// RFC 4231, test cases 1, 2, 3 and 6.
    #[test]
    fn the_published_vectors_of_hmac_sha256() {
        let signed = |key: &[u8], text: &[u8]| hex(&Secret::new(key).sign(Hash::Sha256, text));
        assert_eq!(
            signed(&[0x0b; 20], b"Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            signed(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            signed(&[0xaa; 20], &[0xdd; 50]),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        );
        assert_eq!(
            signed(
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First"
            ),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn a_shorter_or_longer_signature_proves_nothing() {
        let secret = Secret::new(b"key");
        for hash in [Hash::Sha1, Hash::Sha256] {
            let signature = secret.sign(hash, b"text");
            assert!(secret.proves(hash, b"text", &signature));
            for length in 0..signature.len() {
                assert!(!secret.proves(hash, b"text", &signature[..length]));
            }
            let longer = [signature.as_slice(), &[0]].concat();
            assert!(!secret.proves(hash, b"text", &longer));
        }
    }

    #[test]
    fn a_secret_is_not_shown() {
        let shown = format!(
            "{:?} {:#?}",
            Secret::new(b"hunter2"),
            Secret::new(b"hunter2")
        );
        assert!(!shown.contains("hunter"), "{shown}");
        assert!(!shown.contains("104"), "{shown}");
    }
}
