package io.heddle.yarn.compat;

import static org.junit.Assert.assertTrue;

import io.heddle.yarn.AskTest;
import io.heddle.yarn.ContainerUpdateTest;
import io.heddle.yarn.LifeCycleTest;
import io.heddle.yarn.OneKeyPair;
import io.heddle.yarn.RestartTest;
import java.util.stream.Stream;
import org.junit.Test;

/**
 * Runs other tests once more on a Hadoop whose version is not tested: there the shim takes none of
 * its shortcuts, and YARN's own methods do that work. Newest Hadoop only: its version is made up.
 */
public class UntestedHadoopTest {
  /** Those in which asks are served, and containers start, change and end. */
  private static final Class<?>[] TESTS = {
    AskTest.class, ContainerUpdateTest.class, LifeCycleTest.class, RestartTest.class,
  };

  @Test
  public void withoutShortcutsAllIsTheSame() throws Exception {
    String[] names = Stream.of(TESTS).map(Class::getName).toArray(String[]::new);
    String text = new VendorJvm().run(OneKeyPair.class, names);
    assertTrue(text, text.contains("is not tested with Hadoop " + VendorJvm.VERSION));
    assertTrue(text, text.contains("\nOK ("));
  }
}
