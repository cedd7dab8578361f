/**
 * How long jobs wait for what nodes have: from an ask to its container and to its start, and the
 * turn-around of small jobs of three frameworks, under Heddle and the stock schedulers, with the
 * intervals of reports that YARN has by default.
 */
package io.heddle.integration.grants;
