package io.heddle.yarn.web;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.http.lib.StaticUserWebFilter;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.security.http.RMAuthenticationFilterInitializer;

/**
 * Puts {@link HeddleFilter} last into the chain of filters that a ResourceManager's web server will
 * have, and once more before a filter that demands, say, a Kerberos ticket. Lets the filter find
 * that ResourceManager again.
 *
 * <p>A scheduler is made before the web server, from the same configuration object, so the web
 * server reads what it writes there. The web server knows the filter by class name only, so the
 * configuration has a number for the ResourceManager. The filter asks the ResourceManager for its
 * scheduler at each request: one that loses the lead makes a second scheduler for the same web
 * server, and one JVM may have several ResourceManagers.
 */
public final class FilterSetup {
  /** Whether the scheduler answers on the ResourceManager's port at all. */
  public static final String ENABLE_PROPERTY = "heddle.web.enable";

  /** Whether signed requests need no other login where the web server demands one. */
  public static final String SIGNATURE_PROPERTY = "heddle.web.signature-suffices";

  static final String INITIALIZERS = "hadoop.http.filter.initializers";
  static final String AUTHENTICATION_TYPE = "hadoop.http.authentication.type";
  /** Written by the scheduler, not by operators. */
  static final String NUMBER_PROPERTY = "heddle.web.resource-manager";

  /** Hadoop's initializers that authenticate. */
  private static final List<String> AUTHENTICATION = Arrays.asList(
      "org.apache.hadoop.security.AuthenticationFilterInitializer",
      RMAuthenticationFilterInitializer.class.getName(),
      "org.apache.hadoop.security.authentication.server.ProxyUserAuthenticationFilterInitializer");
  private static final String SIMPLE = "simple";

  private static final AtomicLong LAST_NUMBER = new AtomicLong();
  // Weak references, because a ResourceManager that stops does not say so.
  private static final Map<String, WeakReference<ResourceManager>> BY_NUMBER =
      new ConcurrentHashMap<>();

  private FilterSetup() {}

  /**
   * Adds the filter to the configuration of a ResourceManager whose web server has not started.
   *
   * @param conf the ResourceManager's own object, or null
   * @param resourceManager null where there is none, as in tests of a scheduler alone
   */
  public static void install(Configuration conf, ResourceManager resourceManager) {
    if (conf == null || resourceManager == null || !conf.getBoolean(ENABLE_PROPERTY, true)) {
      return;
    }
    conf.set(NUMBER_PROPERTY, numberOf(resourceManager));
    addInitializer(conf, UserGroupInformation.isSecurityEnabled());
  }

  private static synchronized String numberOf(ResourceManager resourceManager) {
    BY_NUMBER.values().removeIf(known -> known.get() == null);
    for (Map.Entry<String, WeakReference<ResourceManager>> known : BY_NUMBER.entrySet()) {
      if (known.getValue().get() == resourceManager) {
        return known.getKey();
      }
    }
    String number = String.valueOf(LAST_NUMBER.incrementAndGet());
    BY_NUMBER.put(number, new WeakReference<>(resourceManager));
    return number;
  }

  /** Returns the ResourceManager of a number, or null if it is gone or the number is null. */
  static ResourceManager find(String number) {
    WeakReference<ResourceManager> known = number == null ? null : BY_NUMBER.get(number);
    return known == null ? null : known.get();
  }

  /**
   * Adds our initializer after the operator's, so that the sender is known by then.
   *
   * <p>Without security and with no initializer, or Hadoop's default alone, the ResourceManager
   * puts its own authentication before it ({@code RMWebAppUtil.setupSecurityAndFilters}). It
   * compares the list with exactly these, so this method does the same, because it adds ours.
   *
   * <p>Where authentication demands a proof (Kerberos, LDAP, another), our initializer for signed
   * requests stands right before it. Filters run in the order of this list in every Hadoop. With
   * Kerberos the ResourceManager replaces Hadoop's filter by its own ({@code RMWebAppUtil}) and
   * keeps the order. Filters that the operator put before authentication, such as a list of
   * addresses that may ask, still see every request. Ours goes before no filter but those of
   * {@link #AUTHENTICATION}.
   */
  static void addInitializer(Configuration conf, boolean secure) {
    List<String> initializers = new ArrayList<>(conf.getTrimmedStringCollection(INITIALIZERS));
    initializers.remove(HeddleFilterInitializer.class.getName());
    initializers.remove(SignedFilterInitializer.class.getName());
    List<String> byDefault = Collections.singletonList(StaticUserWebFilter.class.getName());
    if (!secure && (initializers.isEmpty() || initializers.equals(byDefault))) {
      initializers.add(0, RMAuthenticationFilterInitializer.class.getName());
      conf.set(AUTHENTICATION_TYPE, SIMPLE);
    }
    boolean demands = !SIMPLE.equals(conf.getTrimmed(AUTHENTICATION_TYPE, SIMPLE));
    int authentication = 0;
    while (authentication < initializers.size()
        && !AUTHENTICATION.contains(initializers.get(authentication))) {
      authentication++;
    }
    if (demands && authentication < initializers.size()
        && conf.getBoolean(SIGNATURE_PROPERTY, true)) {
      initializers.add(authentication, SignedFilterInitializer.class.getName());
    }
    initializers.add(HeddleFilterInitializer.class.getName());
    conf.set(INITIALIZERS, String.join(",", initializers));
  }
}
