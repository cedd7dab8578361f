/**
 * Collects facts about jobs and nodes that YARN does not tell the scheduler: progress, and answers
 * of ApplicationMasters and NodeManagers, which the library reads. All of them are optional.
 */
package io.heddle.yarn.facts;
