/**
 * Runs the library's service beside the engine, which keeps accounts and answers over HTTP. Checks
 * signatures and reads hints when a job is submitted.
 */
package io.heddle.yarn.economy;
