//! Changes of heddle.json: what is written, what is taken back, and what the audit says.

use crate::common::{Site, audit_of, json_of, market_config, text};
use heddle_economy::http::{Answer, Request, reloaded};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

const FILE: &str = "/heddle/v1/configuration/file";
const ROLLBACK: &str = "/heddle/v1/configuration/rollback";

/// What a host does after a change that was written: it reloads, here with this outcome.
fn finished(answer: &Answer, problem: Option<&str>) -> (Answer, Value) {
    let written = answer.written.as_ref().expect("a change was written");
    // It goes through the host as JSON.
    let there = serde_json::to_string(written).expect("JSON");
    let back = serde_json::from_str(&there).expect("the same");
    let (answer, line) = reloaded(&back, problem);
    (answer, serde_json::from_str(&line).expect("a line of JSON"))
}

fn put(site: &Site, body: &str) -> Answer {
    site.signed("root", "PUT", FILE, body)
}

fn kept(site: &Site) -> String {
    fs::read_to_string(site.config_file).expect("a file")
}

fn previous(site: &Site) -> Option<String> {
    let shown = json_of(&site.signed("root", "GET", FILE, ""));
    assert_eq!(shown["text"], kept(site).as_str());
    shown["previous"].as_str().map(str::to_string)
}

/// After an answer that was lost, the sender tries again.
#[test]
fn the_same_change_again_leaves_the_file_to_roll_back_to() {
    let site = Site::market();
    let first = market_config().to_string();
    for _ in 0..2 {
        let (answer, _) = finished(&put(&site, "{\"policy\": \"fifo\"}"), None);
        assert_eq!(answer.status, 200, "{}", text(&answer));
        assert_eq!(previous(&site), Some(first.clone()));
    }
    // One that is refused the second time takes nothing with it either.
    let (refused, _) = finished(&put(&site, "{\"policy\": \"fifo\"}"), Some("no"));
    assert_eq!(refused.status, 400);
    assert_eq!(previous(&site), Some(first.clone()));
    let back = site.signed("root", "POST", ROLLBACK, "{}");
    assert_eq!(finished(&back, None).0.status, 200);
    assert_eq!(kept(&site), first);
}

#[test]
fn a_change_is_kept_and_rolled_back() {
    let site = Site::market();
    let first = market_config().to_string();
    assert_eq!(previous(&site), None);
    let (answer, line) = finished(&put(&site, "{ \"policy\": \"fifo\" }\n"), None);
    assert_eq!(answer.status, 200, "{}", text(&answer));
    assert_eq!(json_of(&answer)["file"], site.config_file);
    assert_eq!(json_of(&answer)["after"][1], "fifo");
    assert_eq!(line["allowed"], true);
    assert_eq!(line["action"], "replace configuration");
    assert_eq!(line["user"], "root");
    assert_eq!(kept(&site), "{ \"policy\": \"fifo\" }\n");
    assert_eq!(previous(&site), Some(first.clone()));
    let back = site.signed("root", "POST", ROLLBACK, "{}");
    let (answer, line) = finished(&back, None);
    assert_eq!(answer.status, 200);
    assert_eq!(line["action"], "roll back configuration");
    assert_eq!(kept(&site), first);
    let again = site.signed("root", "POST", ROLLBACK, "{}");
    assert_eq!(finished(&again, None).0.status, 200);
    assert_eq!(kept(&site), "{ \"policy\": \"fifo\" }\n");
    // The host writes the lines, when it knows the outcome.
    assert_eq!(audit_of(&site), Vec::<Value>::new());
}

#[test]
fn what_the_reload_refuses_is_taken_back() {
    let site = Site::market();
    let first = kept(&site);
    for earlier in [None, Some("{\"policy\": \"fair\"}")] {
        if let Some(text) = earlier {
            fs::write(format!("{}.previous", site.config_file), text).expect("our folder");
        }
        let answer = put(&site, "{\"policy\": \"fifo\"}");
        assert_ne!(kept(&site), first);
        let (answer, line) = finished(&answer, Some("pools.xml, line 3: wrong"));
        assert_eq!(answer.status, 400);
        assert_eq!(
            json_of(&answer)["error"]["what"],
            "pools.xml, line 3: wrong"
        );
        assert_eq!(line["allowed"], false);
        assert_eq!(kept(&site), first);
        assert_eq!(previous(&site).as_deref(), earlier);
    }
}

#[test]
fn a_wrong_configuration_is_not_written() {
    let site = Site::market();
    let first = kept(&site);
    for (body, status, hint) in [
        ("{\"policy\": \"fare\"}", 400, "did you mean `fair`"),
        (
            "{\"policy\": \"fair\", \"policy\": \"fifo\"}",
            400,
            "policy",
        ),
        ("{\"policy\": ", 400, "EOF"),
        ("<allocations/>", 415, "JSON"),
        ("", 400, "no body"),
    ] {
        let answer = put(&site, body);
        assert_eq!(answer.status, status, "{body}: {}", text(&answer));
        assert!(text(&answer).contains(hint), "{body}: {}", text(&answer));
        assert!(answer.written.is_none(), "{body}");
    }
    let answer = site.signed("root", "POST", ROLLBACK, "{}");
    assert_eq!(answer.status, 409, "{}", text(&answer));
    assert_eq!(kept(&site), first);
    assert_eq!(previous(&site), None);
    assert_eq!(audit_of(&site).len(), 6, "one line for each refusal");
}

#[test]
fn links_and_rights_stay() {
    let site = Site::market();
    let file = PathBuf::from(site.config_file);
    let real = site.folder.path().join("real.json");
    fs::rename(&file, &real).expect("our folder");
    symlink(&real, &file).expect("our folder");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("ours");
    let (answer, _) = finished(&put(&site, "{}"), None);
    assert_eq!(answer.status, 200, "{}", text(&answer));
    assert!(file.symlink_metadata().expect("there").is_symlink());
    assert_eq!(fs::read_to_string(&real).expect("there"), "{}");
    for name in ["real.json", "real.json.previous"] {
        let metadata = fs::metadata(site.folder.path().join(name)).expect("there");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o640, "{name}");
    }
    assert!(!site.folder.path().join("real.json.next").exists());
}

#[test]
fn a_folder_that_cannot_be_written_changes_nothing() {
    let site = Site::market();
    let first = kept(&site);
    // A folder in the way of the file that is written first; tests may run as root.
    fs::create_dir(format!("{}.next", site.config_file)).expect("our folder");
    let answer = put(&site, "{\"policy\": \"fifo\"}");
    assert_eq!(answer.status, 409, "{}", text(&answer));
    assert!(
        text(&answer).contains("-refreshQueues"),
        "{}",
        text(&answer)
    );
    assert_eq!(kept(&site), first);
    assert_eq!(previous(&site), None);
}

#[test]
fn without_a_file_of_its_own_nothing_is_changed() {
    let site = Site::market();
    for (method, path, body) in [
        ("GET", FILE, ""),
        ("PUT", FILE, "{}"),
        ("POST", ROLLBACK, "{}"),
    ] {
        let header = crate::common::v2_header("root", method, path, "", body.as_bytes());
        let answer = site.send(&Request {
            method,
            path,
            authorization: Some(&header),
            body: body.as_bytes(),
            config_file: None,
            ..site.plain()
        });
        assert_eq!(answer.status, 409, "{}", text(&answer));
        let expected = json_of(&answer)["error"]["expected"].clone();
        assert!(
            expected
                .as_str()
                .is_some_and(|said| said.contains("heddle.config.file"))
        );
    }
    assert_eq!(json!(kept(&site)), json!(market_config().to_string()));
}
