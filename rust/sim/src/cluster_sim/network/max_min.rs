//! Max-min fair rates of flows over shared links, by progressive filling. Pure arithmetic; knows
//! neither time nor bytes.

/// Flows of one kind: they use the same links and have the same highest rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// The links that each of them uses, by number.
    pub links: [usize; 2],
    /// Number of flows.
    pub count: f64,
    /// The highest rate that one of them can use.
    pub cap: f64,
}

/// Fills `rates` with the rate of one flow of each demand. A flow can gain only if another with as
/// much or less loses.
pub fn max_min(demands: &[Demand], capacity: &[f64], rates: &mut Vec<f64>) {
    let mut filling = Filling::new(demands, capacity);
    rates.clear();
    rates.resize(demands.len(), 0.0);
    while !filling.active.is_empty() {
        if !filling.freeze_capped(demands, rates) {
            filling.freeze_tightest(demands, rates);
        }
    }
}

/// The capacity that is left to hand out.
struct Filling {
    /// Demands without a rate yet.
    active: Vec<usize>,
    left: Vec<f64>,
    flows: Vec<f64>,
}

impl Filling {
    fn new(demands: &[Demand], capacity: &[f64]) -> Filling {
        let mut flows = vec![0.0; capacity.len()];
        for demand in demands {
            for link in demand.links {
                flows[link] += demand.count;
            }
        }
        Filling {
            active: (0..demands.len()).collect(),
            left: capacity.to_vec(),
            flows,
        }
    }

    /// Returns what each flow on a link would get if all its remaining flows got the same. The true
    /// level is never lower: flows that stop below it elsewhere leave more.
    fn level(&self, link: usize) -> f64 {
        (self.left[link] / self.flows[link].max(1.0)).max(0.0)
    }

    fn level_of(&self, demand: &Demand) -> f64 {
        self.level(demand.links[0]).min(self.level(demand.links[1]))
    }

    /// Gives demands their cap if both their links can bear it. Returns whether there were any.
    fn freeze_capped(&mut self, demands: &[Demand], rates: &mut [f64]) -> bool {
        let reaches =
            |filling: &Filling, i: &usize| demands[*i].cap <= filling.level_of(&demands[*i]);
        self.freeze(demands, rates, reaches, |demand, _| demand.cap)
    }

    /// Fills the link on which flows get least.
    fn freeze_tightest(&mut self, demands: &[Demand], rates: &mut [f64]) {
        let used = self.active.iter().flat_map(|i| demands[*i].links);
        let tightest = used.min_by(|a, b| self.level(*a).total_cmp(&self.level(*b)));
        let tightest = tightest.expect("an active demand uses links");
        let level = self.level(tightest);
        let on_it = |_: &Filling, i: &usize| demands[*i].links.contains(&tightest);
        self.freeze(demands, rates, on_it, |_, _| level);
    }

    fn freeze(
        &mut self,
        demands: &[Demand],
        rates: &mut [f64],
        chosen: impl Fn(&Filling, &usize) -> bool,
        rate: impl Fn(&Demand, f64) -> f64,
    ) -> bool {
        let before = self.active.len();
        let (frozen, active) = self.active.iter().partition(|i| chosen(self, i));
        self.active = active;
        let frozen: Vec<usize> = frozen;
        for i in frozen {
            let demand = &demands[i];
            rates[i] = rate(demand, 0.0);
            for link in demand.links {
                self.left[link] -= rates[i] * demand.count;
                self.flows[link] -= demand.count;
            }
        }
        self.active.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Water-filling in small steps: all rates rise together, and a flow stops at its cap or when
    /// one of its links is full. Slow, and independent of the algorithm under test.
    fn by_small_steps(demands: &[Demand], capacity: &[f64], step: f64) -> Vec<f64> {
        let mut rates = vec![0.0; demands.len()];
        let mut stopped = vec![false; demands.len()];
        while stopped.iter().any(|stopped| !stopped) {
            for i in 0..demands.len() {
                if !stopped[i] {
                    rates[i] += step;
                }
            }
            let load = |link: usize| -> f64 {
                let on_it = demands.iter().zip(&rates);
                let on_it = on_it.map(|(demand, rate)| {
                    let uses = demand.links.iter().filter(|used| **used == link).count();
                    uses as f64 * demand.count * rate
                });
                on_it.sum()
            };
            for i in 0..demands.len() {
                let full = |link: &usize| load(*link) >= capacity[*link] - 1e-9;
                stopped[i] |= rates[i] >= demands[i].cap || demands[i].links.iter().any(full);
            }
        }
        rates
    }

    #[test]
    fn rates_agree_with_water_filled_in_small_steps() {
        let mut random = Random::new(5);
        for round in 0..200 {
            let racks = random.range(2, 4) as usize;
            let capacity: Vec<f64> = (0..2 * racks)
                .map(|_| random.range(20, 100) as f64)
                .collect();
            let demands: Vec<Demand> = (0..random.range(1, 8))
                .map(|_| {
                    let from = random.below(racks);
                    let to = (from + 1 + random.below(racks - 1)) % racks;
                    Demand {
                        links: [2 * from, 2 * to + 1],
                        count: random.range(1, 4) as f64,
                        cap: random.range(1, 60) as f64,
                    }
                })
                .collect();
            let mut rates = Vec::new();
            max_min(&demands, &capacity, &mut rates);
            let slow = by_small_steps(&demands, &capacity, 0.01);
            for (i, (rate, slow)) in rates.iter().zip(&slow).enumerate() {
                // Every step may overfill a link a little, which others then lack.
                assert!(
                    (rate - slow).abs() < 0.3,
                    "{round}: {i}: {demands:?} {rates:?} {slow:?}"
                );
            }
        }
    }

    #[test]
    fn a_link_that_two_share_with_one_that_is_slow_elsewhere() {
        // Link 2 limits flow 0 to 10, so flow 1 has 90 of link 0's 100.
        let flow = |links| Demand {
            links,
            count: 1.0,
            cap: 1e9,
        };
        let demands = [flow([0, 2]), flow([0, 3])];
        let mut rates = Vec::new();
        max_min(&demands, &[100.0, 0.0, 10.0, 200.0], &mut rates);
        assert_eq!(rates, [10.0, 90.0]);
    }
}
