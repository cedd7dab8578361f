//! Purses that sub-clusters share, on a real PostgreSQL.

use crate::support::micro;
use crate::support::server::{PASSWORD, Server};
use heddle_economy::store::{Draw, Purse, Refusal, StoreError, Wish};
use oorandom::Rand64;
use std::collections::BTreeMap;
use std::thread::scope;

const QUEUES: [&str; 3] = ["root.a", "root.b", "root.c"];

fn open(place: &str) -> Purse {
    Purse::open(place, Some(PASSWORD), true).expect("a place")
}

fn fill(purse: &mut Purse, queue: &str, amount: i64) {
    let why = ("root", "a test");
    purse
        .add(queue, micro(amount), why, 1)
        .expect("it is added");
}

fn wish(queue: &str, number: i64, amount: i64) -> Wish {
    Wish {
        queue: queue.to_string(),
        number,
        amount: micro(amount),
    }
}

fn draw(queue: &str, number: i64, amount: i64) -> Vec<Draw> {
    vec![Draw {
        queue: queue.to_string(),
        number,
        amount: micro(amount),
    }]
}

#[test]
fn a_repeated_number_draws_nothing_more() {
    let mut server = Server::start();
    let place = server.place();
    let mut purse = open(&place);
    fill(&mut purse, "root.a", 100);
    let first = [wish("root.a", 1, 30)];
    assert_eq!(purse.draw("east", &first, 2), Ok(draw("root.a", 1, 30)));
    // Another process of the same sub-cluster, after a lost answer; it may lack less by now.
    let again = [wish("root.a", 1, 7)];
    assert_eq!(
        open(&place).draw("east", &again, 3),
        Ok(draw("root.a", 1, 30))
    );
    assert_eq!(purse.draw("west", &first, 4), Ok(draw("root.a", 1, 30)));
    assert_eq!(
        purse.draw("west", &[wish("root.a", 2, 90)], 5),
        Ok(draw("root.a", 2, 40))
    );
    assert_eq!(
        purse.draw("west", &[wish("root.a", 3, 90)], 6),
        Ok(vec![]),
        "empty"
    );
    // The process that had the answer does not ask an empty purse; one that may lack it does.
    assert_eq!(purse.draw("west", &[wish("root.a", 2, 90)], 7), Ok(vec![]));
    purse.not_booked();
    assert_eq!(
        purse.draw("west", &[wish("root.a", 2, 90)], 8),
        Ok(draw("root.a", 2, 40))
    );
    assert_eq!(
        purse.draw("east", &[wish("root.none", 1, 9)], 9),
        Ok(vec![]),
        "no purse"
    );
    let balance = &purse.balances().expect("figures that add up")[0];
    assert_eq!((balance.granted_micro, balance.left), (100, micro(0)));
    assert_eq!(
        balance.drawn_micro,
        [("east".to_string(), 30), ("west".to_string(), 70)]
    );
}

/// Six processes, two for each sub-cluster as in a failover, draw at the same time and repeat
/// numbers as after lost answers.
#[test]
fn draws_at_the_same_time_give_out_what_is_there_once() {
    let mut server = Server::start();
    let place = server.place();
    let mut purse = open(&place);
    QUEUES
        .iter()
        .for_each(|queue| fill(&mut purse, queue, 5_000));
    let drawn = scope(|threads| {
        let started = (0..6).map(|process: u64| {
            let place = &place;
            threads.spawn(move || {
                let mut random = Rand64::new(process.into());
                let (mut purse, cluster) = (open(place), format!("c{}", process / 2));
                let mut heard = BTreeMap::new();
                for number in 1..=20 {
                    for repeat in 0..=random.rand_range(0..2) {
                        let wish = |queue: &&str| wish(queue, number, 100 + repeat as i64);
                        let wishes: Vec<Wish> = QUEUES.iter().map(wish).collect();
                        purse.not_booked();
                        for draw in purse.draw(&cluster, &wishes, 1).expect("it answers") {
                            heard.insert((cluster.clone(), draw.queue, number), draw.amount);
                        }
                    }
                }
                heard
            })
        });
        let started: Vec<_> = started.collect();
        let mut drawn = BTreeMap::new();
        for thread in started {
            for (key, amount) in thread.join().expect("no panic") {
                let known = *drawn.entry(key.clone()).or_insert(amount);
                assert_eq!(known, amount, "{key:?} was drawn twice");
            }
        }
        drawn
    });
    for balance in purse.balances().expect("figures that add up") {
        assert_eq!(balance.left, micro(0), "{balance:?}");
        let of_queue = drawn
            .iter()
            .filter(|((_, queue, _), _)| *queue == balance.queue);
        let sum: i64 = of_queue.map(|(_, amount)| amount.micro()).sum();
        assert_eq!(sum, 5_000, "{}", balance.queue);
    }
}

#[test]
fn wrong_input_changes_nothing() {
    let mut server = Server::start();
    let place = server.place();
    for wrong in ["sqlite:x", "file:x", "", "purse"] {
        assert!(Purse::open(wrong, None, true).is_err(), "{wrong}");
    }
    let missing = Purse::open(&place, Some(PASSWORD), false)
        .expect("a place")
        .balances();
    assert_eq!(missing, Err(StoreError::Refused(Refusal::Empty)));
    let mut purse = open(&place);
    let most = 1_000_000_000_000_000;
    fill(&mut purse, "root.a", most);
    let much = purse.add("root.a", micro(1), ("root", ""), 1);
    assert_eq!(
        much,
        Err(StoreError::Refused(Refusal::TooMuch("root.a".to_string())))
    );
    for queue in ["", "root.\u{1b}[2J"] {
        assert!(
            purse.add(queue, micro(1), ("root", ""), 1).is_err(),
            "{queue:?}"
        );
    }
    assert!(
        purse.draw("", &[wish("root.a", 1, 1)], 1).is_err(),
        "no name"
    );
    let balances = purse.balances().expect("figures that add up");
    assert_eq!((balances.len(), balances[0].left), (1, micro(most)));
    // A figure that was changed by hand is found.
    let name = place.rsplit('/').next().expect("a name");
    let sql = "UPDATE heddle_purse.purses SET left_micro = 7";
    server.client(name).batch_execute(sql).expect("it may");
    assert!(matches!(purse.balances(), Err(StoreError::Corrupt { .. })));
}
