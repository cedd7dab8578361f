//! Requests that a host passes on before its own authentication, because they seem to be signed.
//! Only a correct signature opens anything, and it counts once, as elsewhere.

use crate::common::{NOW, Site, header, market_config, secret, v2_header};
use heddle_economy::auth::canonical::Body;
use heddle_economy::auth::v1;
use heddle_economy::http::{Answer, CONFIGURATION_BYTES_MAX, Request};
use serde_json::json;
use std::net::IpAddr;
use std::time::Duration;

/// Open routes, an unknown path, and foreign paths.
const OPEN: [&str; 12] = [
    "/heddle/v1/price",
    "/heddle/v1/health",
    "/heddle/v1/time",
    "/heddle/v1/openapi.json",
    "/heddle/v1/nothing",
    "/heddle/v1/../../cluster/apps",
    "/heddle/v1/%2e%2e/price",
    "/heddle/",
    "/heddle",
    "/heddle/main.js",
    "/scheduler",
    "/",
];

/// Sends a request with a user of the web server, which must open nothing here.
fn sent(site: &Site, method: &str, path: &str, query: &str, sign: Option<&str>) -> Answer {
    site.send(&Request {
        method,
        path,
        query,
        authorization: sign,
        user: Some("root"),
        signed_only: true,
        ..site.plain()
    })
}

#[test]
fn without_a_right_signature_nothing_is_answered() {
    let site = Site::with(&market_config(), &json!({"trust_web_user": true}));
    let of_bob = v2_header("bob", "GET", "/heddle/v1/queues/bob", "", b"");
    let (start, _) = of_bob.split_once("signature=").expect("the last field");
    let forged = format!("{start}signature={}", "0".repeat(64));
    let wrong = [
        None,
        Some("Negotiate YIIC"),
        Some("Basic cm9vdDpyb290"),
        Some("Heddle-HMAC-SHA256"),
        Some(of_bob.as_str()),
        Some(forged.as_str()),
    ];
    // 429: too many failures from one address.
    for sign in wrong {
        for path in OPEN {
            for method in ["GET", "HEAD", "OPTIONS", "POST"] {
                let answer = sent(&site, method, path, "", sign);
                let refused = matches!(answer.status, 401 | 429);
                assert!(refused, "{method} {path} {sign:?}: {}", answer.status);
                assert!(answer.status != 401 || header(&answer, "WWW-Authenticate").is_some());
            }
        }
    }
    for query in ["price", "time", "infos"] {
        assert_eq!(sent(&site, "GET", "/scheduler", query, None).status, 401);
    }
}

#[test]
fn a_right_signature_opens_what_its_user_may_see_and_counts_once() {
    let site = Site::market();
    let cases = [
        ("alice", "GET", "/heddle/v1/price", 200),
        ("alice", "GET", "/heddle/v1/queues/alice", 200),
        ("alice", "GET", "/heddle/v1/queues/bob", 403),
        ("alice", "GET", "/heddle/v1/configuration", 403),
        ("root", "GET", "/heddle/v1/configuration", 200),
        ("root", "GET", "/heddle/v1/nothing", 404),
    ];
    for (user, method, path, status) in cases {
        let sign = v2_header(user, method, path, "", b"");
        assert_eq!(
            sent(&site, method, path, "", Some(&sign)).status,
            status,
            "{user} {path}"
        );
        assert_eq!(
            sent(&site, method, path, "", Some(&sign)).status,
            401,
            "{user} {path}, again"
        );
    }
}

#[test]
fn a_change_is_made_once() {
    let site = Site::market();
    let (path, body) = ("/heddle/v1/queues/alice/bid", b"{\"rate\": \"0.75\"}");
    let sign = v2_header("alice", "PUT", path, "", body);
    let put = |body: &[u8]| {
        let request = Request {
            method: "PUT",
            path,
            body,
            authorization: Some(&sign),
            signed_only: true,
            ..site.plain()
        };
        site.send(&request).status
    };
    assert_eq!(put(b"{\"rate\": \"9.75\"}"), 401);
    assert_eq!(put(&vec![b' '; CONFIGURATION_BYTES_MAX + 1]), 413);
    assert_eq!(site.rate("root.alice"), Some(2.0));
    assert_eq!(put(body), 200);
    assert_eq!(site.rate("root.alice"), Some(0.75));
    assert_eq!(put(body), 401);
}

/// Compares times: a hash is seen in nothing else.
#[allow(clippy::disallowed_types, clippy::disallowed_methods)]
fn least(mut run: impl FnMut()) -> Duration {
    let times = (0..10).map(|_| {
        let began = std::time::Instant::now();
        run();
        began.elapsed()
    });
    times.min().unwrap_or_default()
}

#[test]
fn a_long_body_without_proof_is_not_hashed() {
    let site = Site::market();
    let (path, long) = ("/heddle/v1/nothing", vec![b' '; CONFIGURATION_BYTES_MAX]);
    let put = |last: u8, sign: Option<&str>, body: &[u8]| {
        let request = Request {
            method: "PUT",
            path,
            body,
            authorization: sign,
            address: Some(IpAddr::from([192, 0, 2, last])),
            signed_only: true,
            ..site.plain()
        };
        site.send(&request).status
    };
    // 20 failures are allowed to an address, 10 in the name of one user.
    for at in 0..20 {
        let sign = v2_header(&format!("guess{at}"), "PUT", path, "", b"");
        assert_eq!(put(1, Some(&sign), b"another"), 401);
    }
    let hashed = least(|| assert_eq!(Body::of(&long).len(), long.len()));
    let sign = v2_header("alice", "PUT", path, "", b"");
    for (last, sign, status) in [(1, Some(sign.as_str()), 429), (2, None, 401)] {
        let refused = least(|| assert_eq!(put(last, sign, &long), status));
        assert!(refused < hashed / 2, "{refused:?} of {hashed:?}");
    }
}

/// Version 1 signs the query only, so it is valid on the published interface only.
#[test]
fn published_signatures_are_for_the_published_interface() {
    let site = Site::market();
    let text = v1::signed_text("setSpending=0.5&queue=alice", "alice", &NOW.to_string());
    let sign = v1::header(&v1::signature(&secret("alice"), &text));
    let other = sent(&site, "GET", "/heddle/v1/price", &text, Some(&sign));
    assert_eq!(other.status, 401);
    let changed = text.replace("0.5", "5.0");
    assert_eq!(
        sent(&site, "GET", "/scheduler", &changed, Some(&sign)).status,
        401
    );
    assert_eq!(
        sent(&site, "GET", "/scheduler", &text, Some(&sign)).status,
        200
    );
    assert_eq!(site.rate("root.alice"), Some(0.5));
    assert_eq!(
        sent(&site, "GET", "/scheduler", &text, Some(&sign)).status,
        401
    );
}
