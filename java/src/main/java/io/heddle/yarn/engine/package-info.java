/**
 * The interface to the native library: frames, requests, and the engine's numbers and keys. Does
 * not interpret events.
 */
package io.heddle.yarn.engine;
