//! YARN's exit statuses of containers, as far as Heddle tells them apart
//! (`ContainerExitStatus`, and the signal that stops a container).

/// Its node left.
pub const LOST: i32 = -100;
/// The scheduler took it.
pub const PREEMPTED: i32 = -102;
/// Its ApplicationMaster stopped it.
pub const STOPPED: i32 = -105;
/// Its task succeeded: it ended by itself, or its ApplicationMaster stopped it (143: by SIGTERM).
/// The engine itself counts only 0 as success.
pub const ENDED_WELL: [i32; 3] = [0, STOPPED, 143];
