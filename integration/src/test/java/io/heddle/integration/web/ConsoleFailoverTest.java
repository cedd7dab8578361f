package io.heddle.integration.web;

import io.heddle.integration.cluster.MiniCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.Test;

/** Tests an open console while another ResourceManager takes over. Newest Hadoop only. */
public class ConsoleFailoverTest {
  /** The usual failover: the old one's process is gone, and redirects no request. */
  @Test
  public void anOpenConsoleFindsTheOtherWhenItsOwnIsGone() throws Exception {
    Path folder = Files.createTempDirectory("failover");
    YarnConfiguration conf = MiniManager.configuration(MiniCluster.HEDDLE, folder);
    MiniManager.heddleJson(conf, folder, "{\"policy\": \"fair\"}");
    try (MiniPair pair = new MiniPair(conf, folder); Browser browser = Browser.start()) {
      pair.activate(1);
      browser.open(pair.addresses[1] + "/heddle/");
      String shown = "document.getElementById('problem')?.textContent.includes('sign in')";
      browser.await("the console is shown", shown);
      pair.replace(1);
      browser.await("it is the other one's",
          "location.origin === '" + pair.addresses[0] + "' && " + shown);
    }
  }

  @Test
  public void anOpenConsoleGoesToTheActiveResourceManager() throws Exception {
    Path folder = Files.createTempDirectory("failover");
    YarnConfiguration conf = MiniManager.configuration(MiniCluster.HEDDLE, folder);
    MiniManager.heddleJson(conf, folder, "{\"policy\": \"fair\"}");
    try (MiniPair pair = new MiniPair(conf, folder); Browser browser = Browser.start()) {
      // The web server that was started last, and it alone, redirects in a JVM with two.
      pair.activate(1);
      browser.open(pair.addresses[1] + "/heddle/");
      String shown = "document.getElementById('problem')?.textContent.includes('sign in')";
      browser.await("the console is shown", shown);
      pair.activate(0);
      browser.await("it is the other one's",
          "location.origin === '" + pair.addresses[0] + "' && " + shown);
    }
  }
}
