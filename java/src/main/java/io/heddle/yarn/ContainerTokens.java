package io.heddle.yarn;

import io.heddle.yarn.compat.LinkCheck;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import javax.crypto.SecretKey;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.token.SecretManager;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.LogAggregationContext;
import org.apache.hadoop.yarn.api.records.Token;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.ContainerTokenIdentifier;
import org.apache.hadoop.yarn.server.api.ContainerType;
import org.apache.hadoop.yarn.server.api.records.MasterKey;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.security.RMContainerTokenSecretManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands new containers over to their AM. Their tokens are those of RMContainerTokenSecretManager,
 * byte for byte except for the time of expiry. That manager writes each token twice, into buffers
 * of 4 KB, parses the user's name for a line of the log that is off, and resolves the node's name.
 * That was half of the time of an AM's heartbeat.
 *
 * <p>Any thread may use it.
 */
final class ContainerTokens {
  private static final Logger LOG = LoggerFactory.getLogger(ContainerTokens.class);
  private static final String KIND = ContainerTokenIdentifier.KIND.toString();

  /** A master key, and what passwords are made with. */
  private static final class Secret {
    private final MasterKey master;
    private final SecretKey key;

    private Secret(MasterKey master) {
      this.master = master;
      byte[] bytes = new byte[master.getBytes().remaining()];
      master.getBytes().duplicate().get(bytes);
      this.key = Keys.of(bytes);
    }
  }

  /** Exposes Hadoop's protected method that makes a key from bytes. */
  private abstract static class Keys extends SecretManager<ContainerTokenIdentifier> {
    static SecretKey of(byte[] bytes) {
      return createSecretKey(bytes);
    }
  }

  private final RMContext rmContext;
  private final long expiryMs;
  private volatile Secret secret;

  ContainerTokens(RMContext rmContext, Configuration conf) {
    this.rmContext = rmContext;
    this.expiryMs = conf.getInt(YarnConfiguration.RM_CONTAINER_ALLOC_EXPIRY_INTERVAL_MS,
        YarnConfiguration.DEFAULT_RM_CONTAINER_ALLOC_EXPIRY_INTERVAL_MS);
  }

  /** Returns whether these containers' tokens can be made here. */
  boolean serve(List<RMContainer> fresh) {
    for (RMContainer container : fresh) {
      if (!(container instanceof HeddleContainer)) {
        return false;
      }
    }
    return LinkCheck.onTestedHadoop()
        && rmContext.getContainerTokenSecretManager().getClass()
            == RMContainerTokenSecretManager.class;
  }

  /**
   * Removes containers from a list as it makes their tokens, and tells them that their AM has them.
   * A container whose token fails stays for the AM's next heartbeat. Called with the attempt's
   * write lock.
   */
  List<Container> pull(List<RMContainer> fresh, HeddleAppAttempt attempt) {
    RMApp app = rmContext.getRMApps().get(attempt.getApplicationId());
    ApplicationSubmissionContext submission =
        app == null ? null : app.getApplicationSubmissionContext();
    LogAggregationContext logs =
        submission == null ? null : submission.getLogAggregationContext();
    ContainerType type = attempt.isWaitingForAMContainer()
        ? ContainerType.APPLICATION_MASTER : ContainerType.TASK;
    List<Container> pulled = new ArrayList<>(fresh.size());
    List<RMContainer> kept = new ArrayList<>(0);
    for (RMContainer container : fresh) {
      try {
        makeTokens((HeddleContainer) container, attempt, logs, type);
        ContainerId id = container.getContainerId();
        container.handle(new RMContainerEvent(id, RMContainerEventType.ACQUIRED));
        pulled.add(container.getContainer());
      } catch (RuntimeException e) {
        if (Failures.isStop(e)) {
          LOG.info("The ResourceManager stops; {} is not handed over", container.getContainerId());
        } else {
          LOG.error("Cannot hand over {}; its AM gets it later", container.getContainerId(), e);
        }
        kept.add(container);
      }
    }
    fresh.clear();
    fresh.addAll(kept);
    return pulled;
  }

  private void makeTokens(HeddleContainer container, HeddleAppAttempt attempt,
      LogAggregationContext logs, ContainerType type) {
    Container record = container.getContainer();
    record.setContainerToken(create(container, attempt.getUser(), logs, type));
    record.setAllocationTags(container.getAllocationTags());
    attempt.updateNMTokens(Collections.singletonList(record));
  }

  /**
   * Makes a container's token.
   *
   * @throws IllegalArgumentException if its node's name cannot be resolved
   */
  Token create(HeddleContainer container, String user, LogAggregationContext logs,
      ContainerType type) {
    Secret current = secret(rmContext.getContainerTokenSecretManager().getCurrentKey());
    Container record = container.getContainer();
    long now = System.currentTimeMillis();
    ContainerTokenIdentifier identifier = new ContainerTokenIdentifier(record.getId(),
        record.getVersion(), record.getNodeId().toString(), user, record.getResource(),
        now + expiryMs, current.master.getKeyId(), ResourceManager.getClusterTimeStamp(),
        record.getPriority(), container.getCreationTime(), logs,
        container.getNodeLabelExpression(), type, record.getExecutionType(),
        record.getAllocationRequestId(), container.getAllocationTags());
    byte[] bytes = identifier.getProto().toByteArray();
    return Token.newInstance(bytes, KIND, SecretManager.createPassword(bytes, current.key),
        container.node().address(now));
  }

  private Secret secret(MasterKey master) {
    Secret known = secret;
    if (known == null || known.master != master) {
      known = new Secret(master);
      secret = known;
    }
    return known;
  }
}
