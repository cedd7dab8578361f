/**
 * The scheduler that YARN loads: applications, attempts, nodes, containers, and the books from
 * which a new engine is filled. It may import every other package, and none imports it;
 * {@code rust/core/tests/house/java_packages.rs} checks all imports.
 */
package io.heddle.yarn;
