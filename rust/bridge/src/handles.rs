//! Handles: numbers that can be wrong without harm.
//!
//! A handle is `generation << 32 | slot`. Closing raises the slot's generation, so a handle that is
//! stale, forged or closed twice finds nothing. A ResourceManager that loses and regains leadership
//! makes a second scheduler in the same process, while threads may still be in the first. Closing
//! during a call is therefore normal, and waits for that call. The table knows nothing about its
//! values.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::error::BridgeError;

/// Generations stay below this, so that a handle is positive in Java, too.
const GENERATION_END: u32 = 1 << 31;

/// Values of one kind, by handle. The table's lock is held for look-ups only, each value's for the
/// length of a call, and never both at once.
#[derive(Debug)]
pub struct Table<T> {
    slots: RwLock<Slots<T>>,
}

#[derive(Debug)]
struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    /// The inner `None` is for a call that found the value just before it was closed.
    value: Option<Arc<Mutex<Option<T>>>>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table::new()
    }
}

impl<T> Table<T> {
    /// An empty table.
    pub const fn new() -> Table<T> {
        Table {
            slots: RwLock::new(Slots {
                slots: Vec::new(),
                free: Vec::new(),
            }),
        }
    }

    /// Stores `value` and returns its handle, which is never 0.
    pub fn insert(&self, value: T) -> u64 {
        let value = Some(Arc::new(Mutex::new(Some(value))));
        let mut table = self.slots.write();
        let index = match table.free.pop() {
            Some(index) => {
                table.slots[index as usize].value = value;
                index
            }
            None => {
                table.slots.push(Slot {
                    generation: 1,
                    value,
                });
                (table.slots.len() - 1) as u32
            }
        };
        handle(table.slots[index as usize].generation, index)
    }

    /// Runs `call` with the value alone, after a running call of another thread.
    ///
    /// # Errors
    /// `BadHandle` if there is no such value, or no longer.
    pub fn with<R>(&self, handle: u64, call: impl FnOnce(&mut T) -> R) -> Result<R, BridgeError> {
        let value = {
            let (generation, index) = parts(handle);
            let table = self.slots.read();
            let slot = table.slots.get(index as usize);
            let slot = slot.filter(|slot| slot.generation == generation);
            slot.and_then(|slot| slot.value.clone())
                .ok_or(BridgeError::BadHandle(handle))?
        };
        let mut value = value.lock();
        value
            .as_mut()
            .map(call)
            .ok_or(BridgeError::BadHandle(handle))
    }

    /// Takes the value out, after a running call.
    ///
    /// # Errors
    /// `BadHandle` if there is no such value, or no longer.
    pub fn remove(&self, handle: u64) -> Result<T, BridgeError> {
        let value = self.retire(handle).ok_or(BridgeError::BadHandle(handle))?;
        // The table's lock is free here: other engines go on while this call waits.
        let taken = value.lock().take();
        taken.ok_or(BridgeError::BadHandle(handle))
    }

    /// Empties the slot of a handle, so that further look-ups find nothing.
    fn retire(&self, handle: u64) -> Option<Arc<Mutex<Option<T>>>> {
        let (generation, index) = parts(handle);
        let mut table = self.slots.write();
        let slot = table.slots.get_mut(index as usize)?;
        if slot.generation != generation {
            return None;
        }
        let value = slot.value.take()?;
        slot.generation += 1;
        // A slot that has used up its generations stays empty.
        if slot.generation < GENERATION_END {
            table.free.push(index);
        }
        Some(value)
    }
}

fn handle(generation: u32, index: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(index)
}

fn parts(handle: u64) -> (u32, u32) {
    ((handle >> 32) as u32, handle as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_closed_handle_finds_nothing_even_when_its_slot_is_used_again() {
        let table = Table::new();
        let first = table.insert("first");
        assert_eq!(table.remove(first), Ok("first"));
        let second = table.insert("second");
        assert_eq!(second as u32, first as u32, "the slot is used again");
        assert_eq!(
            table.with(first, |_| ()),
            Err(BridgeError::BadHandle(first))
        );
        assert_eq!(table.remove(first), Err(BridgeError::BadHandle(first)));
        assert_eq!(table.with(second, |value| *value), Ok("second"));
    }

    #[test]
    fn forged_handles_find_nothing() {
        let table = Table::new();
        let handle = table.insert(());
        for forged in [
            0,
            1,
            u64::MAX,
            handle + 1,
            handle + (1 << 32),
            handle - (1 << 32),
        ] {
            assert_eq!(
                table.with(forged, |_| ()),
                Err(BridgeError::BadHandle(forged))
            );
            assert_eq!(table.remove(forged), Err(BridgeError::BadHandle(forged)));
        }
        assert!(handle < 1 << 63, "positive in Java");
    }

    #[test]
    fn a_slot_out_of_generations_is_not_used_again() {
        let table = Table::new();
        let handle_of_slot = table.insert(());
        table.slots.write().slots[0].generation = GENERATION_END - 1;
        let last = handle(GENERATION_END - 1, handle_of_slot as u32);
        assert_eq!(table.remove(last), Ok(()));
        assert_eq!(parts(table.insert(())), (1, 1), "a new slot");
    }

    #[test]
    fn closing_waits_for_the_call_that_runs() {
        let table = Arc::new(Table::new());
        let handle = table.insert(());
        let ended = Arc::new(AtomicBool::new(false));
        let (started, wait_for_start) = mpsc::channel();
        let (go_on, wait_to_go_on) = mpsc::channel::<()>();
        let caller = {
            let (table, ended) = (Arc::clone(&table), Arc::clone(&ended));
            thread::spawn(move || {
                table.with(handle, |()| {
                    started.send(()).unwrap();
                    wait_to_go_on.recv().unwrap();
                    ended.store(true, Ordering::SeqCst);
                })
            })
        };
        wait_for_start.recv().unwrap();
        let closer = {
            let (table, ended) = (Arc::clone(&table), Arc::clone(&ended));
            thread::spawn(move || {
                table.remove(handle).unwrap();
                assert!(ended.load(Ordering::SeqCst), "closed under a running call");
            })
        };
        // The handle becomes invalid when closing begins, before it ends.
        while table.slots.read().slots[0].value.is_some() {
            thread::yield_now();
        }
        assert_eq!(
            table.with(handle, |()| ()),
            Err(BridgeError::BadHandle(handle))
        );
        go_on.send(()).unwrap();
        caller.join().unwrap().unwrap();
        closer.join().unwrap();
    }
}
