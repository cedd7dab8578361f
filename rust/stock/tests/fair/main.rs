//! `fair-scheduler.xml`: random files, and hostile ones.

mod files;
mod hostile;
mod random;
