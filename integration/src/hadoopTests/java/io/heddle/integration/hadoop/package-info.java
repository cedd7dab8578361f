/** Runs Hadoop's own tests, from its published jar, with Heddle and with the stock schedulers. */
package io.heddle.integration.hadoop;
