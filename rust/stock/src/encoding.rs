//! The encoding of an XML file: its byte order mark, the bytes of `<?`, or its declaration.
//! Hadoop's readers go by these as well.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use heddle_core::config::Fault;

/// The declaration is within the first bytes.
const DECLARATION_MAX: usize = 256;

/// Returns the text of a file. Bytes that mean nothing in its encoding become U+FFFD, which readers
/// refuse with its line.
///
/// # Errors
/// The declared encoding is unknown.
pub fn decode(bytes: &[u8]) -> Result<String, Fault> {
    let encoding = match bytes {
        _ if Encoding::for_bom(bytes).is_some() => UTF_8,
        [b'<', 0, b'?', 0, ..] => UTF_16LE,
        [0, b'<', 0, b'?', ..] => UTF_16BE,
        _ => match declared(bytes) {
            // The web takes the name for that of another encoding, with other controls.
            Some(name) if is_latin_1(name) => {
                return Ok(encoding_rs::mem::decode_latin1(bytes).into_owned());
            }
            Some(name) => Encoding::for_label(name.as_bytes()).ok_or_else(|| {
                let name = heddle_core::config::text::shown(name);
                Fault::new(
                    1,
                    format!("the encoding {name} is not known; save the file as UTF-8"),
                )
            })?,
            None => UTF_8,
        },
    };
    // A byte order mark wins over the encoding.
    Ok(encoding.decode(bytes).0.into_owned())
}

fn is_latin_1(name: &str) -> bool {
    let names = ["iso-8859-1", "iso8859-1", "iso8859_1", "latin1"];
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The name in `<?xml version="1.0" encoding="..."?>`.
fn declared(bytes: &[u8]) -> Option<&str> {
    let start = &bytes[..bytes.len().min(DECLARATION_MAX)];
    let start = start.trim_ascii_start().strip_prefix(b"<?xml")?;
    let end = start.windows(2).position(|pair| pair == b"?>")?;
    let declaration = std::str::from_utf8(&start[..end]).ok()?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split_once(quote).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<allocations><queue name=\"b\u{fc}ro\"/></allocations>";

    fn with(name: &str) -> String {
        format!("<?xml version=\"1.0\" encoding='{name}'?>\n{TEXT}")
    }

    fn utf_16(text: &str, mark: bool, of: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mark = mark.then_some(0xfeff);
        mark.into_iter()
            .chain(text.encode_utf16())
            .flat_map(of)
            .collect()
    }

    #[test]
    fn a_file_is_read_in_the_encoding_that_it_says() {
        let latin = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<u8>>();
        for name in ["ISO-8859-1", "iso-8859-1", "windows-1252"] {
            assert_eq!(
                decode(&latin(&with(name))).as_deref(),
                Ok(with(name).as_str())
            );
        }
        for name in ["UTF-8", "utf-8"] {
            assert_eq!(
                decode(with(name).as_bytes()).as_deref(),
                Ok(with(name).as_str())
            );
        }
        let declared = with("UTF-16");
        for of in [u16::to_le_bytes, u16::to_be_bytes] {
            for mark in [true, false] {
                let bytes = utf_16(&declared, mark, of);
                assert_eq!(decode(&bytes).as_deref(), Ok(declared.as_str()), "{mark}");
            }
            // The mark is enough.
            assert_eq!(decode(&utf_16(TEXT, true, of)).as_deref(), Ok(TEXT));
        }
        let mark = format!("\u{feff}{TEXT}");
        assert_eq!(decode(mark.as_bytes()).as_deref(), Ok(TEXT));
        assert_eq!(decode(TEXT.as_bytes()).as_deref(), Ok(TEXT));
    }

    /// Controls between 0x80 and 0x9f: not the letters that browsers take them for.
    #[test]
    fn iso_8859_1_is_not_windows_1252() {
        let bytes = [with("ISO-8859-1").into_bytes(), vec![0x80]].concat();
        assert!(decode(&bytes).expect("known").ends_with('\u{80}'));
    }

    #[test]
    fn other_bytes_and_encodings_are_refused() {
        let latin: Vec<u8> = TEXT.chars().map(|c| c as u8).collect();
        assert!(decode(&latin).expect("as UTF-8").contains('\u{fffd}'));
        let fault = decode(with("KLINGON").as_bytes()).expect_err("unknown");
        assert!(
            fault.to_string().contains("\"KLINGON\" is not known"),
            "{fault}"
        );
        for bytes in [
            &b""[..],
            b"<",
            b"\0<",
            b"<?xml",
            b"<?xml encoding",
            b"<?xml encoding='?>",
        ] {
            decode(bytes).expect("nothing is declared");
        }
    }
}
