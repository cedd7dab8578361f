//! Purses that sub-clusters share, on a real PostgreSQL.

use crate::support::micro;
use crate::support::server::{PASSWORD, Server};
use heddle_economy::store::{Draw, Purse, Refusal, StoreError, SubCluster, Wish};
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

fn cluster(name: &str, store: i64) -> SubCluster {
    let name = name.to_string();
    SubCluster { name, store }
}

#[test]
fn the_last_number_draws_nothing_more() {
    let mut server = Server::start();
    let place = server.place();
    let mut purse = open(&place);
    fill(&mut purse, "root.a", 100);
    let (east, west) = (cluster("east", 1), cluster("west", 2));
    let first = [wish("root.a", 1, 30)];
    assert_eq!(purse.draw(&east, &first, 2), Ok(draw("root.a", 1, 30)));
    // Another process of the same sub-cluster, after a lost answer; it may lack less by now.
    let again = [wish("root.a", 1, 7)];
    assert_eq!(
        open(&place).draw(&east, &again, 3),
        Ok(draw("root.a", 1, 30))
    );
    assert_eq!(purse.draw(&west, &first, 4), Ok(draw("root.a", 1, 30)));
    let second = [wish("root.a", 2, 90)];
    assert_eq!(purse.draw(&west, &second, 5), Ok(draw("root.a", 2, 40)));
    let third = [wish("root.a", 3, 90)];
    assert_eq!(purse.draw(&west, &third, 6), Ok(vec![]), "empty");
    assert_eq!(
        purse.draw(&west, &second, 7),
        Ok(draw("root.a", 2, 40)),
        "also if it is empty"
    );
    assert_eq!(
        purse.draw(&east, &[wish("root.none", 1, 9)], 8),
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

/// Both would be given again what was drawn before.
#[test]
fn an_old_copy_of_a_store_and_a_second_one_are_refused() {
    let mut server = Server::start();
    let mut purse = open(&server.place());
    fill(&mut purse, "root.a", 100);
    let east = cluster("east", 1);
    for number in 1..=3 {
        let drawn = purse.draw(&east, &[wish("root.a", number, 10)], 1);
        assert_eq!(drawn, Ok(draw("root.a", number, 10)));
    }
    let refused = |drawn: Result<Vec<Draw>, StoreError>| match drawn {
        Err(StoreError::Refused(Refusal::Purse(why))) => why,
        other => panic!("{other:?}"),
    };
    let why = refused(purse.draw(&east, &[wish("root.a", 2, 10)], 1));
    assert!(
        why.contains("has made 3: its store is an old copy"),
        "{why}"
    );
    let why = refused(purse.draw(&cluster("east", 7), &[wish("root.a", 1, 10)], 1));
    assert!(why.contains("has another store"), "{why}");
    assert_eq!(purse.balances().expect("they add up")[0].left, micro(70));
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
                let number = process as i64 / 2;
                let (mut purse, cluster) = (open(place), cluster(&format!("c{number}"), number));
                let mut heard = BTreeMap::new();
                for number in 1..=20 {
                    for repeat in 0..=random.rand_range(0..2) {
                        let wish = |queue: &&str| wish(queue, number, 100 + repeat as i64);
                        let wishes: Vec<Wish> = QUEUES.iter().map(wish).collect();
                        let drawn = match purse.draw(&cluster, &wishes, 1) {
                            Ok(drawn) => drawn,
                            // The other process is ahead: a real one would be fenced now.
                            Err(StoreError::Refused(Refusal::Purse(_))) => Vec::new(),
                            Err(error) => panic!("{error}"),
                        };
                        for draw in drawn {
                            heard.insert((cluster.name.clone(), draw.queue, number), draw.amount);
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
        purse
            .draw(&cluster("", 1), &[wish("root.a", 1, 1)], 1)
            .is_err(),
        "no name"
    );
    let balances = purse.balances().expect("figures that add up");
    assert_eq!((balances.len(), balances[0].left), (1, micro(most)));
    // A figure that was changed by hand is found.
    let name = place.rsplit('/').next().expect("a name");
    let sql = "UPDATE heddle_purse.purses SET left_micro = 7";
    server.client(name).batch_execute(sql).expect("it may");
    let odd = purse.balances();
    assert!(
        matches!(odd, Err(StoreError::Refused(Refusal::Purse(_)))),
        "{odd:?}"
    );
}
