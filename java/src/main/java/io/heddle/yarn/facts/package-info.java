/**
 * Finds out about jobs and nodes what YARN does not tell the scheduler: hints of submissions,
 * progress, answers of ApplicationMasters and NodeManagers. All of it is optional.
 */
package io.heddle.yarn.facts;
