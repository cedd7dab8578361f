/*
 * The ResourceManager's event dispatcher, without its thread: events queue up as they do in
 * AsyncDispatcher and the driver takes them out between two calls into the scheduler.
 * It does not route events; the driver does.
 */
package io.heddle.integration.bench;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.event.EventHandler;

/** Collects events from any thread. Posting costs what it costs in a ResourceManager. */
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

  /** The oldest event that nobody took yet, or null. */
  public Event<?> poll() {
    return events.poll();
  }

  /** The same, after waiting up to so many ms for one. */
  public Event<?> poll(long ms) throws InterruptedException {
    return events.poll(ms, TimeUnit.MILLISECONDS);
  }

  /** How many events wait. */
  public int size() {
    return events.size();
  }
}
