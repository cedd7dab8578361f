//! NASS: the categories of tasks that serve a worker's request, and their order (SW-4 to SW-11,
//! Figure 3). One table serves both the engine's steps and the choice from a list.

use super::Settings;
use super::patience::Wait;
use crate::words::ids::PlaceId;
use crate::words::keys::{Near, Step, Tag};
use crate::words::kind::Kind;

/// Classes of tasks.
pub mod class {
    /// Maps of a job that prefers the rack (SAMP).
    pub const PREFERRED_MAP: u8 = 0;
    /// All maps.
    pub const MAP: u8 = 1;
    /// Reduces of a shuffle-light job.
    pub const LIGHT: u8 = 2;
    /// Reduces of a shuffle-heavy job of which the rack still lacks some (SARP).
    pub const UNMET_HEAVY: u8 = 3;
    /// Reduces of a shuffle-heavy job.
    pub const HEAVY: u8 = 4;
    /// All reduces.
    pub const REDUCE: u8 = 5;
}

/// Categories of Figure 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// A map of a job that prefers the rack.
    PreferredMap,
    /// A map of any job with its data on the node, or else on the rack.
    LocalMap,
    /// Any map.
    AnyMap,
    /// A reduce of a shuffle-light job.
    LightReduce,
    /// A reduce of a shuffle-heavy job of which the rack still lacks some.
    UnmetHeavyReduce,
    /// A reduce of any shuffle-heavy job.
    HeavyReduce,
    /// Any reduce.
    AnyReduce,
}

use Category::{
    AnyMap, AnyReduce, HeavyReduce, LightReduce, LocalMap, PreferredMap, UnmetHeavyReduce,
};

/// Lines 4 to 9 of Figure 3: maps first, then reduces by increasing load on the network.
const SATURATED: [Category; 6] = [
    PreferredMap,
    LocalMap,
    AnyMap,
    LightReduce,
    UnmetHeavyReduce,
    AnyReduce,
];

/// Lines 13 to 18: reduces first, those with most to shuffle before the others.
const UNSATURATED: [Category; 6] = [
    UnmetHeavyReduce,
    HeavyReduce,
    AnyReduce,
    PreferredMap,
    LocalMap,
    AnyMap,
];

impl Category {
    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            PreferredMap => "preferred map",
            LocalMap => "local map",
            AnyMap => "any map",
            LightReduce => "light reduce",
            UnmetHeavyReduce => "preferred heavy reduce",
            HeavyReduce => "heavy reduce",
            AnyReduce => "any reduce",
        }
    }

    /// Returns its searches: all jobs by arrival in the first, then in the next (SW-7, SW-11).
    pub fn steps(self) -> &'static [Step] {
        const fn step(kind: Kind, class: u8, near: Near) -> Step {
            Step { kind, class, near }
        }
        const fn map(class: u8, near: Near) -> Step {
            step(Kind::Map, class, near)
        }
        const fn reduce(class: u8) -> [Step; 1] {
            [step(Kind::Reduce, class, Near::Any)]
        }
        match self {
            PreferredMap => const { &[map(class::PREFERRED_MAP, Near::Any)] },
            LocalMap => const { &[map(class::MAP, Near::Host), map(class::MAP, Near::Rack)] },
            AnyMap => const { &[map(class::MAP, Near::Any)] },
            LightReduce => const { &reduce(class::LIGHT) },
            UnmetHeavyReduce => const { &reduce(class::UNMET_HEAVY) },
            HeavyReduce => const { &reduce(class::HEAVY) },
            AnyReduce => const { &reduce(class::REDUCE) },
        }
    }
}

/// Returns the categories in order, limited to those that a waiting user accepts. Without SAMP or
/// SARP no rack is wanted, so no user waits for one.
pub fn categories(
    saturated: bool,
    wait: Wait,
    settings: &Settings,
) -> impl Iterator<Item = Category> + use<> {
    let Settings { samp, sarp, .. } = *settings;
    let wanted = move |category| match category {
        LocalMap => (!samp).then_some(category),
        HeavyReduce => (!sarp).then_some(category),
        // Reduces of light jobs are good anywhere; in a saturated network they came earlier.
        AnyReduce if sarp => (!saturated).then_some(LightReduce),
        AnyMap => None,
        _ => Some(category),
    };
    let good_enough = move |category| match wait {
        Wait::Wanted => wanted(category),
        Wait::Data => Some(category).filter(|category| *category != AnyMap),
        Wait::Nothing => Some(category),
    };
    let all = if saturated { SATURATED } else { UNSATURATED };
    all.into_iter().filter_map(good_enough)
}

/// Returns the steps of the categories in order.
pub fn steps(saturated: bool, wait: Wait, settings: &Settings) -> Vec<Step> {
    let steps = categories(saturated, wait, settings).flat_map(Category::steps);
    steps.copied().collect()
}

/// Returns the strictest wait during which the user accepts this task, consistent with
/// `categories`. `suits` says that SAMP or SARP wants the task on its rack, `local` that a map's
/// data is there.
pub fn worth(kind: Kind, suits: bool, local: bool, heavy: bool, settings: &Settings) -> Wait {
    match kind {
        Kind::Map if suits || (local && !settings.samp) => Wait::Wanted,
        Kind::Map if local => Wait::Data,
        Kind::Reduce if suits || !heavy || !settings.sarp => Wait::Wanted,
        Kind::Reduce => Wait::Data,
        _ => Wait::Nothing,
    }
}

/// Tells whether a job is shuffle-heavy: it shuffles more than its maps read (SW-9).
pub fn is_heavy(shuffle_by_input: f64) -> bool {
    shuffle_by_input > 1.0
}

/// Adds the classes of a job's tasks of a kind. `racks` are the preferred ones for its maps, or
/// those that still lack some of its reduces.
pub fn tags(
    kind: Kind,
    heavy: bool,
    racks: impl IntoIterator<Item = PlaceId>,
    tags: &mut Vec<Tag>,
) {
    let everywhere = |class| Tag {
        class,
        rack: PlaceId::ANY,
    };
    let on_racks = |class| racks.into_iter().map(move |rack| Tag { class, rack });
    match kind {
        Kind::Map => {
            tags.push(everywhere(class::MAP));
            tags.extend(on_racks(class::PREFERRED_MAP));
        }
        Kind::Reduce => {
            tags.push(everywhere(class::REDUCE));
            if heavy {
                tags.push(everywhere(class::HEAVY));
                tags.extend(on_racks(class::UNMET_HEAVY));
            } else {
                tags.push(everywhere(class::LIGHT));
            }
        }
        Kind::Other => {}
    }
}

/// Returns the starvation window of a job: the slice of time since `start` in which it came (SW-27,
/// SW-28). Earlier jobs are in the first window; a width of 0 makes one window of all time.
pub fn window(arrival: f64, start: f64, width: f64) -> u32 {
    if width > 0.0 {
        ((arrival - start) / width).floor().max(0.0) as u32
    } else {
        0
    }
}

/// A waiting map task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WaitingMap {
    /// Hosts that hold its data.
    pub hosts: Vec<PlaceId>,
    /// Racks that hold its data.
    pub racks: Vec<PlaceId>,
}

impl WaitingMap {
    /// Returns 0 on the host, 1 on the rack, 2 elsewhere.
    fn distance(&self, host: PlaceId, rack: PlaceId) -> u8 {
        if self.hosts.contains(&host) {
            0
        } else if self.racks.contains(&rack) {
            1
        } else {
            2
        }
    }
}

/// A job of the user whose turn it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// Its starvation window.
    pub window: u32,
    /// Classes of its maps and of its reduces.
    pub tags: Vec<Tag>,
    /// Its waiting maps.
    pub maps: Vec<WaitingMap>,
    /// Number of its waiting reduces.
    pub reduces: usize,
}

/// A chosen task, by its index in the job's list of maps or reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Category by which it was chosen.
    pub category: Category,
    /// Index of the job in the list.
    pub job: usize,
    /// Kind of the task.
    pub kind: Kind,
    /// Index of the task in the job's list.
    pub task: usize,
}

/// Chooses a task for a worker on `host` and `rack`, from `jobs` in order of arrival. It takes the
/// oldest window with a task and goes category by category, job by job; within a job the nearest
/// map goes first.
pub fn choose(host: PlaceId, rack: PlaceId, saturated: bool, jobs: &[Candidate]) -> Option<Choice> {
    let mut windows: Vec<u32> = jobs.iter().map(|job| job.window).collect();
    windows.sort_unstable();
    windows.dedup();
    let strict = || categories(saturated, Wait::Nothing, &Settings::default());
    let in_window = |window: u32| {
        strict().find_map(|category| {
            category.steps().iter().find_map(|step| {
                jobs.iter().enumerate().find_map(|(i, job)| {
                    let task = task(job, step, host, rack).filter(|_| job.window == window)?;
                    Some(Choice {
                        category,
                        job: i,
                        kind: step.kind,
                        task,
                    })
                })
            })
        })
    };
    windows.into_iter().find_map(in_window)
}

/// Returns the job's first task that the step finds.
fn task(job: &Candidate, step: &Step, host: PlaceId, rack: PlaceId) -> Option<usize> {
    let stands =
        |tag: &Tag| tag.class == step.class && (tag.rack == rack || tag.rack == PlaceId::ANY);
    if !job.tags.iter().any(stands) {
        return None;
    }
    if step.kind == Kind::Reduce {
        return (job.reduces > 0).then_some(0);
    }
    let most = match step.near {
        Near::Host => 0,
        Near::Rack => 1,
        Near::Any => 2,
    };
    let distances = job.maps.iter().map(|map| map.distance(host, rack));
    let nearest = distances
        .enumerate()
        .min_by_key(|(_, distance)| *distance)?;
    (nearest.1 <= most).then_some(nearest.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOST: PlaceId = PlaceId(10);
    const RACK: PlaceId = PlaceId(1);
    const FAR: PlaceId = PlaceId(2);

    /// Builds a job with one map of the given classes and distance.
    fn maps(preferred: bool, hosts: &[PlaceId], racks: &[PlaceId]) -> Candidate {
        let mut job = Candidate {
            maps: vec![WaitingMap {
                hosts: hosts.to_vec(),
                racks: racks.to_vec(),
            }],
            ..Candidate::default()
        };
        let preferred = preferred.then_some(RACK);
        tags(Kind::Map, false, preferred, &mut job.tags);
        job
    }

    fn reduces(heavy: bool, unmet: &[PlaceId]) -> Candidate {
        let mut job = Candidate {
            reduces: 1,
            ..Candidate::default()
        };
        tags(Kind::Reduce, heavy, unmet.to_vec(), &mut job.tags);
        job
    }

    fn chosen(saturated: bool, jobs: &[Candidate]) -> Option<(&'static str, usize)> {
        choose(HOST, RACK, saturated, jobs).map(|choice| (choice.category.name(), choice.job))
    }

    /// Removes the jobs as they are chosen, and lists the choices.
    fn in_turn(saturated: bool, mut jobs: Vec<Candidate>) -> Vec<(&'static str, usize)> {
        let mut turns = Vec::new();
        while let Some(turn) = chosen(saturated, &jobs) {
            jobs[turn.1] = Candidate::default();
            turns.push(turn);
        }
        turns
    }

    /// Lists jobs in reverse, so that the order of arrival cannot produce the order of the
    /// categories.
    fn one_of_each() -> Vec<Candidate> {
        vec![
            reduces(true, &[FAR]),
            reduces(true, &[RACK]),
            reduces(false, &[RACK]),
            maps(false, &[], &[FAR]),
            maps(false, &[], &[RACK]),
            maps(false, &[HOST], &[RACK]),
            maps(true, &[], &[FAR]),
        ]
    }

    #[test]
    fn saturated_maps_go_first_then_reduces_by_their_load() {
        let expected = [
            ("preferred map", 6),
            ("local map", 5),
            ("local map", 4),
            ("any map", 3),
            ("light reduce", 2),
            ("preferred heavy reduce", 1),
            ("any reduce", 0),
        ];
        assert_eq!(in_turn(true, one_of_each()), expected);
    }

    #[test]
    fn unsaturated_heavy_reduces_go_first_and_maps_last() {
        let expected = [
            ("preferred heavy reduce", 1),
            ("heavy reduce", 0),
            ("any reduce", 2),
            ("preferred map", 6),
            ("local map", 5),
            ("local map", 4),
            ("any map", 3),
        ];
        assert_eq!(in_turn(false, one_of_each()), expected);
    }

    #[test]
    fn within_a_category_jobs_go_by_arrival_and_maps_by_nearness() {
        let mut near_second = maps(true, &[], &[FAR]);
        near_second.maps.push(WaitingMap {
            hosts: vec![HOST],
            racks: vec![RACK],
        });
        let jobs = [near_second, maps(true, &[HOST], &[RACK])];
        let choice = choose(HOST, RACK, true, &jobs).expect("there are maps");
        // The first job, though the second one's first map is as near; and its nearest map.
        assert_eq!((choice.job, choice.task), (0, 1));
    }

    #[test]
    fn an_earlier_window_goes_before_every_category_of_a_later_one() {
        let mut preferred = maps(true, &[HOST], &[RACK]);
        preferred.window = 1;
        let starving = reduces(true, &[]);
        assert_eq!(
            chosen(true, &[preferred, starving]),
            Some(("any reduce", 1))
        );
        assert_eq!(window(599_999.0, 0.0, 600_000.0), 0);
        assert_eq!(window(600_000.0, 0.0, 600_000.0), 1);
        assert_eq!(window(50.0, 100.0, 600_000.0), 0);
        assert_eq!(window(1e9, 0.0, 0.0), 0);
    }

    #[test]
    fn a_ratio_of_one_is_light() {
        assert!(!is_heavy(1.0));
        assert!(is_heavy(1.000_001));
    }

    #[test]
    fn who_waits_is_given_only_what_lies_well_enough() {
        let names = |saturated, wait, samp, sarp| {
            let settings = Settings {
                samp,
                sarp,
                ..Settings::default()
            };
            let categories = categories(saturated, wait, &settings);
            categories.map(Category::name).collect::<Vec<_>>()
        };
        let (map, local, any) = ("preferred map", "local map", "any reduce");
        let (heavy, preferred, light) = ("heavy reduce", "preferred heavy reduce", "light reduce");
        for (saturated, wait, samp, sarp, expected) in [
            (true, Wait::Wanted, true, true, vec![map, light, preferred]),
            (false, Wait::Wanted, true, true, vec![preferred, light, map]),
            (
                true,
                Wait::Wanted,
                false,
                true,
                vec![map, local, light, preferred],
            ),
            (
                false,
                Wait::Wanted,
                true,
                false,
                vec![preferred, heavy, any, map],
            ),
            (
                true,
                Wait::Data,
                true,
                true,
                vec![map, local, light, preferred, any],
            ),
            (
                false,
                Wait::Data,
                true,
                true,
                vec![preferred, heavy, any, map, local],
            ),
        ] {
            let found = names(saturated, wait, samp, sarp);
            assert_eq!(found, expected, "{saturated} {wait:?} {samp} {sarp}");
        }
    }

    proptest! {
        /// SW-8: in either state of the network a task is chosen if and only if one waits.
        #[test]
        fn there_is_always_a_task_if_any_waits(
            saturated: bool,
            raw in prop::collection::vec((0u8..5, any::<bool>(), any::<bool>()), 0..6),
        ) {
            let job = |(what, flag, near): &(u8, bool, bool)| match what {
                0 => Candidate::default(),
                1 | 2 => maps(*flag, &[], if *near { &[RACK] } else { &[] }),
                _ => reduces(*flag, if *near { &[RACK] } else { &[FAR] }),
            };
            let jobs: Vec<Candidate> = raw.iter().map(job).collect();
            let any = raw.iter().any(|(what, ..)| *what > 0);
            prop_assert_eq!(chosen(saturated, &jobs).is_some(), any);
        }
    }
}
