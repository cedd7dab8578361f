package io.heddle.yarn;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.heddle.yarn.compat.ContainerStates;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.LogAggregationContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.Token;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.security.ContainerTokenIdentifier;
import org.apache.hadoop.yarn.server.api.ContainerType;
import org.apache.hadoop.yarn.server.resourcemanager.MockNodes;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.ahs.RMApplicationHistoryWriter;
import org.apache.hadoop.yarn.server.resourcemanager.metrics.NoOpSystemMetricPublisher;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.ContainerAllocationExpirer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerFinishedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.AllocationTagsManager;
import org.apache.hadoop.yarn.server.resourcemanager.security.RMContainerTokenSecretManager;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.junit.Test;

/** Tests that Heddle's containers and their tokens are YARN's. */
public class HeddleContainerTest {
  private static final ApplicationAttemptId ATTEMPT =
      ApplicationAttemptId.newInstance(ApplicationId.newInstance(7, 3), 2);
  private static final RMContainerEventType[] EVENTS = {
      RMContainerEventType.START, RMContainerEventType.ACQUIRED, RMContainerEventType.LAUNCHED,
      RMContainerEventType.FINISHED, RMContainerEventType.KILL, RMContainerEventType.RELEASED,
      RMContainerEventType.EXPIRE,
  };

  private final Configuration conf = new YarnConfiguration();
  private final RMContainerTokenSecretManager secrets = new RMContainerTokenSecretManager(conf);
  private final List<String> events = new ArrayList<>();
  private final RMContextImpl context = context();
  private final ContainerContext ours = new ContainerContext(context);

  /** Notes the types of events. */
  private final class Noted implements Dispatcher {
    @SuppressWarnings("rawtypes")
    @Override
    public EventHandler<Event> getEventHandler() {
      return event -> events.add(event.getClass().getSimpleName() + " " + event.getType());
    }

    @SuppressWarnings("rawtypes")
    @Override
    public void register(Class<? extends Enum> type, EventHandler handler) {
      throw new UnsupportedOperationException();
    }
  }

  private RMContextImpl context() {
    Logger.getRootLogger().setLevel(Level.WARN);
    Logger.getLogger(RMContainerImpl.class).setLevel(Level.OFF);
    Dispatcher noted = new Noted();
    RMContextImpl made = new RMContextImpl(noted, new ContainerAllocationExpirer(noted), null,
        null, null, null, secrets, null, null);
    made.setYarnConfiguration(conf);
    made.setSystemMetricsPublisher(new NoOpSystemMetricPublisher());
    RMApplicationHistoryWriter history = new RMApplicationHistoryWriter();
    history.init(conf);
    made.setRMApplicationHistoryWriter(history);
    made.setAllocationTagsManager(new AllocationTagsManager(made));
    return made;
  }

  private HeddleNode node(String host) {
    return new HeddleNode(MockNodes.newNodeInfo(1, Resource.newInstance(4096, 4), 1, host), false,
        Collections.<String>emptySet());
  }

  private static Container record(HeddleNode node) {
    return BuilderUtils.newContainer(ContainerId.newContainerId(ATTEMPT, 5), node.getNodeID(),
        "web", Resource.newInstance(2048, 2), Priority.newInstance(4), null, 11);
  }

  private HeddleContainer ours(HeddleNode node) {
    Container record = record(node);
    return new HeddleContainer(
        record, SchedulerRequestKey.extractFrom(record), "alice", node, ours, "gpu");
  }

  private RMContainerImpl yarns(HeddleNode node) {
    Container record = record(node);
    return new RMContainerImpl(record, SchedulerRequestKey.extractFrom(record), ATTEMPT,
        node.getNodeID(), "alice", context, "gpu");
  }

  private String sent(RMContainerImpl container, RMContainerEventType type) {
    events.clear();
    ContainerId id = container.getContainerId();
    boolean end = type == RMContainerEventType.FINISHED || type == RMContainerEventType.KILL
        || type == RMContainerEventType.RELEASED || type == RMContainerEventType.EXPIRE;
    container.handle(end ? new RMContainerFinishedEvent(
        id, ContainerStatus.newInstance(id, ContainerState.COMPLETE, "why", 9), type)
        : new RMContainerEvent(id, type));
    return container.getState() + " " + container.getContainerState() + " "
        + container.getContainerExitStatus() + " " + container.getDiagnosticsInfo() + " "
        + (container.getFinishTime() > 0) + " " + events;
  }

  /** Each sequence of four events leads both through the same states with the same events. */
  @Test
  public void statesAndEventsAreThoseOfYarn() {
    assertTrue("the fields' names", ContainerStates.known());
    HeddleNode node = node("a1");
    int all = EVENTS.length * EVENTS.length * EVENTS.length * EVENTS.length;
    for (int sequence = 0; sequence < all; sequence++) {
      RMContainerImpl expected = yarns(node);
      HeddleContainer container = ours(node);
      for (int left = sequence, step = 0; step < 4; step++, left /= EVENTS.length) {
        RMContainerEventType type = EVENTS[left % EVENTS.length];
        String said = sent(expected, type);
        assertEquals(sequence + " " + type, said, sent(container, type));
      }
    }
  }

  @Test
  public void tokensAreThoseOfYarnsSecretManager() throws Exception {
    HeddleNode node = node("127.0.0.1");
    secrets.rollMasterKey();
    ContainerTokens tokens = new ContainerTokens(context, conf);
    LogAggregationContext logs = LogAggregationContext.newInstance("a*", "b*");
    int firstKey = assertToken(tokens, ours(node), logs, ContainerType.TASK);
    assertEquals(firstKey, assertToken(tokens, ours(node), null, ContainerType.TASK));
    // A token of the old key would be refused once the new one is in force.
    secrets.rollMasterKey();
    assertEquals(firstKey, assertToken(tokens, ours(node), logs, ContainerType.TASK));
    secrets.activateNextMasterKey();
    assertNotEquals(
        firstKey, assertToken(tokens, ours(node), logs, ContainerType.APPLICATION_MASTER));
  }

  /** Compares a token with YARN's; returns the number of its key. */
  private int assertToken(ContainerTokens tokens, HeddleContainer container,
      LogAggregationContext logs, ContainerType type) throws Exception {
    Container record = container.getContainer();
    Token token = tokens.create(container, "alice", logs, type);
    Token yarns = secrets.createContainerToken(record.getId(), record.getVersion(),
        record.getNodeId(), "alice", record.getResource(), record.getPriority(),
        container.getCreationTime(), logs, container.getNodeLabelExpression(), type,
        record.getExecutionType(), record.getAllocationRequestId(),
        container.getAllocationTags());
    assertEquals(yarns.getKind(), token.getKind());
    assertEquals(yarns.getService(), token.getService());
    ContainerTokenIdentifier made = BuilderUtils.newContainerTokenIdentifier(token);
    ContainerTokenIdentifier expected = BuilderUtils.newContainerTokenIdentifier(yarns);
    long later = expected.getExpiryTimeStamp() - made.getExpiryTimeStamp();
    assertTrue(later + " ms", later >= 0 && later < 60_000);
    assertEquals(
        expected.getProto().toBuilder().setExpiryTimeStamp(made.getExpiryTimeStamp()).build(),
        made.getProto());
    assertArrayEquals(secrets.retrievePassword(made), token.getPassword().array());
    return made.getMasterKeyId();
  }

  @Test
  public void aNodeWithoutAnAddressHasNoTokens() {
    conf.setBoolean(CommonConfigurationKeys.HADOOP_SECURITY_TOKEN_SERVICE_USE_IP, true);
    SecurityUtil.setConfiguration(conf);
    HeddleNode node = node("no-such-host.invalid");
    assertThrows(IllegalArgumentException.class, () -> node.address(0));
    assertNull(ours(node).getContainerRequest());
  }
}
