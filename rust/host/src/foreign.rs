//! Foreign load: the part of a node's capacity for containers that processes outside YARN use, from
//! the utilization in the node's heartbeats. The engine's policies decide what follows.
//!
//! YARN has less than the whole machine, because daemons and other known processes have a reserve.
//! Only use beyond that reserve is foreign load.

const ALL: f64 = 1_000.0;
/// Smaller loads count as 0: the figures are from different moments.
const NOISE_PER_MILLE: u32 = 50;
/// Smaller changes are not told.
const STEP_PER_MILLE: u32 = 50;

/// Memory in MB, and processors or vcores.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// Memory in MB.
    pub memory: i64,
    /// Processors of a machine, vcores of YARN's part.
    pub cpu: f64,
}

/// What a node's heartbeat says of its use.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Use of the whole machine, in processors.
    pub node: Amount,
    /// Use of all containers, in vcores.
    pub containers: Amount,
    /// Capacity of the machine, in processors; 0 if it is unknown.
    pub machine: Amount,
    /// YARN's part of that, in vcores.
    pub capacity: Amount,
}

/// Returns the load to tell the engine, 0 to 1,000. None if the node does not measure, or if the
/// load is almost what was `told` last: a heartbeat comes each second and nodes are many.
pub fn foreign_load(report: &Report, told: Option<u32>) -> Option<u32> {
    per_mille(report).filter(|&load| is_news(told, load))
}

fn per_mille(report: &Report) -> Option<u32> {
    let Report {
        node,
        containers,
        machine,
        capacity,
    } = *report;
    let known = |amount: Amount| amount.memory > 0 && amount.cpu > 0.0;
    // A running machine uses memory: 0 means that it is not measured.
    if node.memory <= 0 || !known(capacity) {
        return None;
    }
    let all = if known(machine) { machine } else { capacity };
    // A vcore is a fraction of YARN's processors, so both are compared as fractions of the whole.
    let processors = part(node.cpu, all.cpu);
    let vcores = part(containers.cpu, capacity.cpu);
    let cpu = beyond_reserve(processors - vcores, part(capacity.cpu, all.cpu));
    let others = node.memory as f64 - containers.memory.max(0) as f64;
    let memory = beyond_reserve(
        part(others, all.memory as f64),
        part(capacity.memory as f64, all.memory as f64),
    );
    let load = (cpu.max(memory).min(1.0) * ALL).round() as u32;
    Some(if load < NOISE_PER_MILLE { 0 } else { load })
}

/// Returns a fraction of at least 0; a measurement of NaN counts as 0.
fn part(of: f64, all: f64) -> f64 {
    (of / all).max(0.0)
}

/// Returns the fraction of YARN's share that a load, a fraction of the machine, takes from it.
fn beyond_reserve(load: f64, yarns: f64) -> f64 {
    let share = yarns.min(1.0);
    (load - (1.0 - share)).max(0.0) / share
}

fn is_news(told: Option<u32>, load: u32) -> bool {
    let Some(told) = told else {
        return true;
    };
    let at_end = load == 0 || f64::from(load) == ALL;
    told != load && (at_end || load.abs_diff(told) >= STEP_PER_MILLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: i64 = 1_024;
    const MACHINE: Amount = amount(64 * GB, 16.0);

    const fn amount(memory: i64, cpu: f64) -> Amount {
        Amount { memory, cpu }
    }

    fn load(node: Amount, containers: Amount, machine: Amount, capacity: Amount) -> Option<u32> {
        let report = Report {
            node,
            containers,
            machine,
            capacity,
        };
        foreign_load(&report, None)
    }

    /// The load of a machine that is all YARN's.
    fn of_all(node: Amount, containers: Amount) -> Option<u32> {
        load(node, containers, MACHINE, MACHINE)
    }

    #[test]
    fn what_is_not_of_containers_is_foreign() {
        // 6 of 16 processors are used, 2 of them by containers: a quarter is foreign.
        assert_eq!(of_all(amount(GB, 6.0), amount(GB, 2.0)), Some(250));
        // The scarcer resource decides: 32 of 64 GB.
        let busy = of_all(amount(40 * GB, 6.0), amount(8 * GB, 2.0));
        assert_eq!(busy, Some(500));
        assert_eq!(of_all(MACHINE, amount(0, 0.0)), Some(1_000));
    }

    #[test]
    fn a_reserve_is_nobodys_loss() {
        // YARN has 12 of 16 processors and 48 of 64 GB; 4 processors and 16 GB are free for others.
        let beside = |node| load(node, amount(0, 0.0), MACHINE, amount(48 * GB, 12.0));
        assert_eq!(beside(amount(16 * GB, 4.0)), Some(0));
        // 10 processors: 6 of YARN's 12 beyond the reserve.
        assert_eq!(beside(amount(16 * GB, 10.0)), Some(500));
        // 28 GB: 12 of YARN's 48 beyond the reserve.
        assert_eq!(beside(amount(28 * GB, 1.0)), Some(250));
    }

    /// Two vcores for each processor: containers that use 16 vcores use half of the machine.
    #[test]
    fn vcores_are_not_processors() {
        let capacity = amount(64 * GB, 32.0);
        let busy = |node| load(node, amount(GB, 16.0), MACHINE, capacity);
        assert_eq!(busy(amount(GB, 8.0)), Some(0));
        assert_eq!(busy(amount(GB, 12.0)), Some(250));
    }

    #[test]
    fn noise_and_nonsense_are_nothing() {
        let none = amount(0, 0.0);
        assert_eq!(of_all(amount(GB, 2.5), amount(GB, 2.0)), Some(0), "3 %");
        let later = of_all(amount(GB, 2.0), amount(2 * GB, 9.0));
        assert_eq!(later, Some(0), "containers measured later");
        let nan = of_all(amount(GB, f64::NAN), amount(GB, -1.0));
        assert_eq!(nan, Some(0));
        let infinite = of_all(amount(GB, f64::INFINITY), none);
        assert_eq!(infinite, Some(1_000));
        let unknown = load(amount(GB, 4.0), none, none, MACHINE);
        assert_eq!(unknown, Some(250), "no machine told");
        assert_eq!(of_all(none, none), None, "nothing measured");
        assert_eq!(load(amount(GB, 4.0), none, MACHINE, none), None);
    }

    #[test]
    fn only_noticeable_changes_are_news() {
        assert!(is_news(None, 0), "the first");
        let silent = Report {
            node: amount(0, 0.0),
            containers: amount(0, 0.0),
            machine: MACHINE,
            capacity: MACHINE,
        };
        assert_eq!(foreign_load(&silent, Some(300)), None, "kept");
        assert!(!is_news(Some(300), 300));
        assert!(!is_news(Some(300), 349));
        assert!(is_news(Some(300), 350));
        assert!(is_news(Some(300), 250));
        assert!(is_news(Some(49), 0), "an end is exact");
        assert!(is_news(Some(960), 1_000));
    }
}
