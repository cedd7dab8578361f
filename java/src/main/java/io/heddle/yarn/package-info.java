/**
 * The scheduler that YARN loads: applications, attempts, nodes, containers, and the books from
 * which a new engine is filled. It may import every package but {@code recording} and {@code sls},
 * and only {@code sls} imports it; {@code rust/core/tests/house/java_packages.rs} checks all
 * imports.
 */
package io.heddle.yarn;
