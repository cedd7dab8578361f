package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.queues.QueueControl;
import io.heddle.yarn.queues.QueueReports;
import io.heddle.yarn.queues.Submission;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.Lock;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.security.Groups;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.ipc.RPCUtil;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks the engine for the queue of a submission, and whether its caller may use it. */
final class Placement {
  private static final Logger LOG = LoggerFactory.getLogger(Placement.class);

  private final Configuration conf;
  private final QueueControl queues;
  private final QueueReports reports;
  private final Lock writeLock;

  Placement(Configuration conf, QueueControl queues, QueueReports reports, Lock writeLock) {
    this.conf = conf;
    this.queues = queues;
    this.reports = reports;
    this.writeLock = writeLock;
  }

  /**
   * Finds the queue of a submission; called by its thread. Takes the scheduler's lock only if the
   * queue does not exist yet.
   *
   * @param byFacts whether a rule needs groups or the application's name
   */
  String place(boolean byFacts, String user, String queue, String application,
      boolean recovering) throws YarnException {
    Submission submission = !byFacts ? new Submission(user, queue)
        : new Submission(user, queue, groupsOf(user), application);
    if (!recovering) {
      String known = foreseen(submission, user);
      if (known != null) {
        return known;
      }
    }
    writeLock.lock();
    try {
      return queues.place(submission, recovering).getQueueName();
    } finally {
      writeLock.unlock();
    }
  }

  /** Returns a user's groups, the primary one first; none if they cannot be looked up. */
  private List<String> groupsOf(String user) {
    try {
      return Groups.getUserToGroupsMappingService(conf).getGroups(user);
    } catch (IOException e) {
      LOG.info("{} has no groups for the rules of placement: {}", user, e.getMessage());
      return Collections.emptyList();
    }
  }

  /**
   * Returns the queue of a submission if it is there and not limited, or its caller may not submit
   * to it for the user that its tags name: YARN places it for the caller then. Else returns null.
   *
   * <p>Rights go first: YARN checks them only after placement, and a user without them must learn
   * nothing of queues.
   */
  private String foreseen(Submission submission, String user) throws YarnException {
    JsonNode foreseen = queues.foresee(submission);
    String leaf = foreseen.path("leaf").textValue();
    String made = foreseen.path("made").textValue();
    String path = leaf != null ? leaf : made;
    UserGroupInformation caller = caller(user);
    if (path != null && !caller.getShortUserName().equals(user)) {
      if (!reports.hasAccess(path, QueueACL.SUBMIT_APPLICATIONS, caller)) {
        return path;
      }
    } else if (path != null && (made != null || queues.limitsJobs(path))) {
      checkMay(caller, path, foreseen);
    }
    if (foreseen.has("refused")) {
      for (JsonNode about : foreseen.path("about")) {
        checkMay(caller, about.asText(), foreseen);
      }
      throw new YarnException(foreseen.path("refused").asText());
    }
    // How many applications a queue has is known under the lock only.
    return leaf != null && !queues.limitsJobs(leaf) ? leaf : null;
  }

  /** Returns who submits: with a tag that names another user, YARN asks for that user's place. */
  private static UserGroupInformation caller(String user) {
    try {
      UserGroupInformation caller = UserGroupInformation.getCurrentUser();
      if (!caller.equals(UserGroupInformation.getLoginUser())) {
        return caller;
      }
    } catch (IOException e) {
      LOG.debug("The caller is not known", e);
    }
    return UserGroupInformation.createRemoteUser(user);
  }

  private void checkMay(UserGroupInformation caller, String path, JsonNode foreseen)
      throws YarnException {
    boolean may = reports.maySubmit(path, caller);
    for (JsonNode right : foreseen.path("rights")) {
      may |= new AccessControlList(right.asText()).isUserAllowed(caller);
    }
    if (!may) {
      throw RPCUtil.getRemoteException(new AccessControlException("User "
          + caller.getShortUserName() + " does not have permission to submit to queue " + path));
    }
  }
}
