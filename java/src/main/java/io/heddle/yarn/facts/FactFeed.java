package io.heddle.yarn.facts;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.Proxies;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.queues.QueueTable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.ThreadFactoryBuilder;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Collects facts about running MapReduce jobs that neither submissions nor containers show. Sources
 * are the progress in ApplicationMasters' heartbeats, polls of ApplicationMasters
 * ({@link AmPoller}) and polls of NodeManagers ({@link NodePoller}). All facts are optional;
 * policies work without them.
 *
 * <p>One daemon thread looks once a second and never blocks; a few others wait for answers. None of
 * them takes the scheduler's lock, and no thread of the ResourceManager waits for them. Facts wait
 * until the tick writes them into the next frame.
 */
public final class FactFeed {
  /** Whether to read the progress in ApplicationMasters' heartbeats. */
  static final String PROGRESS_PROPERTY = "heddle.progress.enable";
  /** Largest number of concurrent polls of ApplicationMasters. */
  static final String IN_FLIGHT_PROPERTY = "heddle.am-poll.in-flight";

  /** Number of oldest reduces that get the estimate, as many as policies sample by default. */
  private static final int SAMPLES = 5;

  private static final Logger LOG = LoggerFactory.getLogger(FactFeed.class);
  private static final long LOOK_MS = 1_000;
  private static final int IN_FLIGHT = 8;
  /** Largest number of polls that wait for a thread; others stay due. */
  private static final int WAITING_MAX = 1_024;
  private static final int NODES_IN_FLIGHT = 2;
  private static final int NODES_WAITING_MAX = 256;
  /** Largest number of waiting facts, far more than arrive between two ticks. */
  private static final int FACTS_MAX = 16_384;
  private static final double MAPS_DONE = 0.5;

  private final Function<ApplicationAttemptId, ? extends SchedulerApplicationAttempt> attempts;
  private final RMContext rmContext;
  private final boolean progress;
  private final AmPoller masters;
  private final NodePoller nodes;
  private final Map<ApplicationId, JobWatch> jobs = new ConcurrentHashMap<>();
  private final ArrayBlockingQueue<Fact> found = new ArrayBlockingQueue<>(FACTS_MAX);
  private final ScheduledThreadPoolExecutor clock;
  private final ThreadPoolExecutor workers;
  private final ThreadPoolExecutor nodeWorkers;
  private final JsonFetcher fetcher;
  private boolean jobFailed;
  private boolean nodeFailed;

  /**
   * Prepares the feed; {@link #start} begins collecting.
   *
   * @param attempts finds a current attempt or null, on any thread
   */
  public FactFeed(Function<ApplicationAttemptId, ? extends SchedulerApplicationAttempt> attempts,
      RMContext rmContext, QueueTable queues, Configuration conf) {
    this.attempts = attempts;
    this.rmContext = rmContext;
    int inFlight = Math.max(1, conf.getInt(IN_FLIGHT_PROPERTY, IN_FLIGHT));
    progress = conf.getBoolean(PROGRESS_PROPERTY, true);
    clock = new ScheduledThreadPoolExecutor(1, daemons("heddle-facts"));
    clock.setRemoveOnCancelPolicy(true);
    workers = workers(inFlight, WAITING_MAX, "heddle-poll");
    // Separate threads: silent nodes must not delay polls of ApplicationMasters.
    nodeWorkers = workers(NODES_IN_FLIGHT, NODES_WAITING_MAX, "heddle-node-poll");
    fetcher = new JsonFetcher(clock, inFlight + NODES_IN_FLIGHT);
    masters = new AmPoller(fetcher, queues, this::offer, conf);
    nodes = new NodePoller(fetcher, queues::wants, this::offer, conf);
  }

  private static ThreadPoolExecutor workers(int inFlight, int waiting, String name) {
    ThreadPoolExecutor made = new ThreadPoolExecutor(inFlight, inFlight, 30, TimeUnit.SECONDS,
        new LinkedBlockingQueue<Runnable>(waiting), daemons(name));
    made.allowCoreThreadTimeOut(true);
    return made;
  }

  private static ThreadFactory daemons(String name) {
    return new ThreadFactoryBuilder().setDaemon(true).setNameFormat(name + "-%d").build();
  }

  public void start() {
    if (progress || masters.mayBeEnabled() || nodes.mayBeEnabled()) {
      clock.scheduleWithFixedDelay(this::look, LOOK_MS, LOOK_MS, TimeUnit.MILLISECONDS);
    }
  }

  public void stop() {
    clock.shutdownNow();
    workers.shutdownNow();
    nodeWorkers.shutdownNow();
    try {
      // Makes waiting polls fail.
      fetcher.close();
    } catch (IOException e) {
      LOG.debug("Closing connections", e);
    }
  }

  // ---- With the scheduler's write lock held.

  /** Watches an accepted job. Only MapReduce jobs report readable facts. */
  public void jobAdded(WatchedJob job) {
    if (job.isMapReduce()) {
      jobs.put(job.applicationId(), new JobWatch(job));
    }
  }

  public void jobRemoved(ApplicationId id) {
    jobs.remove(id);
  }

  /** Tells a listener the facts collected since the last call. */
  public void drainTo(Fact.Listener listener) {
    for (Fact fact = found.poll(); fact != null; fact = found.poll()) {
      fact.tell(listener);
    }
  }

  // ---- On the feed's own threads.

  private void offer(Fact fact) {
    // Dropped if there is no room: it would be old by the time there is.
    found.offer(fact);
  }

  /** Looks at every job once. Never throws, because the executor would not run it again. */
  synchronized void look() {
    long nowMs = Time.monotonicNow();
    boolean ask = masters.enabled();
    for (JobWatch watch : jobs.values()) {
      try {
        look(watch, ask, nowMs);
      } catch (Throwable e) {
        // An error with one job must not stop the look at those after it.
        if (!jobFailed) {
          LOG.warn("The progress of {} cannot be read; it is scheduled without it."
              + " Further failures are not logged", watch.id(), e);
        }
        jobFailed = true;
      }
    }
    lookAtNodes(nowMs);
  }

  private void lookAtNodes(long nowMs) {
    try {
      nodes.look(rmContext.getRMNodes(), nodeWorkers, nowMs);
    } catch (Throwable e) {
      if (!nodeFailed) {
        LOG.warn("Nodes cannot be polled for their map output. Further failures are not logged", e);
      }
      nodeFailed = true;
    }
  }

  private void look(JobWatch watch, boolean ask, long nowMs) {
    RMApp app = rmContext.getRMApps().get(watch.id());
    RMAppAttempt attempt = app == null ? null : app.getCurrentAppAttempt();
    if (attempt == null) {
      return;
    }
    // An AMRMProxy tells the progress of the whole job, some of whose reduces run elsewhere. That
    // matters only if the proxy passes on the type (Hadoop 3.5.0's do not): others are not watched.
    if (progress && !Proxies.submitted(app) && !watch.reducesAreTold(nowMs)) {
      lookAtProgress(watch, attempt, nowMs);
    }
    if (ask && AmPoller.answers(attempt) && watch.beginPoll(nowMs)) {
      submit(workers, () -> masters.poll(watch, attempt), () -> watch.endPoll(nowMs + LOOK_MS));
    }
  }

  /** Runs work on a worker, or {@code instead} if none takes it; returns whether one took it. */
  static boolean submit(Executor workers, Runnable work, Runnable instead) {
    boolean taken = false;
    try {
      workers.execute(work);
      taken = true;
    } catch (RejectedExecutionException e) {
      LOG.debug("No worker takes a poll; it is left out", e);
    } finally {
      // In finally for an OutOfMemoryError when a thread is made.
      if (!taken) {
        instead.run();
      }
    }
    return taken;
  }

  private void lookAtProgress(JobWatch watch, RMAppAttempt rmAttempt, long nowMs) {
    double whole = rmAttempt.getProgress();
    int all = watch.job().reduces();
    SchedulerApplicationAttempt attempt = attempts.apply(rmAttempt.getAppAttemptId());
    if (!(whole >= MAPS_DONE) || all <= 0 || attempt == null) {
      return;
    }
    List<RMContainer> reduces = new ArrayList<>();
    int unfinished = 0;
    for (RMContainer container : attempt.getLiveContainersMap().values()) {
      int priority = container.getContainer().getPriority().getPriority();
      if (MapReducePriority.isMap(priority)) {
        return;
      }
      if (MapReducePriority.isReduce(priority)) {
        unfinished++;
        if (container.getState() == RMContainerState.RUNNING) {
          reduces.add(container);
        }
      }
    }
    AppSchedulingInfo asks = attempt.getAppSchedulingInfo();
    for (SchedulerRequestKey key : asks.getSchedulerKeys()) {
      AppPlacementAllocator<?> asked = asks.getAppPlacementAllocator(key);
      int pending = asked == null ? 0 : asked.getOutstandingAsksCount(ResourceRequest.ANY);
      int priority = key.getPriority().getPriority();
      if (pending > 0 && MapReducePriority.isMap(priority)) {
        return;
      }
      unfinished += MapReducePriority.isReduce(priority) ? pending : 0;
    }
    JsonNode seen = SetupJson.ask("progress", "state", watch.progress, "job", whole, "all", all,
        "unfinished", unfinished, "running", reduces.size(), "now_ms", nowMs);
    watch.progress = seen.get("state");
    JsonNode executed = seen.path("executed");
    if (executed.isArray()) {
      reduces.sort(Comparator.comparingLong(RMContainer::getCreationTime));
      for (RMContainer reduce : reduces.subList(0, Math.min(SAMPLES, reduces.size()))) {
        offer(to -> to.task(watch.job(), reduce.getContainerId(), executed.path(0).asInt(),
            executed.path(1).asLong(), false));
      }
    }
  }
}
