/*
 * The ResourceManager's event dispatcher without its thread: events queue up as in AsyncDispatcher,
 * and the driver takes them out between two calls into the scheduler and routes them.
 */
package io.heddle.integration.bench;

import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;

/** Collects events from any thread. Posting costs as much as in a ResourceManager. */
public final class DrainedDispatcher implements Dispatcher {
  private final LinkedBlockingQueue<Event<?>> events = new LinkedBlockingQueue<>();
  private final EventHandler<Event<?>> handler = events::add;

  @SuppressWarnings("rawtypes")
  @Override
  public EventHandler<Event> getEventHandler() {
    @SuppressWarnings("unchecked")
    EventHandler<Event> raw = (EventHandler<Event>) (EventHandler) handler;
    return raw;
  }

  @SuppressWarnings("rawtypes")
  @Override
  public void register(Class<? extends Enum> eventType, EventHandler eventHandler) {
    throw new UnsupportedOperationException("the driver routes every event itself");
  }

  /** Takes the oldest event; returns null if there is none. */
  public Event<?> poll() {
    return events.poll();
  }

  /**
   * Delivers events in order until none is left. Ignores what goes to none of these; an application
   * that is refused is a violation.
   */
  void drain(Consumer<SchedulerEvent> scheduler, Map<NodeId, BenchNode> nodes,
      Consumer<RMAppAttemptEvent> attempts) {
    Event<?> event;
    while ((event = poll()) != null) {
      if (event instanceof SchedulerEvent) {
        scheduler.accept((SchedulerEvent) event);
      } else if (event instanceof RMNodeEvent) {
        nodes.get(((RMNodeEvent) event).getNodeId()).rmNode.handle((RMNodeEvent) event);
      } else if (event instanceof RMAppAttemptEvent) {
        attempts.accept((RMAppAttemptEvent) event);
      } else if (event instanceof RMAppEvent && event.getType() == RMAppEventType.APP_REJECTED) {
        throw new Violation("application " + ((RMAppEvent) event).getApplicationId()
            + " was rejected: " + ((RMAppEvent) event).getDiagnosticMsg());
      }
    }
  }

  /** Returns how many events wait. */
  public int size() {
    return events.size();
  }
}
