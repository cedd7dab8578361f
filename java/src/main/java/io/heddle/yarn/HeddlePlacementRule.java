package io.heddle.yarn;

import java.io.IOException;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.placement.PlacementRule;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;

/**
 * The one placement rule that Heddle gives YARN. It asks the engine, which follows the rules in
 * heddle.json. Called by the thread of a submission.
 */
public final class HeddlePlacementRule extends PlacementRule {
  private HeddleScheduler scheduler;

  /** Makes an uninitialized rule. */
  public HeddlePlacementRule() {
    super();
  }

  @Override
  public boolean initialize(ResourceScheduler owner) throws IOException {
    if (!(owner instanceof HeddleScheduler)) {
      throw new IOException(
          getClass().getName() + " works with " + HeddleScheduler.class.getName() + " only");
    }
    scheduler = (HeddleScheduler) owner;
    return true;
  }

  /** The signature that all Hadoop versions have. */
  @Override
  public ApplicationPlacementContext getPlacementForApp(
      ApplicationSubmissionContext submission, String user) throws YarnException {
    return getPlacementForApp(submission, user, false);
  }

  /** The signature of 3.4 and later, with a flag for recovered applications. */
  public ApplicationPlacementContext getPlacementForApp(
      ApplicationSubmissionContext submission, String user, boolean recovering)
      throws YarnException {
    return new ApplicationPlacementContext(
        scheduler.place(user, submission.getQueue(), submission.getApplicationName(), recovering));
  }
}
