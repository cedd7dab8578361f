/** Everything that users, nodes and operators can do to a scheduler, from many threads at once. */
package io.heddle.integration.storm;
