/*
 * Requests to the engine's control plane, such as bids and accounts: what an administrator's tool
 * would send to the ResourceManager.
 */
package io.heddle.integration;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.yarn.HeddleScheduler;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.concurrent.locks.Lock;

/** Reached by reflection: the shim offers these to nobody yet. */
final class EngineRequest {
  private static final ObjectMapper JSON = new ObjectMapper();

  private EngineRequest() {}

  /** Sends one request, such as {@code {"op": "price"}}, to the engine of this scheduler. */
  static JsonNode send(HeddleScheduler scheduler, String json) throws Exception {
    Object engine = field(scheduler, "engine");
    Method request = engine.getClass().getDeclaredMethod("request", String.class);
    request.setAccessible(true);
    Lock lock = (Lock) field(scheduler, "writeLock");
    lock.lock();
    try {
      return JSON.readTree((String) request.invoke(engine, json));
    } finally {
      lock.unlock();
    }
  }

  private static Object field(Object object, String name) throws Exception {
    for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
      for (Field field : type.getDeclaredFields()) {
        if (field.getName().equals(name)) {
          field.setAccessible(true);
          return field.get(object);
        }
      }
    }
    throw new NoSuchFieldException(name);
  }
}
