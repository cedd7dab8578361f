package io.heddle.yarn;

import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyPairGeneratorSpi;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.Security;
import org.junit.runner.JUnitCore;

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

  /** Runs JUnit with these classes. */
  public static void main(String[] classes) {
    Security.insertProviderAt(new OneKeyPair(), 1);
    JUnitCore.main(classes);
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
