/**
 * Hadoop's stock schedulers with a journal: they decide as ever, and a recorder writes their work
 * down for {@code heddle whatif}. The only entry points are the two scheduler classes.
 */
package io.heddle.yarn.recording;
