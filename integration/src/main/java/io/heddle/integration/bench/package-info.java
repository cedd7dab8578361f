/**
 * The benchmark: several schedulers side by side in one JVM, driven by the same events.
 *
 * <p>It measures the whole plug-in (YARN's books, the Java shim, the native calls and the engine)
 * through the two entry points that a ResourceManager uses: {@code handle(event)} and {@code
 * allocate(...)}. It does not measure the network, RPC, the dispatcher threads or the state store
 * of a ResourceManager; those are the same for every scheduler.
 */
package io.heddle.integration.bench;
