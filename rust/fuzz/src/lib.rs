//! Fuzz targets: one function for each kind of foreign bytes. A target panics when a promise is
//! broken; refusing the input is always allowed.
//!
//! `./x fuzz` runs them under libFuzzer, guided by coverage. `tests/short.rs` replays the kept
//! corpora and some thousand mutations of them in `./x test`, without instrumentation.

mod engine;
mod history;
mod host;
mod http;
mod journal;
pub mod mutate;
mod stock;
mod text;

/// One kind of input and what must hold for every input of that kind.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name in `./x fuzz NAME`, and of its folder below `corpus/`.
    pub name: &'static str,
    /// What the bytes are.
    pub summary: &'static str,
    /// Panics if a promise is broken.
    pub run: fn(&[u8]),
    /// First inputs: well-formed, so that mutations reach beyond the first check.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        name: "frame",
        summary: "input frames of the bridge, byte for byte, under every preset",
        run: engine::frame,
        seeds: engine::frame_seeds,
    },
    Target {
        name: "events",
        summary: "well-formed events with hostile numbers, ids and order",
        run: engine::events,
        seeds: engine::event_seeds,
    },
    Target {
        name: "control",
        summary: "JSON requests to the engine, one a line",
        run: engine::control,
        seeds: engine::control_seeds,
    },
    Target {
        name: "journal",
        summary: "recorded journals, replayed",
        run: journal::journal,
        seeds: journal::journal_seeds,
    },
    Target {
        name: "config",
        summary: "heddle.json",
        run: text::config,
        seeds: text::config_seeds,
    },
    Target {
        name: "allocations",
        summary: "allocations files, XML and plain",
        run: text::allocations,
        seeds: text::allocation_seeds,
    },
    Target {
        name: "fair",
        summary: "fair-scheduler.xml, translated and read by the engine",
        run: stock::fair,
        seeds: stock::fair_seeds,
    },
    Target {
        name: "capacity",
        summary: "capacity-scheduler.xml, translated, shown and read by the engine",
        run: stock::capacity,
        seeds: stock::capacity_seeds,
    },
    Target {
        name: "scheduler_conf",
        summary: "requested changes of the configuration, XML and JSON",
        run: host::scheduler_conf,
        seeds: host::scheduler_conf_seeds,
    },
    Target {
        name: "replies",
        summary: "answers of ApplicationMasters and NodeManagers, by the path of the request",
        run: host::replies,
        seeds: host::reply_seeds,
    },
    Target {
        name: "history",
        summary: "histories of clusters of every kind, read and simulated",
        run: history::history,
        seeds: history::history_seeds,
    },
    Target {
        name: "acl",
        summary: "lines of the ACL file",
        run: text::acl,
        seeds: text::acl_seeds,
    },
    Target {
        name: "signature",
        summary: "requests under a signature that was made for another request",
        run: http::signature,
        seeds: http::signature_seeds,
    },
    Target {
        name: "request",
        summary: "signed and unsigned HTTP requests, XML commands and JSON",
        run: http::request,
        seeds: http::request_seeds,
    },
];

/// Returns the target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
