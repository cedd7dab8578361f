package io.heddle.yarn.facts;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.TestCluster;
import io.heddle.yarn.engine.SetupJson;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/** A job whose ApplicationMaster runs on this host and has registered an address. */
final class Job {
  final TestCluster cluster;
  final MockNM node;
  final RMApp app;
  final MockAM am;

  Job(TestCluster cluster, MockNM node, String type, String trackingUrl) throws Exception {
    this.cluster = cluster;
    this.node = node;
    app = MockRMAppSubmitter.submit(cluster.rm,
        cluster.submission("alice", null).withAppType(type).build());
    am = MockRM.launchAM(app, cluster.rm, node);
    UserGroupInformation master =
        UserGroupInformation.createRemoteUser(am.getApplicationAttemptId().toString());
    master.addTokenIdentifier(
        app.getCurrentAppAttempt().getAMRMToken().decodeIdentifier());
    RegisterApplicationMasterRequest request =
        RegisterApplicationMasterRequest.newInstance("localhost", 1, trackingUrl);
    master.doAs((PrivilegedExceptionAction<Object>) () ->
        cluster.rm.getApplicationMasterService().registerApplicationMaster(request));
    cluster.rm.drainEvents();
  }

  /** Returns the path of this job in the web service of MapReduce's ApplicationMaster. */
  String path() {
    return "/ws/v1/mapreduce/jobs/" + AmPoller.jobId(app.getApplicationId());
  }

  /** Sends a heartbeat with the job's progress. */
  void progress(double part) throws Exception {
    am.allocate(AllocateRequest.newInstance(0, (float) part, new ArrayList<ResourceRequest>(),
        new ArrayList<ContainerId>(), null));
    cluster.rm.drainEvents();
  }

  /** Returns the engine's facts after another look and a tick. */
  JsonNode look() {
    cluster.scheduler.inspection().facts().look();
    cluster.tick();
    return cluster.request(SetupJson.request("job", "job", 0));
  }

  /** Looks until something is known, because answers take time. */
  void await(String what, BooleanSupplier known) throws Exception {
    long untilMs = Time.monotonicNow() + 30_000;
    while (!known.getAsBoolean()) {
      assertTrue(what + ": " + look(), Time.monotonicNow() < untilMs);
      Thread.sleep(50);
    }
  }

  /** Runs these containers of a kind on the node; returns them. */
  List<Container> run(int priority, int count) throws Exception {
    ask(am, any(priority, GB, count));
    cluster.heartbeat();
    List<Container> containers = fetch(am);
    assertEquals(count, containers.size());
    cluster.running(node, containers);
    return containers;
  }
}
