/**
 * Stock schedulers as oracles: random files and applications, played on the stock scheduler and on
 * Heddle, whose answers must agree.
 */
package io.heddle.integration.stock;
