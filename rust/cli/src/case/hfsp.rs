//! Cases of HFSP.
//! JSON only; every number comes from `heddle_core::order::hfsp`.

use super::CaseError;
use serde_json::Value;

/// Answers one case at `path` of the input.
pub(super) fn answer(_case: &Value, path: &str) -> Result<Value, CaseError> {
    Err(CaseError::new(
        format!("{path}.op"),
        "expected one of the operations of rust/CASES.md",
    ))
}
