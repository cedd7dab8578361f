/** All that users, nodes and operators can do to one scheduler, from many threads at once. */
package io.heddle.integration.storm;
