//! An order kept as numbers: each item has a label, labels rise along the line, and only items that
//! change places get new ones. Indexes that go by labels thus pay only for the items that moved.
//! Knows nothing of what the order means.

/// The distance of a new label from its neighbour at an end of the line.
const GAP: i64 = 1 << 40;

/// The least distance of labels after a spread, for each item that is spread. In proportion to the
/// items, so that a wide range then has room for as many insertions as it has items.
const ROOM: i128 = 1 << 8;

/// The line. Items are small numbers, used as indexes.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// From first to last.
    order: Vec<u32>,
    /// By item.
    labels: Vec<i64>,
    moved: Vec<u32>,
}

impl Line {
    /// The items from first to last.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// An item's label: the smaller, the earlier.
    pub(crate) fn label(&self, item: u32) -> i64 {
        self.labels[item as usize]
    }

    /// Counts an item as moved though its label stays: something else about its place changed.
    pub(crate) fn touch(&mut self, item: u32) {
        self.moved.push(item);
    }

    /// Takes the items whose labels changed since the last call. An item may appear twice, and may
    /// have left since.
    pub(crate) fn take_moved(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.moved)
    }

    /// Puts a new item before the first of a higher rank. The line must be in order of ranks.
    pub(crate) fn insert<R: Ord>(&mut self, item: u32, rank: impl Fn(u32) -> R) {
        let own = rank(item);
        let at = self.order.partition_point(|other| rank(*other) < own);
        if self.labels.len() <= item as usize {
            self.labels.resize(item as usize + 1, 0);
        }
        self.order.insert(at, item);
        self.set_label(at);
    }

    /// Takes an item out.
    pub(crate) fn remove(&mut self, item: u32) {
        let at = self.position(item);
        if self.order.get(at) == Some(&item) {
            self.order.remove(at);
        }
    }

    /// Where an item stands, if it is in the line.
    fn position(&self, item: u32) -> usize {
        let label = self.label(item);
        self.order
            .partition_point(|other| self.label(*other) < label)
    }

    /// Restores the order after ranks have changed. Moves as few items as possible, and at most
    /// `moves_max`. At that limit, moves those that leave or reach the places nearest to the front,
    /// because these are served next. The others keep their places until a later call.
    pub(crate) fn resort<R: Ord>(&mut self, moves_max: usize, rank: impl Fn(u32) -> R) {
        let ranks: Vec<R> = self.order.iter().map(|item| rank(*item)).collect();
        if ranks.is_sorted() {
            return;
        }
        let stays = longest_rising(&ranks);
        // Positions in the old order, listed as in the new one.
        let mut by_rank: Vec<usize> = (0..ranks.len()).collect();
        by_rank.sort_by(|a, b| ranks[*a].cmp(&ranks[*b]));
        let moves = chosen(&by_rank, &stays, moves_max);
        let items = std::mem::take(&mut self.order);
        let others = items.iter().zip(&moves).filter(|(_, moves)| !**moves);
        self.order = others.map(|(item, _)| *item).collect();
        let mut before = None;
        for at in by_rank {
            if moves[at] {
                self.insert_after(before, items[at]);
            } else if !stays[at] {
                continue;
            }
            before = Some(items[at]);
        }
    }

    fn insert_after(&mut self, before: Option<u32>, item: u32) {
        let at = before.map_or(0, |before| self.position(before) + 1);
        self.order.insert(at, item);
        self.set_label(at);
    }

    fn set_label(&mut self, at: usize) {
        let label_at = |at: usize| self.order.get(at).map(|item| self.label(*item));
        let before = at.checked_sub(1).and_then(label_at);
        let label = match (before, label_at(at + 1)) {
            (None, None) => Some(0),
            (Some(before), None) => before.checked_add(GAP),
            (None, Some(after)) => after.checked_sub(GAP),
            (Some(before), Some(after)) if i128::from(after) - i128::from(before) < 2 => None,
            (Some(before), Some(after)) => Some(midpoint(before, after)),
        };
        match label {
            Some(label) => self.assign(at, label),
            None => self.spread(at),
        }
    }

    fn assign(&mut self, at: usize, label: i64) {
        let item = self.order[at];
        self.labels[item as usize] = label;
        self.moved.push(item);
    }

    /// Spreads the labels around `at`, over ever more neighbours until there is room.
    fn spread(&mut self, at: usize) {
        let len = self.order.len();
        let mut reach = 8;
        loop {
            let (from, to) = (at.saturating_sub(reach), (at + reach + 1).min(len));
            if from == 0 && to == len {
                let first = -(len as i64 / 2) * GAP;
                (0..len).for_each(|i| self.assign(i, first.saturating_add(i as i64 * GAP)));
                return;
            }
            // At an end of the line, the last label bounds the window.
            let low = match from {
                0 => i128::from(self.label(self.order[0])) - 1,
                _ => i128::from(self.label(self.order[from - 1])),
            };
            let high = match self.order.get(to) {
                None => i128::from(self.label(self.order[len - 1])) + 1,
                Some(item) => i128::from(self.label(*item)),
            };
            let parts = (to - from + 1) as i128;
            if (high - low) / parts >= ROOM * parts {
                for i in from..to {
                    let label = low + (high - low) * (i - from + 1) as i128 / parts;
                    self.assign(i, i64::try_from(label).expect("between two labels"));
                }
                return;
            }
            reach *= 2;
        }
    }
}

fn midpoint(a: i64, b: i64) -> i64 {
    ((i128::from(a) + i128::from(b)).div_euclid(2)) as i64
}

/// Chooses the positions that move: those that do not stay. Beyond `moves_max`, takes those that
/// leave or reach a place nearest to the front.
fn chosen(by_rank: &[usize], stays: &[bool], moves_max: usize) -> Vec<bool> {
    let nearest = by_rank
        .iter()
        .enumerate()
        .map(|(to, at)| (to.min(*at), *at));
    let mut movers: Vec<(usize, usize)> = nearest.filter(|(_, at)| !stays[*at]).collect();
    if movers.len() > moves_max {
        movers.select_nth_unstable(moves_max);
        movers.truncate(moves_max);
    }
    let mut moves = vec![false; stays.len()];
    movers.into_iter().for_each(|(_, at)| moves[at] = true);
    moves
}

/// Which elements belong to one longest strictly rising subsequence. O(n log n).
fn longest_rising<R: Ord>(ranks: &[R]) -> Vec<bool> {
    // The end of the best subsequence of each length, and each element's predecessor in its own.
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(ranks.len());
    for (i, rank) in ranks.iter().enumerate() {
        let length = tails.partition_point(|tail| ranks[*tail] < *rank);
        before.push(length.checked_sub(1).map(|length| tails[length]));
        if length == tails.len() {
            tails.push(i);
        } else {
            tails[length] = i;
        }
    }
    let mut member = vec![false; ranks.len()];
    let mut at = tails.last().copied();
    while let Some(i) = at {
        member[i] = true;
        at = before[i];
    }
    member
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(line: &Line, ranks: &[u32]) {
        let rank = |item: &u32| (ranks[*item as usize], *item);
        assert!(line.order.is_sorted_by_key(rank), "{:?}", line.order);
        let label = |item: &u32| line.label(*item);
        let strictly = line.order.windows(2).all(|p| label(&p[0]) < label(&p[1]));
        assert!(strictly, "labels rise along the line");
    }

    #[test]
    fn one_that_falls_back_is_the_only_one_to_move() {
        let mut line = Line::default();
        let mut ranks: Vec<u32> = (0..50).collect();
        for item in 0..50 {
            line.insert(item, |i| ranks[i as usize]);
        }
        line.take_moved();
        ranks[3] = 99;
        line.resort(usize::MAX, |i| ranks[i as usize]);
        assert_eq!(line.take_moved(), [3]);
        assert_eq!(line.order().last(), Some(&3));
        line.resort(usize::MAX, |i| ranks[i as usize]);
        assert!(line.take_moved().is_empty());
    }

    /// Always between the same two: halving 2^40 is over after 40 insertions, so labels are spread
    /// again and again. That must stay cheap: the bound for such lists is O(log n) moves each.
    #[test]
    fn insertions_at_one_place_move_few_others() {
        let mut line = Line::default();
        let ranks: Vec<u32> = (0..4_000).map(|i| if i == 0 { 9_999 } else { i }).collect();
        let mut moved = 0;
        for item in 0..4_000 {
            line.insert(item, |i| ranks[i as usize]);
            moved += line.take_moved().len();
        }
        check(&line, &ranks);
        assert!(moved < 4_000 * 12, "{moved} moves for 4,000 insertions");
    }

    /// Of 300 items a third change places with each other: with 40 moves the front is right at
    /// once, and the rest in the end.
    #[test]
    fn few_moves_set_the_front_right_first() {
        let mut line = Line::default();
        let before: Vec<u32> = (0..300).collect();
        for item in 0..300 {
            line.insert(item, |i| before[i as usize]);
        }
        line.take_moved();
        let mirrored = |i: u32| if i.is_multiple_of(3) { 297 - i } else { i };
        let mut right: Vec<u32> = (0..300).collect();
        right.sort_by_key(|i| mirrored(*i));
        line.resort(40, mirrored);
        assert_eq!(line.take_moved().len(), 40);
        assert_eq!(line.order()[..40], right[..40]);
        assert_ne!(line.order(), right);
        (0..2).for_each(|_| line.resort(40, mirrored));
        assert_eq!(line.order(), right);
    }

    proptest! {
        #[test]
        fn limited_moves_keep_labels_in_order_and_come_to_an_end(
            first in prop::collection::vec(0u32..50, 2..80),
            second in prop::collection::vec(0u32..50, 80),
            moves_max in 1usize..20,
        ) {
            let mut line = Line::default();
            let items = first.len() as u32;
            for item in 0..items {
                line.insert(item, |i| (first[i as usize], i));
            }
            for _ in 0..items {
                line.take_moved();
                line.resort(moves_max, |i| (second[i as usize], i));
                let label = |item: &u32| line.label(*item);
                prop_assert!(line.order.windows(2).all(|p| label(&p[0]) < label(&p[1])));
            }
            check(&line, &second);
        }

        #[test]
        fn stays_in_order_whatever_happens(
            ops in prop::collection::vec((0u8..4, 0u32..60, 0u32..1_000), 1..200),
        ) {
            let mut line = Line::default();
            let mut ranks = vec![0u32; 60];
            let mut inside = [false; 60];
            for (op, item, rank) in ops {
                let at = item as usize;
                match op {
                    0 if inside[at] => {
                        line.remove(item);
                        inside[at] = false;
                    }
                    1 => {
                        ranks[at] = rank;
                        line.resort(usize::MAX, |i| (ranks[i as usize], i));
                    }
                    2 => {
                        ranks.iter_mut().for_each(|r| *r = r.wrapping_mul(rank | 1) % 1_000);
                        line.resort(usize::MAX, |i| (ranks[i as usize], i));
                    }
                    _ if !inside[at] => {
                        ranks[at] = rank;
                        line.insert(item, |i| (ranks[i as usize], i));
                        inside[at] = true;
                    }
                    _ => {}
                }
                check(&line, &ranks);
                prop_assert_eq!(line.order.len(), inside.iter().filter(|i| **i).count());
            }
        }
    }
}
