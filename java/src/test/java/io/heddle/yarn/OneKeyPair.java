package io.heddle.yarn;

import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyPairGeneratorSpi;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.Security;
import org.junit.internal.TextListener;
import org.junit.runner.JUnitCore;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/**
 * Runs tests in a JVM whose ResourceManagers share one short RSA key. Each makes a key for its web
 * proxy, and the search for its primes was two fifths of the shim's tests. Nothing here uses it.
 */
public final class OneKeyPair extends Provider {
  private static final long serialVersionUID = 1;
  private static final int BITS = 1024;
  private static KeyPair pair;

  private OneKeyPair() {
    super("OneKeyPair", 1, "one RSA key pair");
    put("KeyPairGenerator.RSA", Generator.class.getName());
  }

  /** Runs JUnit with these classes, and names the tests that their assumptions skip. */
  public static void main(String[] names) throws ClassNotFoundException {
    Security.insertProviderAt(new OneKeyPair(), 1);
    Class<?>[] classes = new Class<?>[names.length];
    for (int i = 0; i < names.length; i++) {
      classes[i] = Class.forName(names[i], false, OneKeyPair.class.getClassLoader());
    }
    JUnitCore junit = new JUnitCore();
    junit.addListener(new TextListener(System.out));
    junit.addListener(new Skipped());
    System.exit(junit.run(classes).wasSuccessful() ? 0 : 1);
  }

  /** JUnit counts them as run, and says nothing. */
  private static final class Skipped extends RunListener {
    @Override
    public void testAssumptionFailure(Failure assumption) {
      System.out.println("\nSkipped: " + assumption);
    }
  }

  /** Answers with the one pair, whatever size was asked for. */
  public static final class Generator extends KeyPairGeneratorSpi {
    @Override
    public void initialize(int bits, SecureRandom random) {}

    @Override
    public KeyPair generateKeyPair() {
      synchronized (OneKeyPair.class) {
        if (pair == null) {
          try {
            KeyPairGenerator made = KeyPairGenerator.getInstance("RSA", "SunRsaSign");
            made.initialize(BITS);
            pair = made.generateKeyPair();
          } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
          }
        }
        return pair;
      }
    }
  }
}
