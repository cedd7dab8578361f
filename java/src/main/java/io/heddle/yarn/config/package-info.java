/**
 * Finds, reads and watches the configuration files. The engine checks what they say.
 */
package io.heddle.yarn.config;
