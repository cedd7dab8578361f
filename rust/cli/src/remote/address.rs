//! Parses the address of a ResourceManager's web interface. Resolves no name and opens no
//! connection.

use crate::failure::Failure;
use std::fmt;
use ureq::http::Uri;

/// `http://HOST:PORT`, and the prefix of a reverse proxy. The prefix is not signed: the proxy
/// strips it, and the signature covers the path that the server sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address(String);

impl Address {
    pub(crate) fn read(url: &str) -> Result<Address, Failure> {
        let wrong = |what: &str, remedy: &str| Failure::usage(what, format!("--url {url}"), remedy);
        let scheme = url
            .split_once("://")
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.as_deref() {
            Some("http") => {}
            Some("https") => {
                return Err(wrong(
                    "https is not built in",
                    "http:// to the near end of a tunnel or of a proxy that speaks https to the \
                     ResourceManager, such as `ssh -L 8088:localhost:8088 RM-HOST`. Secrets are \
                     never sent, and requests cannot be changed on the way, but they can be read",
                ));
            }
            _ => return Err(wrong("that is no address", "http://HOST:PORT")),
        }
        let expected = "http://HOST:PORT, without a user, a query or a fragment";
        let uri: Uri = url
            .parse()
            .map_err(|_| wrong("that is no address", expected))?;
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        if authority.is_empty() || authority.contains('@') || url.contains(['?', '#']) {
            return Err(wrong("that is no address", expected));
        }
        let prefix = uri.path().trim_end_matches('/');
        Ok(Address(format!("http://{authority}{prefix}")))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |url: &str| Address::read(url).map(|address| address.to_string()).ok();
        let same = Some("http://rm:8088".to_string());
        assert_eq!(read("http://rm:8088"), same);
        assert_eq!(read("HTTP://rm:8088/"), same);
        assert_eq!(read("http://[::1]:8088"), Some("http://[::1]:8088".into()));
        assert_eq!(read("http://gate/rm1/"), Some("http://gate/rm1".into()));
        for url in [
            "",
            "rm:8088",
            "ftp://rm",
            "http://",
            "http://u:p@rm",
            "http://rm/?a",
            "http://r m",
        ] {
            assert_eq!(read(url), None, "{url}");
        }
        let https = Address::read("https://rm:8090").unwrap_err().to_string();
        assert!(https.contains("tunnel"), "{https}");
    }
}
