//! Tests a ResourceManager whose web server is guarded by Kerberos, as a client sees it: signed
//! requests pass, all others are asked for a ticket. `SpnegoTest` tests the real one.

use crate::site::{Site, failed, heddle, words};
use crate::trouble::answering;

#[test]
fn a_signature_is_all_the_login_there_is() {
    let site = Site::market();
    site.guard();
    // A request that is unsigned elsewhere is signed here, at the second attempt.
    assert_eq!(site.said("alice", &["price"]), "3\n");
    let signed = |heard: &crate::site::Heard| heard.authorization.is_some();
    let heard: Vec<bool> = site.heard().iter().map(signed).collect();
    assert_eq!(heard, [false, true]);
    let said = site.said("alice", &["info", "alice"]);
    assert_eq!(words(&said, "queue"), ["queue", "root.alice"]);
    site.said("alice", &["bid", "alice", "0.5"]);
    assert_eq!(site.account("root.alice")["spending_rate"], 0.5);
    // Signed requests were not repeated.
    assert!(site.heard()[2..].iter().all(signed));
    let refused = site.refused(1, "alice", &["info", "bob"]);
    assert!(!refused.contains("Kerberos"), "{refused}");
}

#[test]
fn who_cannot_sign_is_told_why() {
    let site = Site::market();
    site.guard();
    let nobody = heddle(&["price", "--url", &site.url()]).output();
    let refused = failed(1, &nobody.expect("it starts"));
    assert!(refused.contains("only signed requests pass"), "{refused}");
    assert!(refused.contains("--user NAME"), "{refused}");
    let mut without_secret = heddle(&["price", "--url", &site.url(), "--user", "alice"]);
    let refused = failed(2, &without_secret.output().expect("it starts"));
    assert!(refused.contains("--secret-file FILE"), "{refused}");
}

/// A standby, or a server whose operator requires tickets.
#[test]
fn where_a_signature_does_not_pass_the_remedy_is_said() {
    for scheme in ["Negotiate", "negotiate, Basic realm=x"] {
        let answer = format!(
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: {scheme}\r\nContent-Length: 0\r\n\r\n"
        );
        let url = answering(Some(String::leak(answer).as_bytes()));
        let mut command = heddle(&["infos", "--url", &url, "--user", "alice"]);
        command.env("HEDDLE_SECRET", "alices-secret-of-32-bytes-length");
        let refused = failed(3, &command.output().expect("it starts"));
        assert!(refused.contains("Kerberos guards"), "{refused}");
        assert!(
            refused.contains("heddle.web.signature-suffices"),
            "{refused}"
        );
    }
}
