/**
 * The library's service beside the engine, which keeps accounts and answers over HTTP, and the
 * check of signatures when a job is submitted. Hands hints over with them.
 */
package io.heddle.yarn.economy;
