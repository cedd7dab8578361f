/**
 * The crossing to the native library: frames, requests, and the numbers and keys by which the
 * engine knows things. Knows nothing of what an event means.
 */
package io.heddle.yarn.engine;
