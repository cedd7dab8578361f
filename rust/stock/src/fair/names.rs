//! The names of the elements of fair-scheduler.xml.

/// Elements directly in `<allocations>` with others in them.
pub(super) const OVER_ALLOCATIONS: &[&str] = &["queue", "pool", "user", "queuePlacementPolicy"];

/// Elements directly in `<allocations>` with a value.
pub(super) const OF_ALLOCATIONS: &[&str] = &[
    "userMaxAppsDefault",
    "queueMaxAppsDefault",
    "queueMaxResourcesDefault",
    "queueMaxAMShareDefault",
    "defaultQueueSchedulingPolicy",
    "defaultQueueSchedulingMode",
    "defaultMinSharePreemptionTimeout",
    "defaultFairSharePreemptionTimeout",
    "fairSharePreemptionTimeout",
    "defaultFairSharePreemptionThreshold",
    "reservation-planner",
    "reservation-agent",
    "reservation-policy",
];

/// Elements of a queue with a value.
pub(super) const OF_QUEUE: &[&str] = &[
    "weight",
    "minResources",
    "maxResources",
    "maxChildResources",
    "maxContainerAllocation",
    "maxRunningApps",
    "maxAMShare",
    "schedulingPolicy",
    "schedulingMode",
    "minSharePreemptionTimeout",
    "fairSharePreemptionTimeout",
    "fairSharePreemptionThreshold",
    "allowPreemptionFrom",
    "aclSubmitApps",
    "aclAdministerApps",
    "aclAdministerReservations",
    "aclListReservations",
    "aclSubmitReservations",
    "reservation",
];
