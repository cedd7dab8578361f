//! Which tasks of a job its ApplicationMaster is asked about one by one, and what its list of tasks
//! tells of the others. A list has the progress of each task in one answer, but neither its
//! container nor whether it commits, nor the bytes of an ended map. Those need questions for each
//! task, so a poll asks few.

use heddle_core::stage::entry::Wants;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// As many reduces as a policy takes for samples of all.
const SAMPLES: usize = 5;
/// The most questions about single tasks in a poll.
const QUESTIONS_MAX: usize = 32;
/// Progress from which a task may soon commit, in thousandths.
const NEAR_END: u32 = 900;

/// A running attempt: container, progress in thousandths, start of the reduce function or -1, and
/// whether it commits.
type Attempt = (String, u32, i64, bool);

/// What the last polls found, and a new list.
#[derive(Deserialize)]
pub(crate) struct Look {
    state: Option<State>,
    /// Running attempts by task, as answered after the last look.
    answers: Option<BTreeMap<String, Vec<Attempt>>>,
    /// Attempts of ended maps whose output was told after the last look.
    outputs: Option<Vec<String>>,
    /// The lists of tasks that were asked for.
    lists: Vec<List>,
    /// Kinds of tasks that were asked for, by the names of `Wants`.
    wants: BTreeMap<String, Vec<String>>,
}

/// The answer to `../tasks`, as `replies` returns it.
#[derive(Deserialize)]
struct List {
    /// The running tasks: id, progress, start; the first to begin first.
    running: Vec<(String, u32, i64)>,
    /// Ended maps and their attempts.
    ended: Vec<(String, String)>,
}

/// The tasks that have been asked about and ran at the last look.
#[derive(Default, Serialize, Deserialize)]
struct State {
    /// Number of this look.
    turn: u64,
    tasks: BTreeMap<String, Known>,
    /// Attempts of ended maps whose output has been told.
    outputs: BTreeSet<String>,
}

#[derive(Default, Serialize, Deserialize)]
struct Known {
    /// The look after which it was asked about last.
    turn: u64,
    /// Its only running attempt; none if several run, which the list does not tell apart.
    attempt: Option<Attempt>,
}

impl State {
    /// Returns the ended maps, each with its attempt, whose output has not been `told`.
    fn unknown_outputs<'a>(
        &mut self,
        ended: impl Iterator<Item = &'a (String, String)>,
        told: Vec<String>,
    ) -> Vec<&'a (String, String)> {
        let mut before = std::mem::take(&mut self.outputs);
        before.extend(told);
        let (known, unknown): (Vec<_>, Vec<_>) =
            ended.partition(|(_, attempt)| before.contains(attempt));
        self.outputs = known
            .into_iter()
            .map(|(_, attempt)| attempt.clone())
            .collect();
        unknown
    }
}

/// Returns the next `state`, the tasks to `ask` about, the attempts whose progress the list has
/// `told`, and the ended maps whose `outputs` are not known: task and attempt. Asks about samples
/// first, then about tasks never asked about, those that may soon commit, and those that were asked
/// about longest ago.
pub(crate) fn look(mut look: Look) -> Value {
    let wanted = |want: Wants| {
        look.wants
            .get(want.name())
            .is_some_and(|kinds| !kinds.is_empty())
    };
    let (all, samples) = (wanted(Wants::Tasks), wanted(Wants::Progress));
    let mut state = look.state.take().unwrap_or_default();
    let ended = look.lists.iter().flat_map(|list| &list.ended);
    let ended = ended.filter(|_| wanted(Wants::Traffic));
    let outputs = state.unknown_outputs(ended, look.outputs.take().unwrap_or_default());
    let running = look.lists.iter().flat_map(|list| &list.running);
    let running: Vec<_> = running.collect();
    for (task, mut attempts) in look.answers.take().unwrap_or_default() {
        let one = attempts.len() == 1;
        let attempt = attempts.pop().filter(|_| one);
        let turn = state.turn;
        state.tasks.insert(task, Known { turn, attempt });
    }
    state.turn += 1;
    let listed: BTreeSet<&String> = running.iter().map(|(id, ..)| id).collect();
    state.tasks.retain(|id, _| listed.contains(id));
    let reduces = running.iter().filter(|(id, ..)| id.contains("_r_"));
    let samples = reduces.take(if samples { SAMPLES } else { 0 });
    let mut ask: BTreeSet<&String> = samples.map(|(id, ..)| id).collect();
    let mut order: Vec<&String> = ask.iter().copied().collect();
    if all {
        let mut others = running.clone();
        others.sort_by_key(|(id, done, started)| {
            let known = state.tasks.get(id);
            let attempt = known.and_then(|known| known.attempt.as_ref());
            let commits = attempt.is_some_and(|attempt| attempt.3);
            let far = !commits && *done < NEAR_END;
            let turn = known.map(|known| known.turn);
            (known.is_some(), far, turn, Reverse(*started), id)
        });
        let room = QUESTIONS_MAX - order.len();
        let others = others.into_iter().map(|(id, ..)| id);
        order.extend(others.filter(|id| !ask.contains(id)).take(room));
        ask.extend(&order);
    }
    let mut told: Vec<Attempt> = Vec::new();
    for (id, done, _) in running.iter().filter(|(id, ..)| !ask.contains(id)) {
        let attempt = state.tasks.get_mut(id).and_then(|k| k.attempt.as_mut());
        if let Some(attempt) = attempt.filter(|attempt| attempt.1 != *done) {
            attempt.1 = *done;
            told.push(attempt.clone());
        }
    }
    json!({ "state": state, "ask": order, "told": told, "outputs": outputs })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: char, number: usize) -> String {
        format!("task_1_0001_{kind}_{number:06}")
    }

    /// Looks at maps of this progress with earlier answers; samples nothing.
    fn look_at(state: &Value, answers: Value, progress: &[u32]) -> Value {
        let listed = progress.iter().enumerate();
        let listed: Vec<_> = listed.map(|(i, done)| (id('m', i), *done, 10)).collect();
        ask(
            json!({ "state": state, "answers": answers, "lists": [list(&listed)],
            "wants": {"tasks": ["m"], "progress": []} }),
        )
    }

    fn list(running: &[(String, u32, i32)]) -> Value {
        json!({ "running": running, "ended": [] })
    }

    fn ask(question: Value) -> Value {
        look(serde_json::from_value(question).expect("a question"))
    }

    fn running(container: &str, done: u32, commits: bool) -> Value {
        json!([[container, done, -1, commits]])
    }

    fn asked(answer: &Value) -> Vec<&str> {
        let all = answer["ask"].as_array().expect("a list").iter();
        all.filter_map(Value::as_str).collect()
    }

    #[test]
    fn a_poll_asks_few_and_the_list_tells_of_those_known() {
        let progress = [100; QUESTIONS_MAX + 2];
        let first = look_at(&Value::Null, Value::Null, &progress);
        assert_eq!(asked(&first).len(), QUESTIONS_MAX);
        assert_eq!(first["told"], json!([]));
        let mut answers = json!({});
        for (i, task) in asked(&first).into_iter().enumerate() {
            answers[task] = running(&format!("c{i}"), 100, false);
        }
        let mut progress = progress;
        // Asked about first because nothing is known of them: the last two.
        progress[0] = 300;
        let second = look_at(&first["state"], answers, &progress);
        assert_eq!(asked(&second)[..2], [id('m', 32), id('m', 33)]);
        assert_eq!(asked(&second).len(), QUESTIONS_MAX);
        let third = look_at(&second["state"], json!({}), &[300, 100]);
        // An unchanged list tells nothing.
        assert_eq!(third["told"], json!([]));
    }

    #[test]
    fn the_list_tells_the_progress_of_tasks_that_are_not_asked_about() {
        let known = |i: usize| (id('m', i), running(&format!("c{i}"), 100, false));
        let answers: serde_json::Map<_, _> = (0..QUESTIONS_MAX + 1).map(known).collect();
        let mut progress = [100; QUESTIONS_MAX + 1];
        // All were asked about at once, so the last by id is not asked about again.
        progress[QUESTIONS_MAX] = 250;
        let told = look_at(&Value::Null, json!(answers), &progress);
        assert_eq!(told["told"], json!([["c32", 250, -1, false]]));
        let again = look_at(&told["state"], json!({}), &progress);
        assert_eq!(again["told"], json!([]), "nothing is new");
    }

    #[test]
    fn tasks_near_their_end_and_those_that_commit_are_asked_about_first() {
        let state = look_at(&Value::Null, Value::Null, &[100, 100, 100, 950]);
        let answers = json!({
            id('m', 0): running("c0", 100, false), id('m', 1): running("c1", 100, false),
            id('m', 2): running("c2", 100, true), id('m', 3): running("c3", 950, false),
        });
        let next = look_at(&state["state"], answers, &[100, 100, 100, 950]);
        assert_eq!(
            asked(&next),
            [id('m', 2), id('m', 3), id('m', 0), id('m', 1)]
        );
        // Whatever was not asked about for longest is next.
        let answers = json!({ id('m', 0): running("c0", 100, false) });
        let last = look_at(&next["state"], answers, &[100, 100]);
        assert_eq!(asked(&last), [id('m', 1), id('m', 0)]);
    }

    #[test]
    fn two_attempts_at_a_task_are_not_told_apart_by_the_list() {
        let mut two = running("a", 100, false);
        two.as_array_mut()
            .expect("a list")
            .push(json!(["b", 0, -1, false]));
        let mut answers = json!({});
        for i in 0..QUESTIONS_MAX {
            answers[id('m', i)] = running("c", 100, false);
        }
        answers[id('m', QUESTIONS_MAX)] = two;
        let mut progress = [100; QUESTIONS_MAX + 1];
        progress[QUESTIONS_MAX] = 500;
        let told = look_at(&Value::Null, answers, &progress);
        assert!(!asked(&told).contains(&id('m', QUESTIONS_MAX).as_str()));
        assert_eq!(told["told"], json!([]));
    }

    #[test]
    fn samples_are_the_reduces_that_began_first() {
        let listed: Vec<_> = (0..8).map(|i| (id('r', i), 0, i as i32)).collect();
        let samples = ask(json!({ "lists": [list(&listed)], "wants": {"progress": ["r"]} }));
        let first: Vec<_> = (0..SAMPLES).map(|i| id('r', i)).collect();
        assert_eq!(asked(&samples), first);
        let wants = json!({ "progress": ["r"], "tasks": ["r"] });
        let all = ask(json!({ "lists": [list(&listed)], "wants": wants }));
        assert_eq!(asked(&all).len(), 8, "each once");
        assert_eq!(asked(&all)[..SAMPLES], first);
    }

    #[test]
    fn an_ended_map_is_asked_for_its_output_until_it_has_told() {
        let attempt = |map: usize| format!("attempt_1_0001_m_{map:06}_0");
        let look_again = |state: &Value, ended: &[usize], told: &[usize]| {
            let ended: Vec<_> = ended.iter().map(|i| (id('m', *i), attempt(*i))).collect();
            let told: Vec<_> = told.iter().map(|i| attempt(*i)).collect();
            let list = json!({ "running": [], "ended": ended });
            let wants = json!({ "traffic": ["m"] });
            ask(json!({ "state": state, "outputs": told, "lists": [list], "wants": wants }))
        };
        let asked = |look: &Value| -> Vec<Value> {
            let outputs = look["outputs"].as_array().expect("a list").iter();
            outputs.map(|row| row[0].clone()).collect()
        };
        let first = look_again(&Value::Null, &[1, 2], &[]);
        assert_eq!(asked(&first), [id('m', 1), id('m', 2)]);
        assert_eq!(first["outputs"][0][1], attempt(1));
        // The second did not answer.
        let second = look_again(&first["state"], &[1, 2, 3], &[1]);
        assert_eq!(asked(&second), [id('m', 2), id('m', 3)]);
        let third = look_again(&second["state"], &[1, 2, 3], &[2, 3]);
        assert_eq!(asked(&third), [] as [Value; 0]);
        let list = json!({ "running": [], "ended": [(id('m', 1), attempt(1))] });
        let unwanted = ask(json!({ "lists": [list], "wants": {"tasks": ["m"]} }));
        assert_eq!(unwanted["outputs"], json!([]));
    }
}
