/**
 * Finds out about jobs and nodes what YARN does not tell the scheduler: progress, and answers of
 * ApplicationMasters and NodeManagers, which the library reads. All of it is optional.
 */
package io.heddle.yarn.facts;
