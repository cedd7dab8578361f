//! The points of a line over time, as many as a picture can show.

use std::collections::BTreeMap;

/// Columns of a picture. More than four points of a line in one column do not show.
const COLUMNS: usize = 1_000;

/// Sums spans (from, to, amount) over hours: one step at each begin and end of a span, thinned to
/// the resolution of a picture.
pub(super) fn steps(spans: impl Iterator<Item = (i64, i64, f64)>) -> Vec<(f64, f64)> {
    let mut changes: BTreeMap<i64, f64> = BTreeMap::new();
    for (from, to, amount) in spans {
        *changes.entry(from).or_default() += amount;
        *changes.entry(to.max(from)).or_default() -= amount;
    }
    let mut sum: f64 = 0.0;
    let mut points = Vec::new();
    for (at, change) in changes {
        let at = at as f64 / 3.6e6;
        points.push((at, sum));
        // Sums of fractions that come and go end near 0, and not at it.
        sum = (sum + change).max(0.0);
        points.push((at, sum));
    }
    thin(points)
}

/// Leaves out points, in order of x, that a picture cannot show: of each of its columns the first,
/// the lowest, the highest and the last stay.
pub(super) fn thin(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return points;
    };
    if points.len() <= 4 * COLUMNS {
        return points;
    }
    let wide = ((last.0 - first.0) / COLUMNS as f64).max(f64::MIN_POSITIVE);
    let column = |point: &(f64, f64)| ((point.0 - first.0) / wide) as usize;
    let kept = |points: &[(f64, f64)]| {
        let by_y = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
        let lowest = (0..points.len()).min_by(by_y).unwrap_or(0);
        let highest = (0..points.len()).max_by(by_y).unwrap_or(0);
        let mut kept = vec![0, lowest, highest, points.len() - 1];
        kept.sort_unstable();
        kept.dedup();
        kept.into_iter().map(|at| points[at]).collect::<Vec<_>>()
    };
    let columns = points.chunk_by(|a, b| column(a) == column(b));
    columns.flat_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thin_line_keeps_its_ends_and_every_peak() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|x| (f64::from(x), 1.0)).collect();
        points[50_001].1 = 9.0;
        points[70_007].1 = -9.0;
        let thinned = thin(points.clone());
        assert!(thinned.len() <= 4 * (COLUMNS + 1), "{}", thinned.len());
        for at in [0, 50_001, 70_007, 99_999] {
            assert!(thinned.contains(&points[at]), "{at}");
        }
        assert!(thinned.is_sorted_by(|a, b| a.0 < b.0));
        let short = points[..4_000].to_vec();
        assert_eq!(thin(short.clone()), short);
        // All at one time, such as the jobs of a trace that all take 0 s.
        assert_eq!(thin(vec![(0.0, 1.0); 5_000]), [(0.0, 1.0); 2]);
    }
}
