//! Compares the books of users with the jobs; a part of the engine's invariants.

use super::{Engine, JobBook, Standing};
use crate::engine::invariants::same;
use crate::model::by_label::ByLabel;
use crate::model::job::Job;
use crate::words::ids::{JobId, PartitionId};
use std::collections::BTreeMap;

impl Engine {
    /// Compares the books with the jobs, if they are settled.
    pub(in crate::engine) fn check_user_books(&self) -> Result<(), String> {
        let held = |job: &Job| job.over.anywhere() || job.master_held;
        let unsettled = !self.knows_capacity() || !self.users.is_settled();
        if !self.users.limited {
            let held = self.cluster.jobs().filter(|job| held(job)).count();
            return same("jobs held without limits", &held, &0);
        } else if unsettled {
            return Ok(());
        }
        let before = |job: &Job| self.users.jobs.get(&job.facts.job);
        let counted = |job: &Job| Some((job.facts.job, self.book_of(job, before(job))?));
        let counted: BTreeMap<JobId, JobBook> = self.cluster.jobs().filter_map(counted).collect();
        same("jobs in limited leaves", &self.users.jobs, &counted)?;
        for job in self.cluster.jobs() {
            let id = job.facts.job;
            let Some(now) = counted.get(&id) else {
                same(&format!("holds of job {}", id.0), &held(job), &false)?;
                continue;
            };
            let user = &self.users.leaves[&now.leaf].users[&now.user];
            same(
                &format!("job {} of its user", id.0),
                &user.jobs.contains(&id),
                &true,
            )?;
            same(&format!("hold of job {}", id.0), &job.over, &user.over)?;
            same(
                &format!("hold of the master of job {}", id.0),
                &job.master_held,
                &now.is_held(),
            )?;
        }
        for (leaf, book) in &self.users.leaves {
            let terms = self
                .terms_of(*leaf, PartitionId::DEFAULT)
                .ok_or("a leaf that limits nobody has books")?;
            let usage = self.usage_of((*leaf, PartitionId::DEFAULT), &terms, book);
            let limit = terms.limit(&usage);
            same(&format!("limit of leaf {}", leaf.0), &book.limit, &limit)?;
            let limits = self.limits_of(*leaf, &terms, book);
            for (id, user) in &book.users {
                let of_user = |job: &&JobBook| job.leaf == *leaf && job.user == *id;
                let jobs = counted.values().filter(of_user);
                let used = jobs.fold(ByLabel::default(), |mut sum, job| {
                    sum.add_all(&job.used, true);
                    sum
                });
                same(&format!("use of user {}", id.0), &user.used, &used)?;
                let jobs = counted.values().filter(of_user);
                let started = jobs.filter(|job| job.standing == Standing::Started);
                let masters = started.fold(ByLabel::default(), |mut sum, job| {
                    sum.add(job.label, job.master);
                    sum
                });
                same(
                    &format!("masters of user {}", id.0),
                    &user.masters,
                    &masters,
                )?;
                let over = self.over_of((*leaf, *id), user, &limits);
                same(&format!("hold of user {}", id.0), &user.over, &over)?;
            }
        }
        Ok(())
    }
}
