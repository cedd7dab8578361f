//! Blind mutations from a seed, for runs without libFuzzer. The same seed gives the same inputs.

use oorandom::Rand64;

/// Longest mutated input.
const BYTES_MAX: usize = 1 << 14;

/// Numbers at which bounds break, as bytes.
const NUMBERS: [u64; 8] = [
    0,
    1,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    u32::MAX as u64,
    i64::MAX as u64,
    u64::MAX,
];

/// Pieces of the grammars that targets read.
const WORDS: [&str; 18] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "null",
    "-1",
    "1e309",
    "<",
    "/>",
    "<!DOCTYPE",
    "&#0;",
    "%00",
    "..",
    "\u{feff}",
    "\\u0000",
    "root.",
    "\n",
];

/// Changes `input` in one to four places; `other` is a second input to splice with.
pub fn mutate(random: &mut Rand64, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.rand_range(0..4) {
        change(random, &mut bytes, other);
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

fn change(random: &mut Rand64, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = below(random, bytes.len() + 1);
    let end = at + below(random, (bytes.len() - at).min(64) + 1);
    match random.rand_range(0..8) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.rand_range(0..8),
        1 if at < bytes.len() => bytes[at] = random.rand_u64() as u8,
        2 => drop(bytes.drain(at..end)),
        3 => {
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        4 => {
            let number = NUMBERS[below(random, NUMBERS.len())].to_le_bytes();
            let width = [1, 2, 4, 8][below(random, 4)].min(bytes.len() - at);
            bytes[at..at + width].copy_from_slice(&number[..width]);
        }
        5 => drop(bytes.splice(at..end, WORDS[below(random, WORDS.len())].bytes())),
        6 => {
            let number = NUMBERS[below(random, NUMBERS.len())].to_string();
            bytes.splice(at..end, number.into_bytes());
        }
        _ => {
            let from = below(random, other.len() + 1);
            bytes.splice(at..end, other[from..].iter().copied());
        }
    }
}

fn below(random: &mut Rand64, end: usize) -> usize {
    random.rand_range(0..end as u64) as usize
}
