//! The header `Accept` (RFC 9110, section 12.5.1): picks the client's preferred type among those
//! that a route offers. Ignores unreadable parts, because it only chooses a format.

/// The longest header; the rest is ignored.
const LENGTH_MAX: usize = 2_048;

/// Returns the first of `offered` with the client's highest preference; `None` if the client
/// accepts none of them. Without a header, every type is acceptable.
pub(crate) fn choose(accept: Option<&str>, offered: &[&'static str]) -> Option<&'static str> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return offered.first().copied();
    };
    let end = accept.len().min(LENGTH_MAX);
    let accept = accept.get(..end).unwrap_or("*/*");
    let liked = |offer: &&'static str| (quality(accept, offer), *offer);
    let mut best: Option<(u32, &'static str)> = None;
    for (quality, offer) in offered.iter().map(liked) {
        if quality > best.map_or(0, |(quality, _)| quality) {
            best = Some((quality, offer));
        }
    }
    best.map(|(_, offer)| offer)
}

/// Returns the preference for a type in thousandths, from the most exact range that covers it.
fn quality(accept: &str, offer: &str) -> u32 {
    let mime = offer.split(';').next().unwrap_or(offer).trim();
    let family = mime.split('/').next().unwrap_or(mime);
    let mut found = (0, 0);
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or("").to_ascii_lowercase();
        let exactness = match name.as_str() {
            "*/*" => 1,
            name if name.strip_suffix("/*") == Some(family) => 2,
            name if name == mime => 3,
            _ => continue,
        };
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        let weight = weight.map_or(1_000, |text| {
            let number = text
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|q| (0.0..=1.0).contains(q));
            number.map_or(0, |number| (number * 1_000.0).round() as u32)
        });
        found = found.max((exactness, weight));
    }
    found.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOTH: &[&str] = &["application/json", "text/csv; charset=utf-8"];

    #[test]
    fn the_most_wanted_type_is_chosen() {
        let (json, csv) = (Some(BOTH[0]), Some(BOTH[1]));
        let cases = [
            (None, json),
            (Some(""), json),
            (Some("*/*"), json),
            (Some("text/csv"), csv),
            (Some("TEXT/CSV"), csv),
            (Some("text/*"), csv),
            (Some("text/html,application/xhtml+xml,*/*;q=0.8"), json),
            (Some("application/json;q=0.5, text/csv;q=0.9"), csv),
            (Some("application/json;q=0, */*"), csv),
            (Some("text/csv;q=0"), None),
            (Some("image/png"), None),
            (Some("application/xml;q=1.0"), None),
            (Some("text/csv;q=NaN"), None),
            (Some(",,;;=,"), None),
        ];
        for (accept, expected) in cases {
            assert_eq!(choose(accept, BOTH), expected, "{accept:?}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_read(accept in "\\PC{0,64}|([a-z*]{0,4}/[a-z*]{0,4};q=[0-9.]{0,4},){0,99}") {
            let _ = choose(Some(&accept), BOTH);
        }
    }
}
