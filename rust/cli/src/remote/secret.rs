//! Reads a user's secret from a file or from the environment. Never takes it from the arguments,
//! which every user of the machine can list. No message repeats any of it.

use crate::failure::Failure;
use heddle_economy::auth::{Secret, secret_file};
use std::path::Path;

const VARIABLE: &str = "HEDDLE_SECRET";

/// Reads the secret from `file`, or else from the environment.
pub(crate) fn read(file: Option<&Path>) -> Result<Secret, Failure> {
    let (text, at) = match (file, std::env::var(VARIABLE)) {
        (Some(file), _) => (first_line(file)?, file.display().to_string()),
        (None, Ok(text)) => (text, VARIABLE.to_string()),
        (None, Err(_)) => {
            let remedy = "--secret-file FILE, or HEDDLE_SECRET in the environment";
            return Err(Failure::usage(
                "there is no secret to sign with",
                "secret",
                remedy,
            ));
        }
    };
    // Blanks end a secret in the ACL file, so text with blanks is something else.
    if text.is_empty() || text.contains(char::is_whitespace) {
        let remedy = "the secret alone, as it stands in the third field of the ACL file";
        return Err(Failure::usage("that is no secret", at, remedy));
    }
    Ok(Secret::new(text.as_bytes()))
}

/// Reads the first line of a file that only its owner may read.
pub(crate) fn first_line(path: &Path) -> Result<String, Failure> {
    secret_file::first_line(path).map_err(|unusable| {
        let at = path.display().to_string();
        Failure::usage(unusable.what, at, unusable.expected)
    })
}
