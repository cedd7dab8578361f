//! The plots of what grows with a cluster.

use heddle_lab::growth;
use std::fs;

#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = || growth::draw(folder.path(), folder.path()).unwrap_err();
    assert!(
        refused().contains("no policy has runs of two sizes"),
        "{}",
        refused()
    );
    fs::write(
        folder.path().join("scale-a.json"),
        "{\"runs\": [{\"nodes\": 3}]}",
    )
    .unwrap();
    assert!(
        refused().contains("scale-a.json: a run has no `policy`"),
        "{}",
        refused()
    );
    fs::write(folder.path().join("scale-a.json"), "{").unwrap();
    assert!(refused().contains("scale-a.json: EOF"), "{}", refused());
}
