//! One number for all answers of a replay, to compare replays in several languages.

/// FNV-1a, 64 bits: small enough to be written the same way in C and Java.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// The digest of no bytes.
    pub const EMPTY: Digest = Digest(0xcbf2_9ce4_8422_2325);

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Adds an error by its code.
    pub fn update_error(&mut self, code: i32) {
        self.update(&i64::from(code).to_le_bytes());
    }

    /// The digest of all bytes so far.
    pub fn value(self) -> u64 {
        self.0
    }
}
