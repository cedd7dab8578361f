//! The older form of the allocations file: `pool minMaps minReduces` on each line, with spaces or
//! tabs between. Skips blank lines, and comments from a `#` at the beginning of a word.

use super::{Draft, Pool, count};
use crate::config::text::{Fault, shown};

pub(super) fn read(text: &str, draft: &mut Draft) -> Result<(), Fault> {
    for (line, text) in (1..).zip(text.lines()) {
        let words = text.split_whitespace();
        let words: Vec<&str> = words.take_while(|word| !word.starts_with('#')).collect();
        let [name, maps, reduces] = words[..] else {
            if words.is_empty() {
                continue;
            }
            let problem = format!(
                "expected a pool, its minimum of map slots and its minimum of reduce slots, such \
                 as `ads 10 5`, found {}",
                shown(text.trim())
            );
            return Err(Fault::new(line, problem));
        };
        let pool = draft.pool(line, name)?;
        draft.read.pools.push(Pool {
            min_maps: Some(count(line, "minimum of map slots", maps)?),
            min_reduces: Some(count(line, "minimum of reduce slots", reduces)?),
            ..pool
        });
    }
    Ok(())
}
