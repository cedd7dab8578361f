/**
 * The queues as YARN needs them: objects with metrics, permissions, and the engine's descriptions.
 * The engine decides shares and limits.
 */
package io.heddle.yarn.queues;
