/** Members of Hadoop that differ between the supported versions. */
package io.heddle.yarn.compat;
