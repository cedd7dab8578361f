package io.heddle.yarn.web;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.http.FilterContainer;
import org.apache.hadoop.http.FilterInitializer;

/**
 * Adds the {@link HeddleFilter} for signed requests to a web server, before authentication; made by
 * Hadoop, by name, because {@link FilterSetup} wrote it there into the configuration.
 */
public final class SignedFilterInitializer extends FilterInitializer {
  @Override
  public void initFilter(FilterContainer container, Configuration conf) {
    String number = conf.get(FilterSetup.NUMBER_PROPERTY);
    if (number != null) {
      Map<String, String> parameters = new HashMap<>();
      parameters.put(FilterSetup.NUMBER_PROPERTY, number);
      parameters.put(HeddleFilter.SIGNED_ONLY_PARAMETER, "true");
      container.addFilter("heddle-signed", HeddleFilter.class.getName(), parameters);
    }
  }
}
