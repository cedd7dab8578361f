/**
 * Heddle in Hadoop's scheduler load simulator (SLS). Needs the jar hadoop-sls of 3.4 or later,
 * which a ResourceManager does not have. Nothing else refers to this package, so it is never
 * loaded there.
 */
package io.heddle.yarn.sls;
