package io.heddle.integration.cluster;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.InputStream;
import java.net.URL;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;

/** What the jar in front of Hadoop's has (scripts/build.bash) says the same as Hadoop's own. */
public class FrontJarTest {
  private static final String[] DEFAULTS = {
    "core-default.xml", "hdfs-default.xml", "mapred-default.xml", "yarn-default.xml"
  };

  @Test
  public void defaultsAreHadoops() throws Exception {
    for (String name : DEFAULTS) {
      List<URL> found = inFrontFirst(name);
      Configuration front = read(found.get(0));
      Configuration hadoops = read(found.get(1));
      assertTrue(name, front.size() > 100);
      assertEquals(name, values(hadoops), values(front));
      assertEquals(name, hadoops.getFinalParameters(), front.getFinalParameters());
    }
  }

  @Test
  public void pagesAreHadoops() throws Exception {
    for (String name : new String[] {"webapps/static/yarn.css", "webapps/hdfs/explorer.html"}) {
      List<URL> found = inFrontFirst(name);
      assertArrayEquals(name, bytes(found.get(1)), bytes(found.get(0)));
    }
    // Folders, by which servers find their pages.
    for (String name : new String[] {"cluster", "datanode", "hdfs", "mapreduce", "node"}) {
      inFrontFirst("webapps/" + name);
    }
  }

  /** All places of a resource, in the order of the class path. */
  private static List<URL> inFrontFirst(String name) throws Exception {
    List<URL> found =
        Collections.list(FrontJarTest.class.getClassLoader().getResources(name));
    assertTrue(name + ": " + found, found.size() > 1);
    assertTrue(name + ": " + found, found.get(0).getPath().contains("-front.jar!/"));
    return found;
  }

  private static Configuration read(URL url) {
    Configuration conf = new Configuration(false);
    conf.addResource(url);
    return conf;
  }

  /** As the file has them: without variables replaced. */
  private static Map<String, String> values(Configuration conf) {
    Map<String, String> values = new TreeMap<>();
    conf.forEach(entry -> values.put(entry.getKey(), entry.getValue()));
    return values;
  }

  private static byte[] bytes(URL url) throws Exception {
    try (InputStream in = url.openStream()) {
      return in.readAllBytes();
    }
  }
}
