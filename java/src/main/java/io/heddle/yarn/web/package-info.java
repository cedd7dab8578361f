/**
 * The scheduler's answers on the ResourceManager's own port: a servlet filter, the stock REST
 * answer and page about queues, from snapshots and without a lock; and what the library answers
 * itself, which takes an engine's lock for reports that are not half a second young.
 */
package io.heddle.yarn.web;
