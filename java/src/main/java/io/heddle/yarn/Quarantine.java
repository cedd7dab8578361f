package io.heddle.yarn;

import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.HeddleException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts aside a job or node that makes the engine fail repeatedly, so that the others are still
 * scheduled. The first failure at a job or node rebuilds the engine. The second within
 * {@link FaultRecord#SUSPICION_MS} puts it aside: it is removed from the engine, and its later
 * events are muted. Its containers stay in YARN's books.
 *
 * <p>The bridge names the job or node at which the engine panicked. After {@link #UNKNOWN_MAX}
 * panics without a name, the next rebuild searches: it tells the jobs in groups, each followed by
 * a tick. The rebuild after that tells the jobs of the failing group one by one.
 *
 * <p>A job stays aside until its application ends, a node until it leaves or registers again. A
 * refresh of the queues readmits all of them. Guarded by the scheduler's write lock.
 */
final class Quarantine {
  private static final Logger LOG = LoggerFactory.getLogger(Quarantine.class);
  /** The beginning of an error in which the bridge names the job or node. */
  private static final Pattern ABOUT = Pattern.compile(
      "[\\w.]*HeddleException: (?:the engine panicked: at |bad frame: offset \\d+, record \\w+ of )"
      + "(job|node)#(\\d+)");
  private static final String PANIC =
      HeddleException.class.getName() + ": the engine panicked: ";
  /** Panics without a known culprit before the rebuild looks for one. */
  private static final int UNKNOWN_MAX = 2;

  private final Engine engine;
  private final EngineBooks books;
  private final Failures failures;
  private final List<HeddleJob> jobs = new ArrayList<>();
  // Has the time of the last search: the next one waits for SUSPICION_MS.
  private final FaultRecord searched = new FaultRecord();
  private int unknown;
  private boolean probing;
  private final List<HeddleJob> group = new ArrayList<>();
  private final Set<HeddleJob> narrow = new HashSet<>();
  private int groupSize;

  Quarantine(Engine engine, EngineBooks books, Failures failures) {
    this.engine = engine;
    this.books = books;
    this.failures = failures;
  }

  /** Blames the job or node that the cause names. Called before the next engine is made. */
  void engineLost(String cause) {
    if (probing) {
      // The group told last is at fault; probe() handles it.
      return;
    }
    long now = EngineClock.nowMs();
    Matcher about = ABOUT.matcher(cause);
    if (about.lookingAt()) {
      int id = Integer.parseInt(about.group(2));
      HeddleJob job = books.job(id);
      HeddleNode node = books.node(id);
      if (about.group(1).equals("node")) {
        blame(node == null ? null : node.faults(), now, () -> putAside(node, cause));
      } else {
        blame(job == null ? null : job.faults(), now, () -> putAside(job, cause));
      }
    } else if (cause.startsWith(PANIC)) {
      unknown++;
    }
  }

  private static void blame(FaultRecord faults, long now, Runnable putAside) {
    if (faults != null && faults.suspected(now)) {
      putAside.run();
    } else if (faults != null) {
      faults.suspect(now);
    }
  }

  /** Puts a job aside: removes it from the engine and mutes its later events. */
  void putAside(HeddleJob job, String cause) {
    if (job.faults().aside() != null) {
      return;
    }
    failures.count(Failures.Kind.JOB_PUT_ASIDE);
    LOG.error("{} of user {} in queue {} is put aside: the scheduler failed again because of it."
        + " It gets no more containers; its containers go on. All other jobs are scheduled."
        + " Kill it, or run `yarn rmadmin -refreshQueues` to try it again. Cause: {}",
        job.applicationId(), job.user(), job.queue(), cause);
    books.withdraw(job);
    job.faults().putAside("The application is put aside: the scheduler failed again because of"
        + " it. It gets no more containers until an administrator runs"
        + " `yarn rmadmin -refreshQueues`; see the ResourceManager's log");
    jobs.add(job);
    engine.wake();
  }

  /** Puts a node aside: removes it from the engine and mutes its later events. */
  void putAside(HeddleNode node, String cause) {
    if (node.faults().aside() != null) {
      return;
    }
    failures.count(Failures.Kind.NODE_PUT_ASIDE);
    LOG.error("Node {} is put aside: the scheduler failed again because of it. It gets no more"
        + " containers; those that run there go on. Restart its NodeManager, or run"
        + " `yarn rmadmin -refreshQueues`, to try it again. Cause: {}", node.getNodeID(), cause);
    books.withdraw(node);
    node.faults().putAside(cause);
    engine.wake();
  }

  /** Returns the jobs put aside that have not ended. */
  List<HeddleJob> jobs() {
    jobs.removeIf(job -> books.job(job.id()) != job || job.faults().aside() == null);
    return jobs;
  }

  /** Readmits all jobs and nodes and clears their fault records. */
  void lift() {
    unknown = 0;
    searched.clear();
    narrow.clear();
    for (int id = 0; id < books.nodesEnd(); id++) {
      HeddleNode node = books.node(id);
      if (node != null && node.faults().clear()) {
        LOG.info("Node {} is no longer put aside", node.getNodeID());
        books.readmit(node);
      }
    }
    for (int id = 0; id < books.jobsEnd(); id++) {
      HeddleJob job = books.job(id);
      if (job != null && job.faults().clear()) {
        LOG.info("{} is no longer put aside", job.applicationId());
        books.readmit(job);
      }
    }
  }

  // ---- The search for the job at fault, during a replay.

  /** Begins the replay of {@code count} jobs and decides whether it searches. */
  void beginReplay(int count) {
    long now = EngineClock.nowMs();
    group.clear();
    probing = !narrow.isEmpty() || unknown >= UNKNOWN_MAX && !searched.suspected(now);
    groupSize = (int) Math.ceil(Math.sqrt(count));
    if (probing && narrow.isEmpty()) {
      // One search is enough: ticks with the same jobs would show nothing new.
      searched.suspect(now);
      unknown = 0;
      LOG.warn("The engine panicked {} times and no job or node is known to be the cause. This"
          + " rebuild searches for one", UNKNOWN_MAX);
    }
  }

  /** Returns whether to ignore evictions, because the engine does not know all jobs yet. */
  boolean probing() {
    return probing;
  }

  /** Notes that the new engine was told of a job; probes when its group is full. */
  void told(HeddleJob job) {
    if (!probing || !engine.up()) {
      return;
    }
    boolean one = narrow.contains(job);
    if (one) {
      group.clear();
    }
    group.add(job);
    if (one || narrow.isEmpty() && group.size() >= groupSize) {
      probe();
    }
  }

  /** Ends the replay; probes the last group. */
  void endReplay() {
    if (probing && engine.up() && narrow.isEmpty() && !group.isEmpty()) {
      probe();
    }
    if (engine.up()) {
      narrow.clear();
    }
    probing = false;
  }

  private void probe() {
    for (HeddleJob job : group) {
      if (job.attempt() != null) {
        job.attempt().writeChanges(engine.out());
      }
    }
    engine.out().tick();
    engine.step();
    if (!engine.up()) {
      if (group.size() == 1) {
        putAside(group.get(0), "the engine panics at the tick with this application");
        narrow.clear();
      } else {
        narrow.clear();
        narrow.addAll(group);
      }
    }
    group.clear();
  }
}
