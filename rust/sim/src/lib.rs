//! A simulated cluster that drives the production engine in virtual time.
