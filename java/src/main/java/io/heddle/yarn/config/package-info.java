/**
 * Finds the configuration files and brings them into force. The library watches them, and the
 * engine checks their contents.
 */
package io.heddle.yarn.config;
