//! Cases of the original Fair Scheduler. Parses and writes JSON; every number comes from
//! `heddle_core::order::deficit` and the water-filling.

#[cfg(test)]
mod published;
mod steps;

use super::CaseError;
use super::input::Input;
use heddle_core::model::waterfill::{Claim, waterfill_exact};
use heddle_core::order::deficit::hierarchy::{self, Pool};
use serde_json::{Map, Value, json};

/// Answers one case at `path` of the input.
pub(super) fn answer(case: &Value, path: &str) -> Result<Value, CaseError> {
    let case = Input::new(path, case);
    match case.maybe("op", Input::text)?.unwrap_or("deficit") {
        "deficit" => steps::answer(&case),
        "waterfill" => waterfill(&case),
        "tree" => tree(&case),
        _ => Err(case.need("op")?.error("`deficit`, `waterfill` or `tree`")),
    }
}

/// The demands of an item or pool. By default it has weight 1, no guarantee and endless demand.
struct Wants {
    weight: f64,
    min: f64,
    max: f64,
    demand: Option<f64>,
}

fn wants(item: &Input<'_>) -> Result<Wants, CaseError> {
    Ok(Wants {
        weight: item.maybe("weight", Input::amount)?.unwrap_or(1.0),
        min: item.maybe("min", Input::amount)?.unwrap_or(0.0),
        max: item.maybe("max", Input::amount)?.unwrap_or(f64::INFINITY),
        demand: item.maybe("demand", Input::amount)?,
    })
}

fn waterfill(case: &Input<'_>) -> Result<Value, CaseError> {
    let total = case.need("total")?.amount()?;
    let claim = |item: &Input<'_>| {
        let wants = wants(item)?;
        let most = wants.demand.unwrap_or(f64::INFINITY);
        Ok(Claim {
            weight: wants.weight,
            least: wants.min.min(most),
            most,
        })
    };
    let claims: Vec<Claim<f64>> = case.each("items", claim)?;
    if total.is_infinite() {
        return Err(case.need("total")?.error("a finite number"));
    }
    Ok(json!({ "shares": waterfill_exact(total, &claims) }))
}

fn tree(case: &Input<'_>) -> Result<Value, CaseError> {
    let total = case.need("total")?.amount()?;
    let root = case.need("root")?;
    let name = root.maybe("name", Input::name)?;
    let mut paths = vec![name.unwrap_or_else(|| "root".to_string())];
    let mut pools = vec![pool(&root, None)?];
    // Pools that are listed and whose children are not yet, in order.
    let mut open = std::collections::VecDeque::from([(0, root)]);
    while let Some((parent, at)) = open.pop_front() {
        let Some(children) = at.get("children")? else {
            continue;
        };
        for child in children.list()? {
            let path = format!("{}.{}", paths[parent], child.need("name")?.name()?);
            if paths.contains(&path) {
                return Err(child.error("a name that no sibling has"));
            }
            paths.push(path);
            pools.push(pool(&child, Some(parent))?);
            open.push_back((pools.len() - 1, child));
        }
    }
    let shares = hierarchy::shares(total, &pools);
    let shares: Map<String, Value> = paths
        .into_iter()
        .zip(shares)
        .map(|(path, share)| (path, json!(share)))
        .collect();
    Ok(json!({ "shares": shares }))
}

fn pool(at: &Input<'_>, parent: Option<usize>) -> Result<Pool, CaseError> {
    let wants = wants(at)?;
    let has_children = match at.get("children")? {
        Some(children) => !children.list()?.is_empty(),
        None => false,
    };
    let demand = match (has_children, wants.demand) {
        // Its children determine its demand.
        (true, _) => 0.0,
        (false, Some(demand)) => demand,
        (false, None) => return Err(at.error("a pool with `demand` or `children`")),
    };
    Ok(Pool {
        parent,
        weight: wants.weight,
        min: wants.min,
        max: wants.max,
        demand,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(case: Value) -> Value {
        answer(&case, "$").expect("a good case")
    }

    #[test]
    fn water_is_filled_to_one_level_between_bounds() {
        let items = json!([
            {"weight": 1, "demand": 2}, {"weight": 2}, {"weight": 1, "min": 5},
            {"weight": 0, "min": 1, "demand": 9},
        ]);
        // 14 less 2, 5 and 1 leaves 6 for the second, which is level 3 > 2 and < 5.
        assert_eq!(
            ask(json!({"op": "waterfill", "total": 14, "items": items})),
            json!({"shares": [2.0, 6.0, 5.0, 1.0]})
        );
    }

    #[test]
    fn a_tree_is_shared_out_from_the_root_down() {
        let root = json!({"name": "root", "children": [
            {"name": "a", "weight": 1, "max": 7, "children": [
                {"name": "x", "demand": 1}, {"name": "y", "min": 1, "demand": 50},
            ]},
            {"name": "b", "weight": 3, "demand": 4},
        ]});
        // b demands only 4 of its 9; a stops at its maximum of 7, of which x demands 1.
        assert_eq!(
            ask(json!({"op": "tree", "total": 12, "root": root})),
            json!({"shares": {
                "root": 11.0, "root.a": 7.0, "root.a.x": 1.0, "root.a.y": 6.0, "root.b": 4.0
            }})
        );
    }

    #[test]
    fn the_minimum_of_an_idle_pool_is_not_its_groups() {
        let shares = |busy: u32, beside: u32| {
            let root = json!({"children": [
                {"name": "a", "children": [
                    {"name": "x", "min": 8, "demand": 0}, {"name": "y", "min": busy, "demand": 10},
                ]},
                {"name": "b", "min": beside, "demand": 10},
            ]});
            let answer = ask(json!({"op": "tree", "total": 10, "root": root}));
            (
                answer["shares"]["root.a"].clone(),
                answer["shares"]["root.b"].clone(),
            )
        };
        assert_eq!(shares(0, 0), (json!(5.0), json!(5.0)));
        assert_eq!(shares(2, 8), (json!(2.0), json!(8.0)));
    }

    #[test]
    fn a_wrong_case_is_refused_where_it_is_wrong() {
        let cases = [
            (json!({"op": "lottery"}), "$.op"),
            (json!({"op": "waterfill", "items": []}), "$.total"),
            (
                json!({"op": "waterfill", "total": 1, "items": [{"weight": -1}]}),
                "$.items[0].weight",
            ),
            (json!({"op": "tree", "total": 1, "root": {}}), "$.root"),
            (
                json!({"op": "tree", "total": 1, "root": {"children": [
                    {"name": "a", "demand": 1}, {"name": "a", "demand": 1}]}}),
                "$.root.children[1]",
            ),
            (json!({"steps": []}), "$.slots"),
            (
                json!({"slots": 4, "steps": [{"op": "finish", "job": "j"}]}),
                "$.steps[0].job",
            ),
            (
                json!({"slots": 4, "steps": [{"op": "submit", "job": "j", "tasks": 1,
                                              "priority": "URGENT"}]}),
                "$.steps[0].priority",
            ),
            (
                json!({"slots": 4, "steps": [{"op": "submit", "job": "j", "tasks": 1},
                                             {"op": "finish", "job": "j", "n": 1}]}),
                "$.steps[1].n",
            ),
        ];
        for (case, path) in cases {
            let error = answer(&case, "$").expect_err(&format!("{case} must be refused"));
            assert_eq!(error.path, path, "{case}: {error}");
        }
    }
}
