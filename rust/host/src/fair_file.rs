//! Where the file of YARN's FairScheduler is, from the value of
//! `yarn.scheduler.fair.allocation.file`, as the FairScheduler itself understands it.

use serde_json::{Value, json};

/// File systems from which YARN's FairScheduler takes its file; case does not count.
const SCHEMES: &[&str] = &["hdfs", "file", "s3a", "viewfs"];

/// Answers `path`, of a local file; or `uri`, of a file on one of Hadoop's file systems; or
/// `resource`, a name on the class path; or `wrong`. A local path is under `file:` whatever the
/// default file system is.
pub(crate) fn find(named: &str) -> Value {
    match split(named) {
        _ if named.is_empty() => json!({ "wrong": "expected the path of a file, found none" }),
        (None, path) if path.starts_with('/') => json!({ "path": path }),
        (None, name) => json!({ "resource": name }),
        (Some(scheme), _) if !is_known(scheme) => {
            let schemes = SCHEMES.join(", ");
            let problem = format!("expected a path or a URI with one of {schemes}, found {named}");
            json!({ "wrong": problem })
        }
        (Some(scheme), path) if is_local(scheme, path) => {
            json!({ "path": format!("/{}", path.trim_start_matches('/')) })
        }
        (Some(_), path) if path.starts_with('/') => json!({ "uri": named }),
        (Some(_), _) => json!({ "wrong": format!("expected an absolute path, found {named}") }),
    }
}

/// The scheme, and what follows its colon.
fn split(named: &str) -> (Option<&str>, &str) {
    match named.split_once(':') {
        Some((scheme, path)) if !scheme.contains('/') => (Some(scheme), path),
        _ => (None, named),
    }
}

fn is_known(scheme: &str) -> bool {
    SCHEMES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(scheme))
}

/// `file:/a` and `file:///a`; not `file://host/a`.
fn is_local(scheme: &str, path: &str) -> bool {
    let absolute = path.starts_with('/') && (!path.starts_with("//") || path.starts_with("///"));
    scheme.eq_ignore_ascii_case("file") && absolute
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of docs/develop/stock-fair.md, section 1.1.
    #[test]
    fn values_mean_what_they_mean_to_the_fair_scheduler() {
        for (named, key, found) in [
            ("fair-scheduler.xml", "resource", "fair-scheduler.xml"),
            ("conf/fair.xml", "resource", "conf/fair.xml"),
            ("/etc/hadoop/fair.xml", "path", "/etc/hadoop/fair.xml"),
            ("/etc/a:b/fair.xml", "path", "/etc/a:b/fair.xml"),
            ("file:/etc/fair.xml", "path", "/etc/fair.xml"),
            ("FILE:///etc/fair.xml", "path", "/etc/fair.xml"),
            (
                "file://host/etc/fair.xml",
                "uri",
                "file://host/etc/fair.xml",
            ),
            (
                "hdfs://nn:8020/conf/fair.xml",
                "uri",
                "hdfs://nn:8020/conf/fair.xml",
            ),
            ("hdfs:///conf/fair.xml", "uri", "hdfs:///conf/fair.xml"),
            ("S3A://bucket/fair.xml", "uri", "S3A://bucket/fair.xml"),
            ("viewfs://c/fair.xml", "uri", "viewfs://c/fair.xml"),
        ] {
            assert_eq!(find(named), json!({ key: found }), "{named}");
        }
        for named in [
            "",
            "ftp://host/fair.xml",
            "http://host/fair.xml",
            "hdfs:fair.xml",
        ] {
            assert!(find(named)["wrong"].is_string(), "{named}");
        }
    }
}
