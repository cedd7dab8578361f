//! Amounts of credits in answers: an exact decimal text, and millionths as an integer beside it. So
//! no reader depends on a floating point number. `crate::auth::amount` reads the amounts of
//! requests.

use crate::auth::amount::micro_text;
use serde_json::{Map, Value};

const MICRO: f64 = 1_000_000.0;

/// Formats millionths as decimals, without needless zeros: `12`, `0.5`, `-0.000001`.
pub(crate) fn text(micro: i64) -> String {
    micro_text(i128::from(micro))
}

/// Formats like a `float` of the published server, always with a decimal point; unlike it, never
/// rounded and never with an exponent.
pub(crate) fn published(micro: i64) -> String {
    let text = text(micro);
    match text.contains('.') {
        true => text,
        false => format!("{text}.0"),
    }
}

/// Converts an amount that the engine reports as a number of credits to millionths.
pub(crate) fn micro_of(credits: &Value) -> i64 {
    let micro = credits.as_f64().unwrap_or(0.0) * MICRO;
    // A conversion with `as` stays within the range of integers, and turns NaN into 0.
    micro.round() as i64
}

/// Puts an amount under `name`, and its millionths under `name_micro`.
pub(crate) fn put(object: &mut Map<String, Value>, name: &str, micro: i64) {
    object.insert(name.to_string(), text(micro).into());
    object.insert(format!("{name}_micro"), micro.into());
}

/// Puts null under both names, where there is no amount.
pub(crate) fn put_nothing(object: &mut Map<String, Value>, name: &str) {
    object.insert(name.to_string(), Value::Null);
    object.insert(format!("{name}_micro"), Value::Null);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::amount::credits;
    use heddle_core::words::credits::Credits;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact_and_short() {
        let cases = [
            (0, "0", "0.0"),
            (1, "0.000001", "0.000001"),
            (500_000, "0.5", "0.5"),
            (12_000_000, "12", "12.0"),
            (1_230_000, "1.23", "1.23"),
            (-1_500_000, "-1.5", "-1.5"),
            (i64::MAX, "9223372036854.775807", "9223372036854.775807"),
            (i64::MIN, "-9223372036854.775808", "-9223372036854.775808"),
        ];
        for (micro, plain, old) in cases {
            assert_eq!(
                (text(micro).as_str(), published(micro).as_str()),
                (plain, old)
            );
        }
    }

    proptest! {
        /// The engine reports floating point numbers; they are exact up to the largest balance.
        #[test]
        fn every_amount_survives_the_engines_numbers(micro in 0..=Credits::MAX.micro()) {
            let amount = Credits::from_micro(micro);
            prop_assert_eq!(micro_of(&amount.to_number().into()), micro);
            prop_assert_eq!(credits("x", &text(micro)), Ok(amount));
        }
    }
}
