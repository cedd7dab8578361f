package io.heddle.yarn.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.ArrayList;
import java.util.List;
import javax.servlet.FilterChain;
import javax.servlet.FilterConfig;
import javax.servlet.ServletException;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.RMWebAppUtil;
import org.junit.Test;

/** Tests the parts of the web that need no web server; WebTest tests the view of clients. */
public class WebPartsTest {
  private static final String STATIC_USER = "org.apache.hadoop.http.lib.StaticUserWebFilter";
  private static final String SPNEGO =
      "org.apache.hadoop.security.AuthenticationFilterInitializer";
  private static final String CROSS_ORIGIN =
      "org.apache.hadoop.security.HttpCrossOriginFilterInitializer";
  private static final String MANAGERS =
      "org.apache.hadoop.yarn.server.security.http.RMAuthenticationFilterInitializer";
  private static final String SIGNED = SignedFilterInitializer.class.getName();
  private static final String OURS = HeddleFilterInitializer.class.getName();

  private static String chain(String configured, boolean secure) {
    Configuration conf = new Configuration(false);
    if (configured != null) {
      conf.set(FilterSetup.INITIALIZERS, configured);
    }
    return completed(conf, secure);
  }

  private static String completed(Configuration conf, boolean secure) {
    FilterSetup.addInitializer(conf, secure);
    String once = conf.get(FilterSetup.INITIALIZERS);
    FilterSetup.addInitializer(conf, secure);
    assertEquals("a second scheduler changes nothing", once, conf.get(FilterSetup.INITIALIZERS));
    return once;
  }

  @Test
  public void ourFilterIsLastAndWhatWasThereStays() {
    // The list as the ResourceManager itself would complete it.
    assertEquals(MANAGERS + "," + OURS, chain(null, false));
    assertEquals(MANAGERS + "," + OURS, chain("", false));
    assertEquals(MANAGERS + "," + STATIC_USER + "," + OURS, chain(" " + STATIC_USER, false));
    assertEquals(SPNEGO + "," + OURS, chain(SPNEGO, false));
    assertEquals(CROSS_ORIGIN + "," + STATIC_USER + "," + OURS,
        chain(CROSS_ORIGIN + ",\n " + STATIC_USER + " ", false));
    assertEquals(OURS, chain("", true));
    assertEquals(STATIC_USER + "," + OURS, chain(STATIC_USER, true));
    assertEquals(SPNEGO + "," + CROSS_ORIGIN + "," + OURS,
        chain(OURS + "," + SPNEGO + "," + CROSS_ORIGIN, true));
  }

  @Test
  public void simpleAuthenticationIsSetOnlyWhereTheResourceManagerWould() {
    Configuration conf = new Configuration(false);
    conf.set(FilterSetup.INITIALIZERS, SPNEGO);
    conf.set(FilterSetup.AUTHENTICATION_TYPE, "kerberos");
    FilterSetup.addInitializer(conf, false);
    assertEquals("kerberos", conf.get(FilterSetup.AUTHENTICATION_TYPE));
    conf.set(FilterSetup.INITIALIZERS, STATIC_USER);
    FilterSetup.addInitializer(conf, false);
    assertEquals("simple", conf.get(FilterSetup.AUTHENTICATION_TYPE));
  }

  /** An operator's filters before authentication see every request, also a signed one. */
  @Test
  public void signedRequestsAreAnsweredRightBeforeAuthenticationThatDemandsSomething() {
    String proxies =
        "org.apache.hadoop.security.authentication.server.ProxyUserAuthenticationFilterInitializer";
    String operators = "com.example.AddressesInitializer";
    for (String type : new String[] {"kerberos", "ldap", "com.example.Handler", " kerberos "}) {
      assertEquals(SIGNED + "," + SPNEGO + "," + OURS, demanding(type, SPNEGO, true));
      assertEquals(operators + "," + SIGNED + "," + proxies + "," + SPNEGO + "," + CROSS_ORIGIN
          + "," + OURS,
          demanding(type, operators + "," + proxies + "," + SPNEGO + "," + CROSS_ORIGIN, true));
      assertEquals(SIGNED + "," + MANAGERS + "," + OURS, demanding(type, MANAGERS, true));
      // No known authentication filter is present, or the operator turned the setting off.
      assertEquals(operators + "," + OURS, demanding(type, operators, true));
      assertEquals(SPNEGO + "," + OURS, demanding(type, SPNEGO, false));
    }
    assertEquals(SPNEGO + "," + OURS, demanding("simple", SPNEGO, true));
  }

  private static String demanding(String type, String configured, boolean suffices) {
    Configuration conf = new Configuration(false);
    conf.set(FilterSetup.INITIALIZERS, configured);
    conf.set(FilterSetup.AUTHENTICATION_TYPE, type);
    conf.setBoolean(FilterSetup.SIGNATURE_PROPERTY, suffices);
    return completed(conf, true);
  }

  /** With Kerberos the ResourceManager rewrites the list once more; its own filter stays first. */
  @Test
  public void theResourceManagersOwnRewriteKeepsUsLast() {
    System.setProperty("java.security.krb5.realm", "EXAMPLE.COM");
    System.setProperty("java.security.krb5.kdc", "localhost");
    Configuration secure = new YarnConfiguration();
    secure.set("hadoop.security.authentication", "kerberos");
    UserGroupInformation.setConfiguration(secure);
    try {
      secure.set(FilterSetup.INITIALIZERS, SPNEGO + "," + CROSS_ORIGIN);
      secure.set(FilterSetup.AUTHENTICATION_TYPE, "kerberos");
      FilterSetup.addInitializer(secure, UserGroupInformation.isSecurityEnabled());
      RMWebAppUtil.setupSecurityAndFilters(secure, null);
      assertEquals(SIGNED + "," + MANAGERS + "," + CROSS_ORIGIN + "," + OURS,
          secure.get(FilterSetup.INITIALIZERS));
    } finally {
      UserGroupInformation.setConfiguration(new YarnConfiguration());
      System.clearProperty("java.security.krb5.realm");
      System.clearProperty("java.security.krb5.kdc");
    }
  }

  @Test
  public void everyResourceManagerIsFoundByItsOwnNumber() {
    Configuration shared = new Configuration(false);
    ResourceManager one = new ResourceManager();
    ResourceManager other = new ResourceManager();
    FilterSetup.install(shared, one);
    String first = shared.get(FilterSetup.NUMBER_PROPERTY);
    Configuration copy = new Configuration(shared);
    FilterSetup.install(copy, other);
    String second = copy.get(FilterSetup.NUMBER_PROPERTY);
    assertNotEquals(first, second);
    assertSame(one, FilterSetup.find(first));
    assertSame(other, FilterSetup.find(second));
    // Its second scheduler, after it became standby.
    FilterSetup.install(shared, one);
    assertEquals(first, shared.get(FilterSetup.NUMBER_PROPERTY));
    assertNull(FilterSetup.find("0"));
    assertNull(FilterSetup.find(null));
  }

  @Test
  public void whereItIsSwitchedOffOrThereIsNoServerNothingChanges() {
    Configuration off = new Configuration(false);
    off.setBoolean(FilterSetup.ENABLE_PROPERTY, false);
    FilterSetup.install(off, new ResourceManager());
    assertNull(off.get(FilterSetup.INITIALIZERS));
    Configuration alone = new Configuration(false);
    FilterSetup.install(alone, null);
    assertNull(alone.get(FilterSetup.INITIALIZERS));
    FilterSetup.install(null, new ResourceManager());
    new HeddleFilterInitializer().initFilter(null, alone);
  }

  @Test
  public void aBrokenFilterPassesRequestsOn() throws Exception {
    HeddleFilter filter = new HeddleFilter();
    filter.init(mock(FilterConfig.class));
    HttpServletResponse response = mock(HttpServletResponse.class);
    List<Object> passed = new ArrayList<>();
    FilterChain chain = (request, ignored) -> passed.add(request);
    HttpServletRequest ours = mock(HttpServletRequest.class);
    when(ours.getServletPath()).thenReturn("/ws/v1/cluster/scheduler");
    // It has no context, so that asking for it fails.
    filter.doFilter(ours, response, chain);
    HttpServletRequest broken = mock(HttpServletRequest.class);
    when(broken.getServletPath()).thenThrow(new LinkageError("provoked by a test"));
    filter.doFilter(broken, response, chain);
    HttpServletRequest pathless = mock(HttpServletRequest.class);
    filter.doFilter(pathless, response, chain);
    assertEquals(3, passed.size());
    assertTrue(passed.contains(broken));
  }

  @Test
  public void whatOthersThrowIsNotOurs() throws Exception {
    ServletException theirs = new ServletException("of another page");
    try {
      new HeddleFilter().doFilter(mock(HttpServletRequest.class),
          mock(HttpServletResponse.class), (request, response) -> {
            throw theirs;
          });
      fail("swallowed");
    } catch (ServletException e) {
      assertSame(theirs, e);
    }
  }
}
