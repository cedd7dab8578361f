//! Numbers and switches as Java and Hadoop's `Configuration` read them. A text that they do not
//! take is `None`.

/// `Integer.parseInt`.
pub(crate) fn int(text: &str) -> Option<i32> {
    text.parse().ok()
}

/// `Long.parseLong`.
pub(crate) fn long(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// `Double.parseDouble`, except hexadecimal numbers; also for `Float.parseFloat`, whose values are
/// nearer to each other than a scheduler can tell.
pub(crate) fn double(text: &str) -> Option<f64> {
    let text = text.trim();
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1.0, size),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    match size {
        "NaN" => return Some(f64::NAN),
        "Infinity" => return Some(sign * f64::INFINITY),
        _ => {}
    }
    let digits = size.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(size);
    // Rust would take `inf` and a second sign, too.
    let starts = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    let number: Option<f64> = digits.parse().ok();
    number
        .filter(|_| starts && digits.chars().all(plain))
        .map(|number| sign * number)
}

/// `Configuration.getInt` and `getLong`, which take hexadecimal numbers.
pub(crate) fn whole(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => ("-", size),
        None => ("", text),
    };
    let hexadecimal = size.strip_prefix("0x").or(size.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) if !digits.starts_with(['+', '-']) => {
            i64::from_str_radix(&format!("{sign}{digits}"), 16).ok()
        }
        Some(_) => None,
        None => long(text),
    }
}

/// `Configuration.getBoolean`.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_java() {
        for (text, expected) in [
            ("1.5", Some(1.5)),
            (" -2 ", Some(-2.0)),
            ("+.5e1", Some(5.0)),
            ("3.f", Some(3.0)),
            ("1D", Some(1.0)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("inf", None),
            ("nan", None),
            ("+-1", None),
            ("1e", None),
            ("d", None),
            ("", None),
            ("1,5", None),
            ("1_0", None),
        ] {
            assert_eq!(double(text), expected, "{text}");
        }
        assert!(double("NaN").is_some_and(f64::is_nan));
        for (text, expected) in [
            ("10", Some(10)),
            (" -0x1f ", Some(-31)),
            ("+7", Some(7)),
            ("0x", None),
            ("0x-1", None),
            ("1.0", None),
            ("9223372036854775808", None),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
        assert_eq!((int("2147483648"), int("-3")), (None, Some(-3)));
        assert_eq!((boolean(" TRUE "), boolean("yes")), (Some(true), None));
    }
}
