package io.heddle.integration.grants;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.commons.cli.ParseException;
import org.junit.Test;

/**
 * The measurement of asks and small jobs, in its shortest form. Tests no figure but against
 * another. Newest Hadoop only, and on no older one even then: it is what the measurement runs on
 * unless told. Runs with --all only: it starts two clusters.
 */
public class GrantsTest {
  private static final int ASKS = 3;

  private static Grants grants(String... arguments) throws ParseException {
    return Grants.of(Grants.parse(arguments));
  }

  private static String refusal(String... arguments) {
    return assertThrows(ParseException.class, () -> grants(arguments)).getMessage();
  }

  @Test
  public void wrongOptionsAreRefused() {
    assertTrue(refusal("--jobs", "0").contains("--jobs must be a whole number of at least 1"));
    assertTrue(refusal("--kinds", "hive").contains("known are mapreduce,tez,spark"));
    assertTrue(refusal("--schedulers", "fifo").contains("known are heddle,"));
    assertTrue(refusal("now").contains("[now]"));
  }

  /** Daemons in processes of their own, under Heddle. */
  @Test
  public void onDaemonsEveryKindOfJobIsMeasured() throws Exception {
    List<Kind> kinds = Arrays.stream(Kind.values())
        .filter(kind -> kind.missing() == null).collect(Collectors.toList());
    if (System.getenv("HEDDLE_TEST_ALL") != null) {
      assertEquals("kinds of jobs", Arrays.asList(Kind.values()), kinds);
    }
    check(Contender.HEDDLE, kinds, "--daemons");
  }

  /** A stock scheduler, on a mini cluster. */
  @Test
  public void onAMiniClusterAStockSchedulerIsMeasured() throws Exception {
    assertNull(Kind.MAPREDUCE.missing());
    check(Contender.FAIR, Collections.singletonList(Kind.MAPREDUCE), "--kinds=mapreduce");
  }

  private static void check(Contender contender, List<Kind> kinds, String option)
      throws Exception {
    Map<Contender, List<Reading>> all = grants("--schedulers", contender.label, "--rounds=1",
        "--asks=" + ASKS, "--jobs=1", option).run();
    assertEquals(Collections.singleton(contender), all.keySet());
    for (String load : new String[] {"idle", "half-full"}) {
      List<Reading> here = all.get(contender).stream()
          .filter(one -> one.load.equals(load)).collect(Collectors.toList());
      double[] grant = of(here, Reading.GRANT);
      double[] start = of(here, Reading.START);
      assertEquals(ASKS, grant.length);
      assertEquals(ASKS, start.length);
      for (int i = 0; i < ASKS; i++) {
        assertTrue(grant[i] + " " + start[i], 0 < grant[i] && grant[i] < start[i]);
      }
      for (Kind kind : kinds) {
        double[] whole = of(here, kind.figure);
        double[] waiting = of(here, kind.waiting());
        assertEquals(kind.label, 1, whole.length);
        assertTrue(waiting[0] + " of " + whole[0], 0 <= waiting[0] && waiting[0] < whole[0]);
      }
      assertEquals(2 * (ASKS + kinds.size()), here.size());
    }
  }

  private static double[] of(List<Reading> readings, String figure) {
    return readings.stream().filter(one -> one.figure.equals(figure))
        .mapToDouble(one -> one.ms).toArray();
  }
}
