package io.heddle.integration.stock;

/** One event of a scenario, the same for both schedulers. */
interface Step {
  /** A node joins. */
  record Join(String host, int memoryMb, int vcores) implements Step {}

  /** A node is lost, with all its containers; their applications ask again. */
  record Lose(String host) implements Step {}

  /**
   * An application is submitted.
   *
   * @param app its number, from 1
   * @param queue null for none
   * @param unmanaged whether its AM runs outside the cluster
   * @param count how many containers its AM asks for
   */
  record Submit(int app, String user, String queue, String name, boolean unmanaged, Size am,
      Size task, int count, int priority) implements Step {}

  /** An application ends, if it was accepted. */
  record End(int app) implements Step {}

  /**
   * All containers except AMs end, and AMs ask for none. On a full cluster the order of heartbeats
   * would decide which of the waiting AMs start.
   */
  record Pause() implements Step {}

  /** Heartbeats go on until nothing changes; then all ask again. */
  record Resume() implements Step {}

  /** Heartbeats go on until nothing changes; then everything is compared. */
  record Look(String title) implements Step {}

  /** The size of a container as it is asked for. */
  record Size(int memoryMb, int vcores) {}
}
