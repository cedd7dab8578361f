/**
 * The scheduler's answers on the ResourceManager's own port, through a servlet filter. The library
 * writes the stock REST answer and page about queues from a snapshot, without a lock. Its other
 * answers come from the engine, and take the engine's lock for reports older than half a second.
 */
package io.heddle.yarn.web;
