//! How the applications of a queue stand under order `by-queue`: keys `order` and `size_weight` of
//! a queue, and of `queue_defaults`.

use super::{ConfigError, Section};
use serde::Serialize;

/// How applications of a leaf are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The larger priority first, then the earlier submission.
    Fifo,
    /// The least memory first, by weight.
    #[default]
    Fair,
    /// The least dominant share of the cluster first, by weight.
    Drf,
}

impl By {
    /// The name of YARN's Fair Scheduler for it.
    pub fn yarns(self) -> &'static str {
        match self {
            By::Fifo => "FIFO",
            By::Fair => "fair",
            By::Drf => "DRF",
        }
    }
}

/// The order of the applications of a leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeafOrder {
    /// What is compared.
    #[serde(rename = "order")]
    pub by: By,
    /// Whether applications weigh log2(1 + demand in MB) instead of 1. No effect on `fifo`.
    pub size_weight: bool,
}

/// The values of `order`.
const ORDERS: &[(&str, By)] = &[("fifo", By::Fifo), ("fair", By::Fair), ("drf", By::Drf)];

impl LeafOrder {
    /// Reads both keys; `plain` is what holds without them.
    pub(super) fn read(
        section: &mut Section<'_>,
        plain: LeafOrder,
    ) -> Result<LeafOrder, ConfigError> {
        Ok(LeafOrder {
            by: section.choice("order", ORDERS)?.unwrap_or(plain.by),
            size_weight: section.boolean("size_weight")?.unwrap_or(plain.size_weight),
        })
    }
}
