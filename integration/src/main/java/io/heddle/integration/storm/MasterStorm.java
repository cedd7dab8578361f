/*
 * Applications and their AMs: submits, asks and finishes; in the storm also with every ask,
 * release, blacklist, update and attempt that the protocol can carry, sensible or not.
 */
package io.heddle.integration.storm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;

/** One thread that plays some of the applications. */
final class MasterStorm extends StormThread {
  private static final int JOBS_MOST = 6;
  private static final Resource AM_SIZE = Resource.newInstance(512, 1);
  private static final int EXTREME = 1 << 20;

  private final Lives lives;
  private final List<Master> masters = new ArrayList<>();

  /** The AM's view of one application. */
  private static final class Master {
    final StormApp app;
    ApplicationAttemptId begun;
    ApplicationAttemptId asked;
    boolean registers = true;
    final List<Container> held = new ArrayList<>();

    Master(StormApp app) {
      this.app = app;
    }

    boolean runs() {
      return app.attempt().equals(asked) && app.hasMaster() && !app.masterEnded;
    }
  }

  MasterStorm(int number, StormCluster cluster, long seed) {
    super("jobs-" + number, cluster, Operation.Role.MASTER, seed);
    this.lives = new Lives(cluster);
  }

  @Override
  void perform(Operation operation) {
    if (operation == Operation.SUBMIT || masters.isEmpty()) {
      submit();
      return;
    }
    Master master = one(masters);
    if (operation == Operation.FINISH) {
      finish(master);
      return;
    }
    if (operation == Operation.NEVER_REGISTER) {
      // Its container is granted but never fetched, until the application is finished.
      master.registers = false;
      return;
    }
    if (!master.runs() || operation == Operation.NEXT_ATTEMPT) {
      advance(master, operation == Operation.NEXT_ATTEMPT);
      return;
    }
    runs(operation, master);
  }

  private void runs(Operation operation, Master master) {
    ContainerUpdates none = new ContainerUpdates();
    switch (operation) {
      case FETCH:
        allocate(operation, master, rows(), free(), null, null, none);
        break;
      case ASK:
        allocate(operation, master,
            rows(row(1 + random.nextInt(3), ResourceRequest.ANY, 1024, random.nextInt(20))),
            free(), null, null, none);
        break;
      case RELEASE:
        allocate(operation, master, rows(), ids(take(master)), null, null, none);
        break;
      case ASK_WILDLY:
        allocate(operation, master, wildly(), free(), null, null, none);
        break;
      case ASK_WITHOUT_END:
        allocate(operation, master, rows(row(4, ResourceRequest.ANY, 1,
            one(EXTREME + 1, Integer.MAX_VALUE))), free(), null, null, none);
        break;
      case ASK_FOR_HOSTS:
        allocate(operation, master, onHost(anyNode().host, anyNode().rack), free(), null, null,
            none);
        break;
      case ASK_FOR_UNKNOWN_HOSTS:
        allocate(operation, master, onHost(one("nowhere-" + random.nextInt(1000), "", "*.*",
            StormCluster.LABEL), one("/rack-none", "/rack-0", "")), free(), null, null, none);
        break;
      case ASK_FOR_LABEL:
        ResourceRequest labelled = row(7, ResourceRequest.ANY, 512, random.nextInt(20));
        labelled.setNodeLabelExpression(one(StormCluster.LABEL, StormCluster.LABEL, "", "nosuch"));
        allocate(operation, master, rows(labelled), free(), null, null, none);
        break;
      case BLACKLIST:
        allocate(operation, master, rows(), free(), places(), places(), none);
        break;
      case RELEASE_FOREIGN:
        allocate(operation, master, rows(), ids(foreign(master)), null, null, none);
        break;
      case UPDATE_CONTAINER:
        allocate(operation, master, rows(), free(), null, null, updates(master));
        break;
      case OLD_ATTEMPT:
        old(operation, master);
        break;
      default:
        throw new IllegalArgumentException(operation + " is not done by AMs");
    }
  }

  // ---- Life.

  private void submit() {
    if (masters.size() >= JOBS_MOST) {
      one(masters, this::finish);
      return;
    }
    StormApp app = lives.submit("user" + random.nextInt(5),
        one("default", "root.q0", "root.q1", "root.q2", "root.group.leaf"),
        one("MAPREDUCE", "SPARK", "YARN"), random.nextInt(12), AM_SIZE,
        // Reaches attempts beyond 255 without 255 earlier ones.
        random.nextInt(3) == 0 ? 250 + random.nextInt(10) : 1);
    if (app != null) {
      masters.add(new Master(app));
    }
  }

  private void one(List<Master> of, Consumer<Master> what) {
    what.accept(of.get(random.nextInt(of.size())));
  }

  private void finish(Master master) {
    history.note(Operation.FINISH, master.app.attempt());
    masters.remove(master);
    lives.end(master.app);
  }

  /** Takes the ResourceManager's next step for an application that does not run yet. */
  private void advance(Master master, boolean again) {
    StormApp app = master.app;
    if (app.answer == StormApp.Answer.REJECTED) {
      masters.remove(master);
      lives.forget(app);
    } else if (app.answer == StormApp.Answer.ACCEPTED) {
      if (master.begun == null) {
        master.begun = app.attempt();
        lives.beginAttempt(app, false);
      } else if (app.attempt().equals(app.known) && (app.masterEnded || again)) {
        history.note(Operation.NEXT_ATTEMPT, app.attempt());
        lives.nextAttempt(app, random.nextBoolean());
        master.begun = app.attempt();
        master.held.clear();
      } else if (app.attempt().equals(app.known)) {
        bringUp(master);
      }
    }
  }

  private void bringUp(Master master) {
    StormApp app = master.app;
    boolean first = !app.attempt().equals(master.asked);
    master.asked = app.attempt();
    if (!first && !master.registers) {
      return;
    }
    Allocation allocation = lives.allocate(Operation.FETCH, app.attempt(),
        first ? rows(ResourceRequest.clone(app.amAsk())) : rows(), free(), null, null,
        new ContainerUpdates());
    if (allocation != null && !allocation.getContainers().isEmpty()) {
      cluster.call(Operation.FETCH, () ->
          cluster.scheduler.getTransferredContainers(app.attempt()));
      Container container = allocation.getContainers().get(0);
      app.setMasterContainer(container);
      RMContainer known = cluster.scheduler.getRMContainer(container.getId());
      if (known instanceof RMContainerImpl) {
        ((RMContainerImpl) known).setAMContainer(true);
      } else {
        // Lost between grant and fetch.
        app.masterEnded = true;
      }
      lives.launch(container);
    }
  }

  // ---- Heartbeats of AMs.

  private void allocate(Operation operation, Master master, List<ResourceRequest> asks,
      List<ContainerId> release, List<String> blacklist, List<String> pardon,
      ContainerUpdates updates) {
    if (operation != Operation.FETCH) {
      history.note(operation, master.app.attempt() + " " + brief(asks) + " " + release + " "
          + blacklist);
    }
    Allocation allocation = lives.allocate(
        operation, master.app.attempt(), asks, release, blacklist, pardon, updates);
    if (allocation != null) {
      for (Container container : allocation.getContainers()) {
        master.held.add(container);
        lives.launch(container);
      }
    }
  }

  private static String brief(List<ResourceRequest> asks) {
    StringBuilder brief = new StringBuilder();
    for (ResourceRequest row : asks) {
      brief.append(row.getNumContainers()).append(" x ").append(row.getCapability()).append(" at ")
          .append(row.getResourceName()).append(" priority ").append(row.getPriority())
          .append(row.getRelaxLocality() ? "; " : " strictly; ");
    }
    return brief.toString();
  }

  private void old(Operation operation, Master master) {
    ApplicationAttemptId attempt = master.app.attempt();
    lives.allocate(operation, ApplicationAttemptId.newInstance(attempt.getApplicationId(),
        attempt.getAttemptId() + one(-1, 1, 256)), wildly(), free(), null, null,
        new ContainerUpdates());
  }

  private static ResourceRequest row(int priority, String place, long memoryMb, int count) {
    return ResourceRequest.newInstance(Priority.newInstance(priority), place,
        Resource.newInstance(memoryMb, 1), count);
  }

  private static List<ResourceRequest> rows(ResourceRequest... rows) {
    return new ArrayList<>(Arrays.asList(rows));
  }

  private static List<ContainerId> free() {
    return new ArrayList<>();
  }

  private List<ResourceRequest> wildly() {
    List<ResourceRequest> rows = new ArrayList<>();
    for (int n = 1 + random.nextInt(4); n > 0; n--) {
      ResourceRequest row = row(
          one(1, 2, 3, 20, 1000, -1, Integer.MAX_VALUE), ResourceRequest.ANY,
          one(0L, 1L, 256L, 1024L, 8192L, (long) StormNode.MEMORY_MB + 1, 1L << 30,
              (long) Integer.MAX_VALUE, Long.MAX_VALUE),
          one(0, 0, 1, 7, 1_000_000, EXTREME, -1));
      row.getCapability().setVirtualCores(one(0, 1, 1, 2, 1000, Integer.MAX_VALUE));
      row.setRelaxLocality(random.nextInt(5) > 0);
      row.setAllocationRequestId(one(-1L, 0L, 7L, Long.MAX_VALUE));
      rows.add(row);
    }
    return rows;
  }

  /** Returns the three rows of an ask for a host; sometimes one is missing, or not relaxed. */
  private List<ResourceRequest> onHost(String host, String rack) {
    int priority = 10 + random.nextInt(3);
    int count = one(0, 1, 5, 50);
    List<ResourceRequest> rows = rows(row(priority, host, 1024, count),
        row(priority, rack, 1024, count), row(priority, ResourceRequest.ANY, 1024, count));
    if (random.nextInt(4) == 0) {
      rows.get(1).setRelaxLocality(false);
      rows.get(2).setRelaxLocality(false);
    }
    if (random.nextInt(10) == 0) {
      rows.remove(random.nextInt(rows.size()));
    }
    return rows;
  }

  private StormNode anyNode() {
    return one(cluster.nodes);
  }

  private List<String> places() {
    List<String> places = new ArrayList<>();
    for (int n = random.nextInt(4); n > 0; n--) {
      places.add(one(anyNode().host, anyNode().rack, "nowhere-" + random.nextInt(100), ""));
    }
    return places;
  }

  // ---- Containers.

  private static List<ContainerId> ids(ContainerId id) {
    return id == null ? free() : new ArrayList<>(Arrays.asList(id, id));
  }

  private ContainerId take(Master master) {
    return master.held.isEmpty()
        ? null : master.held.remove(random.nextInt(master.held.size())).getId();
  }

  /** Returns a container of another application or attempt, or one that never existed. */
  private ContainerId foreign(Master master) {
    StormApp other = anyApp();
    SchedulerApplicationAttempt attempt =
        other == null ? null : cluster.scheduler.getApplicationAttempt(other.attempt());
    RMContainer theirs =
        attempt == null ? null : one(new ArrayList<>(attempt.getLiveContainers()));
    ApplicationAttemptId own = master.app.attempt();
    return theirs != null && other != master.app && random.nextInt(4) > 0
        ? theirs.getContainerId()
        : ContainerId.newContainerId(ApplicationAttemptId.newInstance(
            own.getApplicationId(), own.getAttemptId() + one(0, 1, -1)), random.nextInt(1000));
  }

  /** Returns a change of one running container, checked as ApplicationMasterService does. */
  private ContainerUpdates updates(Master master) {
    ContainerUpdates updates = new ContainerUpdates();
    Container held = one(master.held);
    RMContainer container = held == null ? null : cluster.scheduler.getRMContainer(held.getId());
    if (container == null || container.getState() != RMContainerState.RUNNING
        || container.getContainer().getId().getContainerId() == 1) {
      return updates;
    }
    Container now = container.getContainer();
    long memory = now.getResource().getMemorySize();
    switch (random.nextInt(4)) {
      case 0:
        updates.getIncreaseRequests().add(change(now, ContainerUpdateType.INCREASE_RESOURCE,
            Resource.newInstance(memory + one(256, 1024, 100_000), 1), null));
        break;
      case 1:
        if (memory > 256) {
          updates.getDecreaseRequests().add(change(now, ContainerUpdateType.DECREASE_RESOURCE,
              Resource.newInstance(256, 1), null));
        }
        break;
      case 2:
        if (container.getExecutionType() == ExecutionType.OPPORTUNISTIC) {
          updates.getPromotionRequests().add(change(
              now, ContainerUpdateType.PROMOTE_EXECUTION_TYPE, null, ExecutionType.GUARANTEED));
        }
        break;
      default:
        if (container.getExecutionType() == ExecutionType.GUARANTEED) {
          updates.getDemotionRequests().add(change(
              now, ContainerUpdateType.DEMOTE_EXECUTION_TYPE, null, ExecutionType.OPPORTUNISTIC));
        }
        break;
    }
    return updates;
  }

  private static UpdateContainerRequest change(
      Container of, ContainerUpdateType type, Resource size, ExecutionType kind) {
    return UpdateContainerRequest.newInstance(of.getVersion(), of.getId(), type, size, kind);
  }

  /** Returns the applications of this thread that have not ended. */
  List<StormApp> left() {
    List<StormApp> left = new ArrayList<>();
    for (Master master : masters) {
      left.add(master.app);
    }
    return Collections.unmodifiableList(left);
  }
}
