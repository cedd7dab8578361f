//! Periodic work: samples for the results, and reports of racks' traffic and tasks' progress to the
//! engine. On a real cluster the plug-in polls ApplicationMasters for progress, and measures no
//! traffic (`docs/develop/facts.md`).

use super::job::{MAP, REDUCE};
use super::metrics::Sample;
use super::{ClusterSim, Due};
use crate::failure::{Check, Checked, Failure};
use heddle_core::words::event::Event;
use heddle_core::words::ids::Millis;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// If nothing runs for this long although jobs wait, they wait for ever.
const IDLE_MS_MAX: Millis = 6 * 3_600_000;

impl ClusterSim {
    pub(super) fn sample_due(&mut self) -> Checked {
        self.sample();
        self.agenda
            .plan(self.now + self.options.sample_ms, Due::Sample);
        let ended = self.results.jobs.len();
        let known = ended + self.active.len() + self.submissions_left;
        if let Some(watcher) = &mut self.options.watcher {
            watcher(self.now, ended, known);
        }
        let runs = self
            .machines
            .iter()
            .any(|machine| !machine.attempts.is_empty());
        if runs || self.active.is_empty() {
            self.idle_since_ms = self.now;
        } else if self.now - self.idle_since_ms > IDLE_MS_MAX {
            if !self.workload.nodes.is_empty() {
                // The jobs stay without an end: under this policy they wait for ever.
                self.stopped = self.submissions_left == 0;
                return Ok(());
            }
            let waiting = self.active.len();
            let what = format!("nothing has run for {IDLE_MS_MAX} ms and {waiting} jobs wait");
            return Err(Failure::new(Check::Starvation, what));
        }
        Ok(())
    }

    pub(super) fn sample(&mut self) {
        if !self.options.keep_samples {
            return;
        }
        let mut sample = Sample {
            at_ms: self.now,
            jobs: self.active.len() as u32,
            ..Sample::default()
        };
        for id in &self.active {
            let job = self.jobs[id.index()].as_deref().expect("it is active");
            let wanted = job.wanted();
            for kind in [MAP, REDUCE] {
                sample.wanted[kind] += wanted[kind];
            }
            let running = job.attempts.len() as u32;
            *sample.by_user.entry(job.plan.user.clone()).or_insert(0) += running;
        }
        for machine in &self.machines {
            for kind in [MAP, REDUCE] {
                sample.running[kind] += machine.running[kind];
            }
        }
        let loads = self.machines.iter().map(|machine| machine.foreign);
        let mean = loads.sum::<f64>() / self.machines.len().max(1) as f64;
        sample.foreign_per_mille = (mean * 1_000.0).round() as u32;
        let crossed: f64 = self.network.carried()[0].iter().sum();
        sample.crossed = crossed - std::mem::replace(&mut self.last_sample_crossed, crossed);
        sample.credits = self.credits();
        self.results.samples.push(sample);
    }

    /// Returns the users' credits, where the share stage keeps accounts.
    fn credits(&mut self) -> BTreeMap<String, f64> {
        let reply = self.link.request(self.now, json!({"op": "accounts"}));
        let Ok(Ok(reply)) = reply else {
            return BTreeMap::new();
        };
        let accounts = reply["queues"].as_array().map_or(&[][..], Vec::as_slice);
        let credit = |account: &Value| {
            let user = account["queue"].as_str()?.strip_prefix("root.")?;
            Some((user.to_string(), account["budget"].as_f64()?))
        };
        accounts.iter().filter_map(credit).collect()
    }

    /// Reports the mean traffic of every rack's link since the last report (SW-13, SW-16).
    pub(super) fn tell_traffic(&mut self) -> Checked {
        let hardware = self.workload.hardware;
        let carried = self.network.carried();
        let ways = |i: usize| carried[i].iter().zip(&self.last_traffic[i]);
        let rate = |(now, before): (&f64, &f64)| {
            let bytes = now - before;
            (bytes * 1e3 / self.options.traffic_ms as f64)
                .round()
                .max(0.0) as u64
        };
        for (rack, (up, down)) in ways(0).zip(ways(1)).enumerate() {
            self.outbox.push(Event::RackTraffic {
                rack: hardware.rack_place(rack),
                up_bytes_per_s: rate(up),
                down_bytes_per_s: rate(down),
                bandwidth_bytes_per_s: hardware.rack_bytes_per_s,
            });
        }
        self.last_traffic = carried.clone();
        let at = self.now + self.options.traffic_ms;
        self.agenda.plan(at, Due::Traffic);
        Ok(())
    }

    /// Reports the progress of every attempt that has run for a report's period.
    pub(super) fn tell_progress(&mut self) -> Checked {
        let period_ms = self.options.progress_ms;
        for node in 0..self.machines.len() {
            for at in self.machines[node].attempts.clone() {
                if self.now - self.attempts[at].started_ms >= period_ms {
                    self.tell_task(at, false);
                }
            }
        }
        self.agenda.plan(self.now + period_ms, Due::Progress);
        self.ramp_down()
    }
}
