/**
 * The scheduler's answers on the ResourceManager's own port: a servlet filter, the stock REST
 * answer and page about queues, which the library writes from a snapshot without a lock; and what
 * it answers from its engine, which takes the engine's lock for reports older than half a second.
 */
package io.heddle.yarn.web;
