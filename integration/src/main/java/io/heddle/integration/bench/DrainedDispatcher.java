/*
 * The ResourceManager's event dispatcher without its thread: events queue up as in AsyncDispatcher,
 * and the driver takes them out between two calls into the scheduler and routes them.
 */
package io.heddle.integration.bench;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;

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

  /** Takes the oldest event, waiting up to {@code ms} for one. */
  public Event<?> poll(long ms) throws InterruptedException {
    return events.poll(ms, TimeUnit.MILLISECONDS);
  }

  /** Returns how many events wait. */
  public int size() {
    return events.size();
  }
}
