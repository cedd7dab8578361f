/*
 * An application that asks for any number of containers in one request, as `-num_containers` of
 * the distributed shell does, and releases each one that it gets. Its unmanaged ApplicationMaster
 * runs in the caller's thread; Hadoop's client would keep an object per container.
 */
package io.heddle.integration.jobs;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.client.ClientRMProxy;

/** One application, from submission to {@link #close}. */
public final class BulkAsk implements Closeable {
  private static final Priority PRIORITY = Priority.newInstance(1);

  private final Unmanaged app;
  private final ApplicationMasterProtocol master;
  private List<ContainerId> taken = new ArrayList<>();
  private int responseId;
  private int granted;

  /** Submits the application and registers its ApplicationMaster. */
  public BulkAsk(Configuration conf, String user, String queue) throws Exception {
    app = new Unmanaged(conf, user, queue);
    master = app.as(() -> {
      ApplicationMasterProtocol proxy =
          ClientRMProxy.createRMProxy(conf, ApplicationMasterProtocol.class);
      proxy.registerApplicationMaster(
          RegisterApplicationMasterRequest.newInstance("localhost", 0, ""));
      return proxy;
    });
  }

  /** Asks for this many containers, in place of its earlier ask. */
  public void ask(Resource size, int count) throws Exception {
    allocate(
        Collections.singletonList(
            ResourceRequest.newInstance(PRIORITY, ResourceRequest.ANY, size, count)));
  }

  /** Releases the containers it got last and fetches more; returns how many it ever got. */
  public int turnOver() throws Exception {
    allocate(Collections.emptyList());
    return granted;
  }

  private void allocate(List<ResourceRequest> asks) throws Exception {
    AllocateRequest request = AllocateRequest.newInstance(responseId, 0, asks, taken, null);
    AllocateResponse response = app.as(() -> master.allocate(request));
    responseId = response.getResponseId();
    taken = new ArrayList<>();
    for (Container container : response.getAllocatedContainers()) {
      taken.add(container.getId());
    }
    granted += taken.size();
  }

  /** Finishes the application and waits until YARN reports its success. */
  @Override
  public void close() throws IOException {
    FinishApplicationMasterRequest request =
        FinishApplicationMasterRequest.newInstance(FinalApplicationStatus.SUCCEEDED, "", "");
    try {
      while (!app.as(() -> master.finishApplicationMaster(request)).getIsUnregistered()) {
        Thread.sleep(100);
      }
      ShellApplication.awaitFinished(app.yarn, app.id);
    } catch (Exception e) {
      throw new IOException(app.id + " did not succeed", e);
    } finally {
      RPC.stopProxy(master);
      app.close();
    }
  }
}
