//! The ways to write resources in fair-scheduler.xml. The characters of a text choose the way: `=`
//! for names, else `%` for percentages, else amounts in mb and vcores.

use serde_json::{Map, Value, json};

pub(super) const MEMORY: &str = "memory-mb";
pub(super) const VCORES: &str = "vcores";

/// The largest amount that heddle.json takes, more than any cluster has.
const AMOUNT_MAX: i64 = 1_000_000_000_000;

/// The largest percentage that heddle.json takes.
const PERCENT_MAX: f64 = 1_000_000.0;

/// What a text says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Resources {
    /// Amounts by type.
    Amounts(Vec<(String, i64)>),
    /// One percentage of every type, such as `50%`.
    Every(String),
    /// Percentages of memory and vcores, and nothing of other types.
    Two(String, String),
    /// Percentages by type; other types have no limit.
    Percentages(Vec<(String, String)>),
}

impl Resources {
    /// Whether the vcores are missing where YARN takes them for 0 (stock-fair.md, 4.1).
    pub(super) fn lacks_vcores(&self) -> bool {
        match self {
            Resources::Amounts(amounts) => !amounts.iter().any(|(name, _)| name == VCORES),
            _ => false,
        }
    }

    /// Whether an amount is larger than heddle.json takes.
    pub(super) fn is_cut(&self) -> bool {
        match self {
            Resources::Amounts(amounts) => amounts.iter().any(|(_, amount)| *amount > AMOUNT_MAX),
            _ => false,
        }
    }

    /// The value of a minimum; none for percentages, which YARN does not take there.
    pub(super) fn least(&self) -> Option<Value> {
        match self {
            Resources::Amounts(amounts) => Some(Value::Object(written(amounts))),
            _ => None,
        }
    }

    /// The value of a maximum. `others` are the types besides memory and vcores.
    pub(super) fn most(&self, others: &[String]) -> Value {
        match self {
            Resources::Amounts(amounts) => {
                let mut amounts = written(amounts);
                amounts.entry(VCORES).or_insert(json!(0));
                Value::Object(amounts)
            }
            Resources::Every(percentage) => json!(percentage),
            Resources::Two(memory, vcores) => {
                let mut parts = Map::from_iter([
                    (MEMORY.to_owned(), json!(memory)),
                    (VCORES.to_owned(), json!(vcores)),
                ]);
                parts.extend(others.iter().map(|name| (name.clone(), json!(0))));
                Value::Object(parts)
            }
            Resources::Percentages(parts) => {
                let parts = parts.iter();
                Value::Object(
                    parts
                        .map(|(name, part)| (name.clone(), json!(part)))
                        .collect(),
                )
            }
        }
    }
}

fn written(amounts: &[(String, i64)]) -> Map<String, Value> {
    let amounts = amounts.iter();
    amounts
        .map(|(name, amount)| (name.clone(), json!(amount.min(&AMOUNT_MAX))))
        .collect()
}

/// Reads a text. `others` are the types besides memory and vcores, if they are known.
///
/// # Errors
/// What was expected.
pub(super) fn parse(text: &str, others: Option<&[String]>) -> Result<Resources, String> {
    if text.contains('=') {
        by_name(text, others)
    } else if text.contains('%') {
        percentages(text)
    } else {
        amounts(text)
    }
}

/// `memory-mb=5120, vcores=2`, or `memory-mb=50%, vcores=25%`.
fn by_name(text: &str, others: Option<&[String]>) -> Result<Resources, String> {
    let as_parts = text.contains('%');
    let mut amounts: Vec<(String, i64)> = Vec::new();
    let mut parts: Vec<(String, String)> = Vec::new();
    for item in text.trim_end_matches(',').split(',') {
        let expected = || "expected NAME=VALUE, with commas between".to_owned();
        let (name, value) = item.split_once('=').ok_or_else(expected)?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || value.is_empty() || value.contains('=') {
            return Err(expected());
        }
        let known = |others: &[String]| others.iter().any(|other| other == name);
        if !matches!(name, MEMORY | VCORES) && !others.is_none_or(known) {
            return Err(format!(
                "{name:?} is no resource type; expected {MEMORY}, {VCORES} or one of \
                 yarn.resource-types"
            ));
        }
        if as_parts {
            let (part, rest) = percentage(value)
                .ok_or("expected a percentage for every type, such as memory-mb=50%, vcores=25%")?;
            if !rest.is_empty() {
                return Err(format!("expected nothing after the percentage of {name}"));
            }
            replace(&mut parts, name, part);
        } else {
            let amount = crate::java::long(value).filter(|amount| *amount >= 0);
            let amount = amount.ok_or("expected whole numbers without a unit, 0 or more")?;
            replace(&mut amounts, name, amount);
        }
    }
    Ok(match as_parts {
        true => Resources::Percentages(parts),
        false => Resources::Amounts(amounts),
    })
}

fn replace<T>(list: &mut Vec<(String, T)>, name: &str, value: T) {
    list.retain(|(before, _)| before != name);
    list.push((name.to_owned(), value));
}

/// `50%`, or `50% memory, 60% cpu`.
fn percentages(text: &str) -> Result<Resources, String> {
    let lower = text.to_lowercase();
    let parts: Vec<&str> = lower.trim_end_matches(',').split(',').collect();
    if let [one] = parts[..] {
        return match percentage(one.trim()) {
            Some((part, "")) => Ok(Resources::Every(part)),
            _ => Err("expected one percentage, such as 50%, or 50% memory, 60% cpu".to_owned()),
        };
    }
    let part = |of: &str| {
        let found = parts.iter().find(|part| part.contains(of));
        let read = found.and_then(|part| percentage(part.trim()));
        match read {
            Some((part, rest)) if rest == of => Ok(part),
            _ => Err(format!(
                "expected percentages as in 50% memory, 60% cpu; found none of {of}"
            )),
        }
    };
    Ok(Resources::Two(part("memory")?, part("cpu")?))
}

/// `5120 mb, 2 vcores`, also without the comma.
fn amounts(text: &str) -> Result<Resources, String> {
    let lower = text.to_lowercase();
    let mut parts: Vec<&str> = lower.trim_end_matches(',').split(',').collect();
    if parts.len() != 2 {
        parts = runs(&lower);
    }
    if parts.len() != 2 {
        return Err("expected memory and vcores, such as 5120 mb, 2 vcores".to_owned());
    }
    let amount = |unit: &str| {
        let found = parts.iter().find(|part| part.contains(unit));
        let (digits, _) = found
            .and_then(|part| number(part.trim()))
            .filter(|(_, rest)| rest.trim_start().starts_with(unit))
            .ok_or_else(|| format!("expected an amount in {unit}, such as 5120 mb, 2 vcores"))?;
        let whole = digits.split('.').next().unwrap_or_default();
        let amount = crate::java::int(whole).filter(|amount| *amount >= 0);
        amount
            .map(i64::from)
            .ok_or_else(|| format!("expected 0 to {} {unit}", i32::MAX))
    };
    Ok(Resources::Amounts(vec![
        (MEMORY.to_owned(), amount("mb")?),
        (VCORES.to_owned(), amount("vcores")?),
    ]))
}

/// Every number with a word after it, anywhere in a text.
fn runs(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let here = &text[at..];
        if let Some((_, rest)) = number(here) {
            let word = rest.trim_start();
            let letters = word.len()
                - word
                    .trim_start_matches(|c: char| c.is_ascii_lowercase())
                    .len();
            if letters > 0 {
                let end = text.len() - word.len() + letters;
                found.push(&text[at..end]);
                at = end;
                continue;
            }
        }
        at += here.chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// Splits `-?digits[.digits]` from the beginning of a text.
fn number(text: &str) -> Option<(&str, &str)> {
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let sign = usize::from(text.starts_with('-'));
    let whole = digits(&text[sign..]);
    if whole == 0 {
        return None;
    }
    let mut end = sign + whole;
    if text[end..].starts_with('.') {
        end += 1 + digits(&text[end + 1..]);
    }
    Some(text.split_at(end))
}

/// Splits a percentage from the beginning of a text, and trims what follows.
fn percentage(text: &str) -> Option<(String, &str)> {
    let (digits, rest) = number(text)?;
    let rest = rest.trim_start().strip_prefix('%')?;
    let percent: f64 = digits.parse().ok()?;
    // `-0%` is 0%.
    let part = match digits.strip_prefix('-') {
        Some(_) if percent < 0.0 => return None,
        Some(_) => "0%".to_owned(),
        None if percent > PERCENT_MAX => format!("{PERCENT_MAX}%"),
        None => format!("{digits}%"),
    };
    Some((part, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts_of(memory: i64, vcores: i64) -> Resources {
        Resources::Amounts(vec![
            (MEMORY.to_owned(), memory),
            (VCORES.to_owned(), vcores),
        ])
    }

    /// The table of docs/develop/stock-fair.md, section 4.
    #[test]
    fn every_way_to_write_resources_is_read_as_yarn_reads_it() {
        for text in [
            "5120 mb, 2 vcores",
            "2vcores,5120mb",
            "5120 Mb 2 vCores",
            "5120.9 mb, 2. vcores",
            "5120mb   mb, 2 vcores",
            "5120 mb, 2 vcores,",
            "2 vcores and 5120 mb",
        ] {
            assert_eq!(parse(text, None), Ok(amounts_of(5120, 2)), "{text}");
        }
        assert_eq!(parse("-0.5 mb, 2 vcores", None), Ok(amounts_of(0, 2)));
        let every = |part: &str| Ok(Resources::Every(part.to_owned()));
        assert_eq!(parse("50%", None), every("50%"));
        assert_eq!(parse(" 50.5 % ", None), every("50.5%"));
        assert_eq!(parse("150%", None), every("150%"));
        assert_eq!(parse("9999999%", None), every("1000000%"));
        for text in [
            "50% memory, 60% cpu",
            "60%cpu,50%Memory",
            "60 % cpu, 1, 50 % memory",
        ] {
            let two = Resources::Two("50%".to_owned(), "60%".to_owned());
            assert_eq!(parse(text, None), Ok(two), "{text}");
        }
        assert_eq!(
            parse("vcores=2, memory-mb=5120,", None),
            Ok(Resources::Amounts(vec![
                (VCORES.to_owned(), 2),
                (MEMORY.to_owned(), 5120)
            ]))
        );
        assert_eq!(
            parse("memory-mb=1, memory-mb=+7, gpu=3,vcores=2", None),
            Ok(Resources::Amounts(vec![
                (MEMORY.to_owned(), 7),
                ("gpu".to_owned(), 3),
                (VCORES.to_owned(), 2)
            ]))
        );
        assert_eq!(
            parse("memory-mb=50 %", None),
            Ok(Resources::Percentages(vec![(
                MEMORY.to_owned(),
                "50%".to_owned()
            )]))
        );
    }

    #[test]
    fn what_yarn_refuses_is_refused() {
        for text in [
            "5120 mb",
            "5120 mb, 2 vcores, 1 gpu",
            "5120, 2",
            "-5 mb, 2 vcores",
            "3000000000 mb, 1 vcores",
            "50% memory",
            "50% memory, 60% vcores",
            "1024 mb, 50% cpu",
            ".5%",
            "-1%",
            "50%%",
            "memory-mb=50%, vcores=4",
            "memory-mb=5 g",
            "memory-mb=-5",
            "memory-mb=1.5",
            "memory-mb=",
            "=5",
            "a=1=2",
            ",memory-mb=1",
            "memory-mb=1,,vcores=1",
            "",
            "mb vcores",
        ] {
            assert!(parse(text, None).is_err(), "{text}");
        }
        let others = ["gpu".to_owned()];
        for text in ["memory=5120", "Memory-MB=5120", "fpga=1%"] {
            let fault = parse(text, Some(&others)).expect_err(text);
            assert!(fault.contains("yarn.resource-types"), "{fault}");
        }
        assert!(parse("gpu=1", Some(&others)).is_ok());
    }

    #[test]
    fn missing_types_have_the_amounts_that_yarn_gives_them() {
        let read = |text: &str| parse(text, None).expect(text);
        let others = ["gpu".to_owned()];
        let most = |text: &str| read(text).most(&others);
        assert_eq!(
            most("memory-mb=4096"),
            json!({"memory-mb": 4096, "vcores": 0})
        );
        assert_eq!(most("vcores=4"), json!({"vcores": 4}));
        assert_eq!(most("50%"), json!("50%"));
        let two = json!({"memory-mb": "50%", "vcores": "60%", "gpu": 0});
        assert_eq!(most("50% memory, 60% cpu"), two);
        assert_eq!(most("gpu=5%"), json!({"gpu": "5%"}));
        assert_eq!(read("50%").least(), None);
        assert_eq!(read("gpu=2").least(), Some(json!({"gpu": 2})));
        let cut = read("memory-mb=9223372036854775807,vcores=1");
        assert!(cut.is_cut() && !read("50%").is_cut());
        assert_eq!(
            cut.least(),
            Some(json!({"memory-mb": AMOUNT_MAX, "vcores": 1}))
        );
    }
}
