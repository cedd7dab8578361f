//! Parses the numbers of the interface: credits and rates to the millionth, times in milliseconds.
//! Avoids floating point, so there is no NaN and no infinity, and each number is rounded at most
//! once. The money type is the core's.

use crate::auth::refusal::{Refusal, malformed};
use heddle_core::words::credits::Credits;

const DECIMALS: usize = 6;
/// Digits of whole credits: `Credits::MAX` has ten.
const WHOLE_DIGITS_MAX: usize = 10;
/// The longest text, with room for leading and trailing zeros.
const LENGTH_MAX: usize = 40;
/// Milliseconds since 1970 in 15 digits reach beyond the year 30000.
const TIME_DIGITS_MAX: usize = 15;

/// Parses credits, or credits per slot and interval: digits with at most one point, such as `12`,
/// `0.05`, `.5`. Accepts no sign, exponent or blank, and at most six decimals.
///
/// # Errors
///
/// The text is no such number, or exceeds 1e9 credits; the message names `what`.
pub fn credits(what: &str, text: &str) -> Result<Credits, Refusal> {
    let refused = || {
        malformed(
            what,
            "a number of credits from 0 to 1000000000 in plain digits, with at most 6 decimals",
        )
    };
    let (whole, decimals) = digits(text).ok_or_else(refused)?;
    let (whole, decimals) = (
        whole.trim_start_matches('0'),
        decimals.trim_end_matches('0'),
    );
    if whole.len() > WHOLE_DIGITS_MAX || decimals.len() > DECIMALS {
        return Err(refused());
    }
    let micro = format!("{whole}{decimals:0<DECIMALS$}");
    let micro: i64 = micro.parse().expect("at most 16 digits, and at least 6");
    if micro > Credits::MAX.micro() {
        return Err(refused());
    }
    Ok(Credits::from_micro(micro))
}

/// Parses credits of the published interface, which takes floating point. Unlike `credits`, accepts
/// an exponent, as Java writes `5.0E-4`, and more decimals, as it writes the sum of 0.1 and 0.2.
/// Rounds once, from the decimal digits, to the nearest millionth, halves up.
///
/// # Errors
///
/// Like `credits`; also if a positive number would be rounded to 0.
pub fn published_credits(what: &str, text: &str) -> Result<Credits, Refusal> {
    let refused = || {
        malformed(
            what,
            "a number of credits from 0 to 1000000000, such as 0.5 or 5.0E-1, and not below a \
             millionth but 0",
        )
    };
    if text.len() > LENGTH_MAX {
        return Err(refused());
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        None => (text, Some(0)),
        Some((mantissa, exponent)) => (mantissa, exponent_of(exponent)),
    };
    let (whole, decimals) = digits(mantissa).ok_or_else(refused)?;
    let exponent = exponent.ok_or_else(refused)?;
    let all = format!("{whole}{decimals}");
    let significant = all.trim_start_matches('0');
    if significant.is_empty() {
        return Ok(Credits::ZERO);
    }
    // Number of significant digits that are whole millionths.
    let zeros = all.len() - significant.len();
    let wholes = whole.len() as i32 - zeros as i32 + exponent + DECIMALS as i32;
    let wholes = usize::try_from(wholes).map_err(|_| refused())?;
    if wholes > WHOLE_DIGITS_MAX + DECIMALS {
        return Err(refused());
    }
    let kept = &significant[..wholes.min(significant.len())];
    let micro: i64 = format!("0{kept:0<wholes$}")
        .parse()
        .expect("at most 17 digits");
    let up = significant
        .as_bytes()
        .get(wholes)
        .is_some_and(|digit| *digit >= b'5');
    match micro + i64::from(up) {
        micro if (1..=Credits::MAX.micro()).contains(&micro) => Ok(Credits::from_micro(micro)),
        _ => Err(refused()),
    }
}

/// Splits a text at its point; `None` if it has anything except digits, or is too long.
fn digits(text: &str) -> Option<(&str, &str)> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let some = !whole.is_empty() || !decimals.is_empty();
    (some && text.len() <= LENGTH_MAX && digits(whole) && digits(decimals))
        .then_some((whole, decimals))
}

/// Parses an exponent: an optional sign, and one to three digits.
fn exponent_of(text: &str) -> Option<i32> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let value: i32 = digits.parse().ok().filter(|_| plain && digits.len() <= 3)?;
    Some(sign * value)
}

/// Formats credits: the shortest text that `credits` reads as this amount.
pub fn credits_text(credits: Credits) -> String {
    micro_text(i128::from(credits.micro()))
}

/// Formats millionths of a credit as decimals, without needless zeros: `12`, `0.5`, `-0.000001`.
/// Accepts sums and differences, too, which are no `Credits`.
pub fn micro_text(micro: i128) -> String {
    let (whole, rest) = (
        micro.unsigned_abs() / 1_000_000,
        micro.unsigned_abs() % 1_000_000,
    );
    let text = format!("{whole}.{rest:0>DECIMALS$}");
    let shorter = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{shorter}", if micro < 0 { "-" } else { "" })
}

/// Parses milliseconds since 1970: digits without a sign and without leading zeros, so that every
/// time has one spelling.
///
/// # Errors
///
/// The text is no such number; the message names `what`.
pub fn time_ms(what: &str, text: &str) -> Result<u64, Refusal> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if digits && text.len() <= TIME_DIGITS_MAX && !text.starts_with('0') {
        text.parse()
            .map_err(|_| malformed(what, "milliseconds since 1970"))
    } else {
        Err(malformed(what, "milliseconds since 1970, in plain digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn micro(text: &str) -> Option<i64> {
        credits("rate", text).ok().map(Credits::micro)
    }

    #[test]
    fn plain_numbers_are_exact() {
        assert_eq!(micro("0"), Some(0));
        assert_eq!(micro("0.1"), Some(100_000));
        assert_eq!(micro(".5"), Some(500_000));
        assert_eq!(micro("5."), Some(5_000_000));
        assert_eq!(micro("0.000001"), Some(1));
        assert_eq!(micro("1000000000"), Some(1_000_000_000_000_000));
        assert_eq!(micro("0000000000000000012.5000000000"), Some(12_500_000));
        // Floating point would change this number.
        assert_eq!(micro("999999999.999999"), Some(999_999_999_999_999));
    }

    #[test]
    fn everything_else_is_refused() {
        let refused = [
            "",
            ".",
            " ",
            "-1",
            "-0",
            "+1",
            "NaN",
            "nan",
            "inf",
            "Infinity",
            "-inf",
            "1e3",
            "1E3",
            "1e-7",
            "1e309",
            "0x10",
            "0b1",
            "1_000",
            "1,5",
            "1.2.3",
            "1..2",
            "1 ",
            " 1",
            "1f",
            "1d",
            "0.0000001",
            "0.0000005",
            "1000000000.000001",
            "1000000001",
            "99999999999",
            "\u{661}",
            "18446744073709551616",
            "9223372036854775808",
            "1\0",
            "1\n",
            "\u{ff11}",
            "1\u{200b}",
        ];
        for text in refused {
            assert_eq!(micro(text), None, "{text:?}");
        }
        assert_eq!(micro(&"0".repeat(41)), None);
        assert_eq!(micro(&"9".repeat(100_000)), None);
        let said = credits("rate", "NaN").expect_err("refused").to_string();
        assert!(
            said.starts_with("rate: expected a number of credits"),
            "{said}"
        );
    }

    fn published(text: &str) -> Option<i64> {
        published_credits("rate", text).ok().map(Credits::micro)
    }

    /// The output of Java's `Double.toString` and `Float.toString` (their documentation says when
    /// they write an exponent), and of Python's `repr`.
    #[test]
    fn numbers_of_published_clients_are_read() {
        assert_eq!(published("5.0E-4"), Some(500));
        assert_eq!(published("1.0E-6"), Some(1));
        assert_eq!(published("1.0E7"), Some(10_000_000_000_000));
        assert_eq!(published("1.0E9"), Some(1_000_000_000_000_000));
        assert_eq!(published("9.99999999999999E8"), Some(999_999_999_999_999));
        assert_eq!(published("0.0"), Some(0));
        assert_eq!(published("0.0E999"), Some(0));
        assert_eq!(published("5e-05"), Some(50));
        assert_eq!(published("1.25e+02"), Some(125_000_000));
        assert_eq!(published("0.30000000000000004"), Some(300_000));
        // As a float, 0.1 is 0.100000001490116...; as text, it is 0.1.
        assert_eq!(published("0.1"), Some(100_000));
        assert_eq!(published("999999999.9999994"), Some(999_999_999_999_999));
        assert_eq!(published("5.0E-7"), Some(1), "halves up");
        assert_eq!(published("1.4999999E-6"), Some(1));
        assert_eq!(published("0.0000000000001E13"), Some(1_000_000));
        assert_eq!(published("1000000000000E-12"), Some(1_000_000));
    }

    #[test]
    fn what_is_no_amount_is_refused_of_published_clients_too() {
        let refused = [
            "",
            ".",
            "E",
            "E5",
            "e-4",
            ".E1",
            "5.0E",
            "5.0E-",
            "5.0E+-4",
            "5.0E--4",
            "5.0E 4",
            "5.0E4.0",
            "5E4E4",
            "5.0E-0004",
            "5.0E99999999999",
            "NaN",
            "Infinity",
            "-Infinity",
            "inf",
            "-5.0E-4",
            "-0.0",
            "+1",
            " 1",
            "1 ",
            "1f",
            "1d",
            "0x1p3",
            "1,5",
            "4.9E-324",
            "4.999999E-7",
            "1.0E-7",
            "1.0E10",
            "1.000000001E9",
            "1000000000.0000005",
            "1.7976931348623157E308",
            "3.4028235E38",
            "1E999",
            "\u{661}",
            "5.0E\u{661}",
        ];
        for text in refused {
            assert_eq!(published(text), None, "{text:?}");
        }
        assert_eq!(published(&"0".repeat(41)), None);
        assert_eq!(published(&format!("1{}", "0".repeat(100_000))), None);
        assert_eq!(published(&format!("0E{}", "0".repeat(100_000))), None);
    }

    #[test]
    fn times_have_one_spelling() {
        assert_eq!(time_ms("timestamp", "1234567890123"), Ok(1_234_567_890_123));
        for text in [
            "",
            "0",
            "01",
            "+1",
            "-1",
            "1.0",
            "1e3",
            " 1",
            "1234567890123456",
            "\u{661}",
        ] {
            assert!(time_ms("timestamp", text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_amount_is_written_and_read(amount in 0..=Credits::MAX.micro()) {
            let text = credits_text(Credits::from_micro(amount));
            prop_assert_eq!(micro(&text), Some(amount));
            let spelt = format!("{}.{:06}", amount / 1_000_000, amount % 1_000_000);
            prop_assert_eq!(micro(&spelt), Some(amount));
        }

        /// Compares with the definition: digits times a power of ten, in a wide enough integer.
        #[test]
        fn an_exponent_means_a_power_of_ten(
            whole in 0u64..100_000_000, decimals in "[0-9]{0,9}", exponent in -20i32..12,
        ) {
            let text = format!("{whole}.{decimals}E{exponent}");
            let digits: u128 = format!("{whole}{decimals}").parse().expect("digits");
            let power = exponent + 6 - decimals.len() as i32;
            let scale = 10u128.pow(power.unsigned_abs());
            let micro = match power {
                0.. => digits * scale,
                _ => (digits + scale / 2) / scale,
            };
            let fits = micro <= Credits::MAX.micro() as u128 && (micro > 0 || digits == 0);
            prop_assert_eq!(published(&text).map(|m| m as u128), fits.then_some(micro), "{}", text);
        }

        #[test]
        fn plain_numbers_are_the_same_in_both_interfaces(text in "[0-9.]{0,20}") {
            if let Some(plain) = micro(&text) {
                prop_assert_eq!(published(&text), Some(plain));
            }
        }

        #[test]
        fn anything_is_a_number_or_refused(text in "[0-9.eE+\\- ]{0,45}|\\PC*") {
            let _ = published(&text);
        }

        /// Compares with the definition of decimal notation, digit by digit.
        #[test]
        fn what_is_read_is_what_is_written(text in "[0-9.eE+\\- ]{0,20}") {
            let points = text.matches('.').count();
            let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.')
                && points <= 1 && text.len() > points;
            let decimals = text.split_once('.').map_or("", |(_, decimals)| decimals);
            let scaled = text.chars().filter(char::is_ascii_digit)
                .fold(0u128, |sum, c| sum * 10 + u128::from(c as u8 - b'0')) * 1_000_000;
            let unit = 10u128.pow(decimals.len() as u32);
            let most = Credits::MAX.micro() as u128;
            let fits = plain && scaled % unit == 0 && scaled / unit <= most;
            prop_assert_eq!(micro(&text).map(|m| m as u128), fits.then(|| scaled / unit));
        }
    }
}
