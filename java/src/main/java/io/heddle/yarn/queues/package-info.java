/**
 * The queues as YARN wants them: objects with metrics, descriptions, rights, and what the engine
 * said of each. Shares and limits are the engine's.
 */
package io.heddle.yarn.queues;
