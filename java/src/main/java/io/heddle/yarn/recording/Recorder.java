package io.heddle.yarn.recording;

import io.heddle.yarn.engine.ContainerKeys;
import io.heddle.yarn.engine.DenseTable;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.ForeignJournal;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.Journal;
import io.heddle.yarn.engine.Names;
import io.heddle.yarn.engine.NativeLibrary;
import io.heddle.yarn.engine.ResourceCodec;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.service.Service;
import org.apache.hadoop.service.ServiceStateChangeListener;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Records a stock scheduler's work: nodes, jobs, and the start and end of containers. Changes
 * nothing of the scheduler's. A failure ends the recording with one line in the log and goes no
 * further.
 *
 * <p>Sees a new container when {@code allocate} hands it over: to the ApplicationMaster, or the
 * ApplicationMaster's own to the ResourceManager. All containers pass there, whichever thread
 * placed them: a heartbeat, the Fair Scheduler's continuous scheduling, or the Capacity Scheduler's
 * asynchronous one. Its start is its creation, which YARN keeps. Sees an end in {@code
 * completedContainerInternal}, through which all three Hadoop versions send every end, and writes
 * there the start of a container that was never handed over.
 *
 * <p>Reads what YARN's own locks guard before it takes the monitor, and takes no lock of YARN's
 * under it, so the monitor cannot cause a deadlock. The monitor guards the books. Only opening the
 * journal and {@link #stop} wait for a disk under it.
 */
final class Recorder implements ServiceStateChangeListener {
  private static final Logger LOG = LoggerFactory.getLogger(Recorder.class);
  /** After this time without a frame, a node's report sends one, in ms. */
  private static final long BEAT_MS = 1_000;
  private static final Set<RMContainerState> LIVE = EnumSet.of(
      RMContainerState.ALLOCATED, RMContainerState.ACQUIRED, RMContainerState.RUNNING);

  private final AbstractYarnScheduler<?, ?> scheduler;
  private final String name;
  private final Function<Queue, String> queuePath;
  private final Supplier<RMContext> context;
  private final Names names = new Names();
  private final Map<String, Integer> queues = new HashMap<>();
  private final Set<String> toldUsers = new HashSet<>();
  private final DenseTable<NodeId> nodeNumbers = new DenseTable<>();
  private final Map<NodeId, Integer> nodes = new HashMap<>();
  private final DenseTable<Job> jobNumbers = new DenseTable<>();
  private final Map<ApplicationId, Job> jobs = new HashMap<>();
  private Configuration configuration;
  private ForeignJournal journal;
  /** Whether to record; stays false once the recording has ended. */
  private volatile boolean on;
  private volatile long beatMs;

  /** A job in the journal. */
  private static final class Job {
    private int number;
    /** The keys of its containers that were recorded and run. */
    private final Set<Long> running = new HashSet<>();
    /** Those whose end was seen first: another thread was faster, or no AM took them. */
    private final Set<Long> ended = new HashSet<>();
  }

  /** Looks at the scheduler, with YARN's locks; null if there is nothing to write. */
  private interface Look {
    Step look();
  }

  /** Writes what was seen, under the monitor. */
  private interface Step {
    void write();
  }

  /**
   * Makes a recorder, which begins and ends with the scheduler.
   *
   * @param name what the journal calls the scheduler
   * @param queuePath the full path of a queue
   * @param context the scheduler's, from its configuration on
   */
  Recorder(AbstractYarnScheduler<?, ?> scheduler, String name, Function<Queue, String> queuePath,
      Supplier<RMContext> context) {
    this.scheduler = scheduler;
    this.name = name;
    this.queuePath = queuePath;
    this.context = context;
    scheduler.registerServiceListener(this);
  }

  // ---- Life cycle.

  @Override
  public void stateChanged(Service service) {
    switch (service.getServiceState()) {
      case INITED:
        configure(service.getConfig());
        break;
      case STARTED:
        // A recovered application may have begun the recording before.
        record(() -> () -> { });
        break;
      default:
        stop();
        break;
    }
  }

  /** Takes the configuration. Opens nothing: a standby ResourceManager has no journal. */
  private synchronized void configure(Configuration given) {
    configuration = given;
    // open() reads the other properties; record() catches what is wrong with them.
    on = !given.getTrimmed(Journal.PATH_PROPERTY, "").isEmpty();
    if (!on) {
      LOG.warn("{} is not set: nothing is recorded", Journal.PATH_PROPERTY);
    }
  }

  private synchronized void stop() {
    on = false;
    end();
  }

  /** Records what a look finds. Any failure ends the recording. */
  private void record(Look look) {
    if (!on) {
      return;
    }
    try {
      Step step = look.look();
      if (step != null) {
        write(step);
      }
    } catch (Throwable e) {
      fail(e);
    }
  }

  private synchronized void write(Step step) {
    if (!on) {
      return;
    }
    if (journal == null) {
      open();
    }
    step.write();
    beatMs = Time.monotonicNow();
    if (!journal.recording()) {
      // The library has logged why.
      on = false;
      end();
    }
  }

  private synchronized void fail(Throwable cause) {
    if (on) {
      on = false;
      LOG.error("The recording has ended, and {} goes on without it", name, cause);
      end();
    }
  }

  private void open() {
    NativeLibrary.load(configuration.get(
        NativeLibrary.PATH_PROPERTY, System.getProperty(NativeLibrary.PATH_PROPERTY)));
    journal = new ForeignJournal(Journal.of(configuration), name,
        scheduler.getMinimumResourceCapability(), new ResourceCodec());
  }

  private void end() {
    try {
      if (journal != null) {
        journal.close();
      }
    } catch (Throwable e) {
      LOG.debug("Closing the journal", e);
    }
    journal = null;
  }

  // ---- What the scheduler tells.

  /** Records an event that the scheduler has handled. */
  void handled(SchedulerEvent event) {
    if (!on) {
      return;
    }
    switch (event.getType()) {
      case NODE_UPDATE:
        if (Time.monotonicNow() - beatMs >= BEAT_MS) {
          record(() -> () -> journal.beat());
        }
        break;
      case NODE_ADDED:
        record(() -> node(((NodeAddedSchedulerEvent) event).getAddedRMNode().getNodeID()));
        break;
      case NODE_RESOURCE_UPDATE:
        record(() -> node(((NodeResourceUpdateSchedulerEvent) event).getRMNode().getNodeID()));
        break;
      case NODE_REMOVED:
        record(() -> () -> nodeRemoved(
            ((NodeRemovedSchedulerEvent) event).getRemovedRMNode().getNodeID()));
        break;
      case APP_ADDED:
        record(() -> job(((AppAddedSchedulerEvent) event).getApplicationId()));
        break;
      case APP_REMOVED:
        record(() -> jobEnd(((AppRemovedSchedulerEvent) event).getApplicationID()));
        break;
      default:
        break;
    }
  }

  /** Records the containers that the scheduler hands over. */
  void allocated(ApplicationAttemptId id, Allocation allocation) {
    if (!on || allocation == null || allocation.getContainers().isEmpty()) {
      return;
    }
    record(() -> {
      SchedulerApplicationAttempt attempt = scheduler.getApplicationAttempt(id);
      boolean master = attempt != null && attempt.isWaitingForAMContainer();
      List<Start> starts = new ArrayList<>();
      for (Container container : allocation.getContainers()) {
        RMContainer known = scheduler.getRMContainer(container.getId());
        // One that has ended meanwhile is written at its end.
        if (known != null) {
          starts.add(new Start(known, master));
        }
      }
      return () -> starts.forEach(this::started);
    });
  }

  /**
   * Records the end of a container.
   *
   * @param before its state before the end; a reservation is no container
   */
  void completed(RMContainer container, RMContainerState before, ContainerStatus status) {
    // A change of size has a container of its own for a moment, which never runs.
    if (!on || !LIVE.contains(before)
        || SchedulerUtils.UPDATED_CONTAINER.equals(status.getDiagnostics())) {
      return;
    }
    record(() -> {
      Start start = new Start(container, container.isAMContainer());
      return () -> ended(start, status.getExitStatus());
    });
  }

  // ---- Looks, without the monitor.

  private Step node(NodeId id) {
    SchedulerNode node = scheduler.getSchedulerNode(id);
    if (node == null) {
      return null;
    }
    String host = node.getNodeName();
    String rack = node.getRackName();
    String partition = node.getPartition();
    Resource capacity = node.getTotalResource();
    Resource free = node.getUnallocatedResource();
    // Those that ran before a restart of the ResourceManager.
    List<Start> starts = new ArrayList<>();
    for (RMContainer container : node.getCopiedListOfRunningContainers()) {
      if (LIVE.contains(container.getState())) {
        starts.add(new Start(container, container.isAMContainer()));
      }
    }
    return () -> {
      Integer known = nodes.get(id);
      int number = known == null ? nodeNumbers.add(id) : known;
      nodes.put(id, number);
      journal.out().node(known == null ? FrameLayout.NODE_ADDED : FrameLayout.NODE_CHANGED,
          number, names.places.intern(host), names.places.intern(rack),
          names.partitions.intern(partition), FrameLayout.NODE_SCHEDULABLE, capacity, free);
      starts.forEach(this::started);
    };
  }

  private Step job(ApplicationId id) {
    SchedulerApplication<?> application = scheduler.getSchedulerApplications().get(id);
    if (application == null) {
      // The scheduler has rejected it.
      return null;
    }
    String queue = queuePath.apply(application.getQueue());
    String user = application.getUser();
    Priority priority = application.getPriority();
    RMApp app = context.get().getRMApps().get(id);
    boolean mapReduce = app != null && "MAPREDUCE".equalsIgnoreCase(app.getApplicationType());
    long submittedMs = app != null && app.getSubmitTime() > 0 ? app.getSubmitTime() : Time.now();
    return () -> {
      Job job = new Job();
      if (jobs.putIfAbsent(id, job) == null) {
        job.number = jobNumbers.add(job);
        journal.out().jobAdded(job.number, placed(queue, user), names.users.intern(user),
            priority == null ? 0 : priority.getPriority(),
            mapReduce ? FrameLayout.JOB_MAPREDUCE : 0, EngineClock.toMonotonic(submittedMs));
      }
    };
  }

  private Step jobEnd(ApplicationId id) {
    RMApp app = context.get().getRMApps().get(id);
    long finishedMs = app == null ? 0 : app.getFinishTime();
    String status = app == null ? "" : app.getFinalApplicationStatus().name();
    return () -> jobRemoved(id, finishedMs, status);
  }

  /** The recorded facts of a container that starts. */
  private static final class Start {
    private final ApplicationId application;
    private final NodeId node;
    private final long key;
    private final int priority;
    private final boolean master;
    private final long createdMs;
    private final Resource size;

    Start(RMContainer container, boolean master) {
      this.application = container.getApplicationAttemptId().getApplicationId();
      this.node = container.getAllocatedNode();
      this.key = ContainerKeys.of(container.getContainerId());
      this.priority = container.getAllocatedPriority().getPriority();
      this.master = master;
      long known = container.getCreationTime();
      this.createdMs = known > 0 ? known : Time.now();
      this.size = container.getAllocatedResource();
    }
  }

  // ---- Writes, under the monitor.

  private void nodeRemoved(NodeId id) {
    Integer number = nodes.remove(id);
    if (number != null) {
      nodeNumbers.remove(number);
      journal.out().nodeRemoved(number);
    }
  }

  /** Returns the number of a queue; first tells the journal a new queue or user. */
  private int placed(String path, String user) {
    boolean isNew = toldUsers.add(user);
    Integer queue = queues.get(path);
    if (queue == null) {
      queue = queues.size();
      queues.put(path, queue);
      isNew = true;
    }
    if (isNew) {
      journal.request(SetupJson.request("place", "queue", path, "queue_number", queue,
          "user", user, "user_number", names.users.intern(user)));
    }
    return queue;
  }

  private void jobRemoved(ApplicationId id, long finishedMs, String status) {
    Job job = jobs.remove(id);
    if (job != null) {
      jobNumbers.remove(job.number);
      if (finishedMs > 0) {
        // The scheduler hears of the end when the ApplicationMaster's process has gone, too.
        journal.request(SetupJson.request("finished", "job", job.number, "finished_ms",
            EngineClock.toMonotonic(finishedMs), "status", status));
      }
      journal.out().jobRemoved(job.number);
    }
  }

  /** Records a container that runs, once. */
  private void started(Start start) {
    Job job = jobs.get(start.application);
    Integer node = nodes.get(start.node);
    if (job == null || node == null || job.ended.contains(start.key)
        || !job.running.add(start.key)) {
      return;
    }
    journal.out().containerAdded(job.number, node, start.priority, start.master, start.key,
        EngineClock.toMonotonic(start.createdMs), start.size);
  }

  private void ended(Start start, int exitStatus) {
    Job job = jobs.get(start.application);
    if (job == null) {
      return;
    }
    if (!job.running.contains(start.key)) {
      started(start);
      job.ended.add(start.key);
    }
    if (job.running.remove(start.key)) {
      journal.out().containerCompleted(job.number, start.key, exitStatus);
    }
  }
}
