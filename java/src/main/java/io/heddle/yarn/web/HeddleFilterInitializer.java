package io.heddle.yarn.web;

import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.http.FilterContainer;
import org.apache.hadoop.http.FilterInitializer;

/**
 * Adds {@link HeddleFilter} to a web server; made by Hadoop, by name, because {@link FilterSetup}
 * wrote it into the configuration.
 */
public final class HeddleFilterInitializer extends FilterInitializer {
  @Override
  public void initFilter(FilterContainer container, Configuration conf) {
    String number = conf.get(FilterSetup.NUMBER_PROPERTY);
    if (number != null) {
      container.addFilter("heddle", HeddleFilter.class.getName(),
          Collections.singletonMap(FilterSetup.NUMBER_PROPERTY, number));
    }
  }
}
