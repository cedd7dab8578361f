//! Says where Hadoop 3.3 reads a file otherwise than the later versions that Heddle follows.

use super::amount::Amount;
use super::sizes::Sizes;
use super::source::Source;
use super::tree::Creates;

const ELEMENT: &str = "Hadoop 3.3";

/// Adds one remark for each difference that the file shows.
pub(super) fn write(source: &mut Source<'_>, sizes: &Sizes<'_>) {
    let all = || sizes.partitions.values().flat_map(|queues| queues.values());
    let capacities = || all().filter_map(|size| size.capacity.as_ref());
    let weights = capacities().any(|(amount, _)| matches!(amount, Amount::Weight(_)));
    let above = all().any(|size| match (&size.capacity, &size.maximum) {
        (Some((Amount::Percent(of), _)), Some((Amount::Percent(most), _))) => of > most,
        _ => false,
    });
    let mapped = source.system("queue-mappings").is_some();
    let json = source.system("mapping-rule-format").is_some();
    for (is, how) in [
        (
            weights,
            "refuses weights such as 2w; they count as in 3.4 and later",
        ),
        (
            above,
            "refuses a capacity above maximum-capacity; later versions let the maximum hold",
        ),
        (
            source.tree.creates(Creates::Levels),
            "does not know auto-queue-creation-v2, which counts as in 3.4 and later",
        ),
        (
            !sizes.notation.legacy,
            "does not know legacy-queue-mode.enabled, which counts here",
        ),
        (
            mapped,
            "goes on without a queue where a mapping's target cannot be used; later versions, and \
             Heddle, take root.default or refuse. It does not write _dot_ for dots in names",
        ),
        (json, "does not know mapping-rule-format, which counts here"),
    ] {
        if is {
            source.remark(ELEMENT, how);
        }
    }
}
