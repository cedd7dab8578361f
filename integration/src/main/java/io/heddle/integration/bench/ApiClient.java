/*
 * One client of the API: sends one request after the other over one connection, signed with version
 * 2 where a signature is required. rust/economy/src/auth/canonical.rs describes the signed text.
 */
package io.heddle.integration.bench;

import io.heddle.integration.cluster.Await;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.util.UUID;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Sends a request and waits for the answer. */
final class ApiClient {
  /** The requests, which are sent in turn. */
  enum Question {
    QUEUES("/heddle/v1/queues", "", true),
    JOBS("/heddle/v1/jobs", "from=0&max=100", true),
    PRICE("/heddle/v1/price", "", false),
    PUBLISHED_PRICE("/scheduler", "price", false);

    final String path;
    final String query;
    final boolean signed;

    Question(String path, String query, boolean signed) {
      this.path = path;
      this.query = query;
      this.signed = signed;
    }
  }

  private static final String USER = "bench";
  private static final String SECRET = UUID.randomUUID().toString();
  private static final String NO_BODY =
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  private static final long VALID_MS = 60_000;
  private static final int TIMEOUT_MS = 30_000;
  private static final int READY_SECONDS = Await.SECONDS;

  private final String address;
  private final Mac mac;
  private final String noncePrefix = UUID.randomUUID().toString();
  private final byte[] rest = new byte[1 << 14];
  private long requests;

  ApiClient(String address) throws GeneralSecurityException {
    this.address = address;
    mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(SECRET.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
  }

  /** Writes the ACL file with the user of these clients. */
  static Path writeAcl(Path folder) throws IOException {
    Path file = folder.resolve("heddle.acl");
    Files.createFile(file,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    String line = USER + " admin " + SECRET + "\n";
    return Files.write(file, line.getBytes(StandardCharsets.UTF_8));
  }

  /** Waits until a request is answered, because a separate thread opens the books. */
  void awaitAnswer(Question question) throws IOException, InterruptedException {
    int status = ask(question);
    long end = System.nanoTime() + READY_SECONDS * 1_000_000_000L;
    while (status != 200 && System.nanoTime() < end) {
      Thread.sleep(200);
      status = ask(question);
    }
    if (status != 200) {
      throw new IllegalStateException(question.path + " answers " + status);
    }
  }

  int ask(Question question) throws IOException {
    return ask(question.path, question.query, question.signed);
  }

  /** Sends a request and reads the whole answer; returns the status. */
  int ask(String path, String query, boolean signed) throws IOException {
    URL url = new URL(address + path + (query.isEmpty() ? "" : "?" + query));
    HttpURLConnection connection = (HttpURLConnection) url.openConnection();
    connection.setConnectTimeout(TIMEOUT_MS);
    connection.setReadTimeout(TIMEOUT_MS);
    if (signed) {
      connection.setRequestProperty("Authorization", header(path, query));
    }
    int status = connection.getResponseCode();
    // Read to the end, because only then the connection is reused.
    try (InputStream in = status < 400 ? connection.getInputStream()
        : connection.getErrorStream()) {
      while (in != null && in.read(rest) >= 0) {
        continue;
      }
    }
    return status;
  }

  private String header(String path, String query) {
    long now = System.currentTimeMillis();
    String nonce = noncePrefix + "-" + ++requests;
    String text = "HEDDLE-REQUEST-V2\nGET\n" + path + "\n" + query + "\n" + NO_BODY + "\n"
        + USER + "\n" + now + "\n" + (now + VALID_MS) + "\n" + nonce + "\n";
    StringBuilder signature = new StringBuilder();
    for (byte b : mac.doFinal(text.getBytes(StandardCharsets.UTF_8))) {
      signature.append(Character.forDigit(b >> 4 & 0xF, 16));
      signature.append(Character.forDigit(b & 0xF, 16));
    }
    return "Heddle-HMAC-SHA256 user=" + USER + ",timestamp=" + now + ",expires=" + (now + VALID_MS)
        + ",nonce=" + nonce + ",signature=" + signature;
  }
}
