package io.heddle.yarn;

import io.heddle.yarn.compat.ContainerStates;
import io.heddle.yarn.compat.LinkCheck;
import java.util.concurrent.locks.Lock;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ContainerRequest;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.state.InvalidStateTransitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * YARN's container, with its own states, transitions and events. Only the way there is shorter:
 * YARN's {@code handle} writes a line of text for every transition, even if nothing logs it.
 */
class HeddleContainer extends RMContainerImpl {
  private static final boolean KNOWN =
      LinkCheck.onTestedHadoop() && ContainerStates.known();
  private static final Logger YARN = LoggerFactory.getLogger(RMContainerImpl.class);

  private final HeddleNode node;
  // The rows that its grant lowered; null after the AM fetched it.
  private volatile ResourceRequest[] lowered;

  /** Makes a container for an ask; {@code label} is the ask's node label. */
  HeddleContainer(Container container, SchedulerRequestKey ask, String user, HeddleNode node,
      RMContext context, String label) {
    super(container, ask, container.getId().getApplicationAttemptId(), node.getNodeID(), user,
        context, label);
    this.node = node;
  }

  /** Returns the node that it was granted on, which may have left since. */
  HeddleNode node() {
    return node;
  }

  void setLowered(ResourceRequest[] rows) {
    lowered = rows;
  }

  /** Returns what YARN asks again if the container is lost before the AM fetches it, or null. */
  @Override
  public ContainerRequest getContainerRequest() {
    ResourceRequest[] rows = lowered;
    return rows == null ? super.getContainerRequest() : AskRows.again(rows);
  }

  @Override
  public void setContainerRequest(ContainerRequest request) {
    if (lowered != null && request == null) {
      lowered = null;
    } else {
      super.setContainerRequest(request);
    }
  }

  @Override
  public void handle(RMContainerEvent event) {
    if (!KNOWN || YARN.isInfoEnabled()) {
      super.handle(event);
      return;
    }
    Lock lock = ContainerStates.lock(this);
    lock.lock();
    try {
      ContainerStates.machine(this).doTransition(event.getType(), event);
    } catch (InvalidStateTransitionException e) {
      // YARN's own handler reports the invalid event. The state has not changed.
      super.handle(event);
    } finally {
      lock.unlock();
    }
  }

  /** Returns the state. The machine itself waits for the end of a transition. */
  @Override
  public RMContainerState getState() {
    return KNOWN ? ContainerStates.machine(this).getCurrentState() : super.getState();
  }
}
