package io.heddle.yarn;

import io.heddle.yarn.engine.DenseTable;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.FrameWriter;
import io.heddle.yarn.engine.Interner;
import io.heddle.yarn.engine.Names;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * Tracks which of an attempt's asks the engine does not know yet. The asks themselves are in YARN's
 * {@link AppSchedulingInfo}. This gives each a small number and lists its changed rows, so that an
 * AM's heartbeat costs time for the rows it sends, not for all the rows it has.
 *
 * <p>Counts are read when the frame is written, not when the AM calls. They are absolute, so the
 * engine gets their latest values.
 *
 * <p>Guarded by the attempt's write lock. Methods that change {@link PendingSizes} need the
 * scheduler's write lock too.
 */
final class AskTable {
  /** Beyond this many changed rows of one ask, all its rows are sent. */
  private static final int LISTED_ROWS_MAX = 4096;

  /** Largest count of containers of one vcore: half of what an int holds. */
  static final int CONTAINERS_MAX = 1 << 30;

  /** Beyond this many asks, an attempt frees the numbers of served ones. */
  private static final int SERVED_KEPT = 32;

  /** One ask: all rows that share one of YARN's scheduler keys. */
  static final class Entry {
    final SchedulerRequestKey key;
    private int id;
    private boolean listed;
    private boolean allRows = true;
    private boolean withdrawFirst;
    private final ArrayList<String> rows = new ArrayList<>(4);
    // Rows held back until a node of their name joins. Null before the first.
    private Set<String> unknownPlaces;
    // Places whose rows the engine may have; null before the first.
    private BitSet sentPlaces;
    // The fields sent last, except the count; null before the first time.
    private Resource sentSize;
    private int sentPartition;
    private int sentFlags;
    // Its counted size; null while nothing is pending.
    private PendingSizes.Size pending;

    private Entry(SchedulerRequestKey key) {
      this.key = key;
    }

    /** Returns whether the engine knows the ask with this size. */
    boolean isOfSentSize(Resource size) {
      return size.equals(sentSize);
    }

    /** Returns whether its size is among the pending ones. */
    boolean isCountedAsPending() {
      return pending != null;
    }

    /** Returns whether this ask grows or promotes a running container. */
    boolean updatesContainer() {
      return key.getContainerToUpdate() != null;
    }
  }

  /**
   * Rounds sizes up as the superclass does, but once for successive rows of equal size, as the rows
   * of an ask are. Bounds counts too. YARN passes negative counts on and would subtract them from a
   * queue's pending resources. Large counts would overflow YARN's int in the same way when a lost
   * container is added or vcores are multiplied.
   */
  static void normalize(List<ResourceRequest> rows, UnaryOperator<Resource> rounded) {
    Resource asked = null;
    Resource normal = null;
    for (int i = 0; i < rows.size(); i++) {
      ResourceRequest row = rows.get(i);
      Resource size = row.getCapability();
      if (asked == null || !asked.equals(size)) {
        asked = size;
        normal = rounded.apply(size);
      }
      row.setCapability(normal);
      row.setNumContainers(Math.max(0, Math.min(row.getNumContainers(),
          CONTAINERS_MAX / Math.max(1, normal.getVirtualCores()))));
    }
  }

  /** Returns copies of rows, which YARN may keep and change. */
  static List<ResourceRequest> copies(List<ResourceRequest> rows) {
    List<ResourceRequest> copies = new ArrayList<>(rows.size());
    for (ResourceRequest row : rows) {
      copies.add(ResourceRequest.clone(row));
    }
    return copies;
  }

  private final AppSchedulingInfo info;
  private final PendingSizes sizes;
  private final Map<SchedulerRequestKey, Entry> byKey = new HashMap<>();
  private final DenseTable<Entry> byId = new DenseTable<>();
  private final ArrayList<Entry> changed = new ArrayList<>();
  // Places without a node, and the asks whose rows are held back for them as long as YARN has them.
  private final Map<String, Set<Entry>> unknown = new HashMap<>(0);
  // The entry of the last row: AMs send the rows of one ask together.
  private Entry last;

  AskTable(AppSchedulingInfo info, PendingSizes sizes) {
    this.info = info;
    this.sizes = sizes;
  }

  /** Returns the ask with the engine's number, or null. */
  Entry get(int id) {
    return byId.get(id);
  }

  /** Returns one more than the greatest number of an ask. */
  int end() {
    return byId.end();
  }

  /** Returns whether there is nothing to send. */
  boolean clean() {
    return changed.isEmpty();
  }

  /** Marks a row whose count changed. */
  void markRow(ResourceRequest row) {
    Entry entry = last;
    if (entry == null || row.getAllocationRequestId() != entry.key.getAllocationRequestId()
        || entry.updatesContainer() || !row.getPriority().equals(entry.key.getPriority())) {
      entry = entry(SchedulerRequestKey.create(row));
      last = entry;
    }
    mark(entry, row.getResourceName());
  }

  private void mark(Entry entry, String name) {
    if (!entry.allRows) {
      if (entry.rows.size() < LISTED_ROWS_MAX) {
        entry.rows.add(name);
      } else {
        entry.allRows = true;
      }
    }
    list(entry);
  }

  /** Marks an ask whose rows differ from the engine's: withdraws its rows and sends all again. */
  void markDrifted(Entry entry) {
    entry.allRows = true;
    entry.withdrawFirst = true;
    list(entry);
  }

  /**
   * Marks an ask whose last container was granted. The engine knows that, so it is not sent. But an
   * attempt with more than {@link #SERVED_KEPT} asks gives its number back.
   */
  void markServed(Entry entry) {
    uncount(entry);
    if (entry.updatesContainer() || byId.size() > SERVED_KEPT) {
      list(entry);
    }
  }

  /**
   * Marks the rows of a place that were held back until its first node.
   *
   * @return whether there are any
   */
  boolean markPlace(String name) {
    Set<Entry> waiting = unknown.remove(name);
    if (waiting == null) {
      return false;
    }
    for (Entry entry : waiting) {
      entry.unknownPlaces.remove(name);
      mark(entry, name);
    }
    return true;
  }

  /** Returns the places without a node that rows are held back for. */
  Set<String> unknownPlaces() {
    return unknown.keySet();
  }

  /** Marks every ask to be sent to a new engine with all its rows. */
  void markAll() {
    for (SchedulerRequestKey key : info.getSchedulerKeys()) {
      entry(key);
    }
    for (Entry entry : byKey.values()) {
      entry.allRows = true;
      list(entry);
    }
  }

  /** Forgets what was sent: a new engine has no asks. */
  void forgetSent() {
    for (Entry entry : byKey.values()) {
      entry.sentPlaces = null;
      entry.sentSize = null;
      uncount(entry);
    }
  }

  /** Marks all asks that grow or promote containers: these change without rows from the AM. */
  void markUpdates() {
    for (SchedulerRequestKey key : info.getSchedulerKeys()) {
      if (key.getContainerToUpdate() != null) {
        entry(key);
      }
    }
    for (Entry entry : byKey.values()) {
      if (entry.updatesContainer()) {
        entry.allRows = true;
        list(entry);
      }
    }
  }

  /** Removes all asks of an attempt that ended. */
  void clear() {
    byKey.clear();
    changed.clear();
    unknown.clear();
    last = null;
    for (int id = 0; id < byId.end(); id++) {
      if (byId.get(id) != null) {
        uncount(byId.get(id));
        byId.remove(id);
      }
    }
  }

  private Entry entry(SchedulerRequestKey key) {
    Entry entry = byKey.get(key);
    if (entry == null) {
      entry = new Entry(key);
      entry.id = byId.add(entry);
      byKey.put(key, entry);
    }
    return entry;
  }

  private void list(Entry entry) {
    if (!entry.listed) {
      entry.listed = true;
      changed.add(entry);
    }
  }

  /**
   * Writes all changes.
   *
   * @param attempt the owner
   * @param names numbers of places and partitions
   */
  void write(FrameWriter out, HeddleAppAttempt attempt, Names names) {
    for (int i = 0; i < changed.size(); i++) {
      Entry entry = changed.get(i);
      write(out, attempt, names, entry);
      entry.listed = false;
      entry.rows.clear();
      entry.allRows = false;
      entry.withdrawFirst = false;
    }
    changed.clear();
  }

  private void write(FrameWriter out, HeddleAppAttempt attempt, Names names, Entry entry) {
    int job = attempt.job().id();
    AppPlacementAllocator<SchedulerNode> asks = info.getAppPlacementAllocator(entry.key);
    if (asks == null || entry.withdrawFirst) {
      // YARN dropped all rows with the ask, even those that the AM's update did not name.
      withdrawRows(out, job, entry);
    }
    if (asks == null) {
      forgetPlaces(attempt, entry);
    }
    Map<String, ResourceRequest> rows = asks == null
        ? Collections.<String, ResourceRequest>emptyMap() : asks.getResourceRequests();
    ResourceRequest any = rows.get(ResourceRequest.ANY);
    if (entry.updatesContainer()) {
      writeUpdate(out, attempt, names, entry, asks, any);
    } else if (any != null && any.getNumContainers() > 0) {
      writeAsk(out, attempt, names, entry, asks, any);
      writeRows(out, attempt, names, entry, rows);
    } else if (byId.size() > SERVED_KEPT) {
      retire(out, attempt, entry);
    } else if (entry.sentSize != null) {
      withdraw(out, job, entry);
      writeRows(out, attempt, names, entry, rows);
    }
  }

  /** Writes an ask to grow or promote a container, which is for the node where it runs. */
  private void writeUpdate(FrameWriter out, HeddleAppAttempt attempt, Names names, Entry entry,
      AppPlacementAllocator<SchedulerNode> asks, ResourceRequest any) {
    int job = attempt.job().id();
    int place = attempt.placeToUpdate(entry.key.getContainerToUpdate());
    if (any == null || any.getNumContainers() <= 0 || place == Interner.UNKNOWN) {
      retire(out, attempt, entry);
      return;
    }
    writeAsk(out, attempt, names, entry, asks, any);
    // YARN's rows name the host, but a node's name may include its port.
    writeRow(out, job, entry, place, any.getNumContainers(), false);
  }

  private void writeAsk(FrameWriter out, HeddleAppAttempt attempt, Names names, Entry entry,
      AppPlacementAllocator<SchedulerNode> asks, ResourceRequest any) {
    int flags = 0;
    if (entry.updatesContainer()) {
      flags = FrameLayout.ASK_CONTAINER_UPDATE;
    } else {
      flags |= any.getRelaxLocality() ? FrameLayout.ASK_RELAX_LOCALITY : 0;
      flags |= attempt.isWaitingForAMContainer() ? FrameLayout.ASK_AM : 0;
    }
    entry.sentFlags = flags;
    entry.sentPartition = names.partitions.intern(asks.getPrimaryRequestedNodePartition());
    entry.sentSize = any.getCapability();
    count(entry);
    ask(out, attempt.job().id(), entry, any.getNumContainers());
  }

  private static void ask(FrameWriter out, int job, Entry entry, int count) {
    out.ask(job, entry.id, count, entry.key.getPriority().getPriority(), entry.sentPartition,
        entry.sentFlags, entry.sentSize);
  }

  private void count(Entry entry) {
    PendingSizes.Size before = entry.pending;
    if (before == null || !before.is(entry.sentSize, entry.sentPartition)) {
      entry.pending = sizes.add(entry.sentSize, entry.sentPartition);
      if (before != null) {
        sizes.remove(before);
      }
    }
  }

  private void uncount(Entry entry) {
    if (entry.pending != null) {
      sizes.remove(entry.pending);
      entry.pending = null;
    }
  }

  private void withdraw(FrameWriter out, int job, Entry entry) {
    uncount(entry);
    ask(out, job, entry, 0);
  }

  private static void withdrawRows(FrameWriter out, int job, Entry entry) {
    if (entry.sentPlaces == null) {
      return;
    }
    for (int place = entry.sentPlaces.nextSetBit(0); place >= 0;
        place = entry.sentPlaces.nextSetBit(place + 1)) {
      out.askRow(job, entry.id, place, 0, true);
    }
    entry.sentPlaces.clear();
  }

  /** Removes an ask in the engine and gives its number back. */
  private void retire(FrameWriter out, HeddleAppAttempt attempt, Entry entry) {
    int job = attempt.job().id();
    forgetPlaces(attempt, entry);
    if (entry.sentSize != null) {
      withdrawRows(out, job, entry);
      withdraw(out, job, entry);
    }
    byKey.remove(entry.key);
    byId.remove(entry.id);
    if (last == entry) {
      last = null;
    }
  }

  private void writeRows(FrameWriter out, HeddleAppAttempt attempt, Names names, Entry entry,
      Map<String, ResourceRequest> rows) {
    if (entry.allRows) {
      for (Map.Entry<String, ResourceRequest> row : rows.entrySet()) {
        writeRow(out, attempt, names, entry, row.getKey(), row.getValue());
      }
      return;
    }
    for (int i = 0; i < entry.rows.size(); i++) {
      String name = entry.rows.get(i);
      writeRow(out, attempt, names, entry, name, rows.get(name));
    }
  }

  private void writeRow(FrameWriter out, HeddleAppAttempt attempt, Names names, Entry entry,
      String name, ResourceRequest row) {
    if (ResourceRequest.ANY.equals(name)) {
      return;
    }
    int place = names.places.find(name);
    if (place == Interner.UNKNOWN) {
      holdBack(attempt, entry, name, row != null && row.getNumContainers() > 0);
      return;
    }
    int count = row == null ? 0 : Math.max(0, row.getNumContainers());
    writeRow(out, attempt.job().id(), entry, place, count,
        row == null || row.getRelaxLocality());
  }

  /** Notes a row that is sent when the first node of its name joins, or forgets it. */
  private void holdBack(HeddleAppAttempt attempt, Entry entry, String name, boolean pending) {
    if (pending) {
      if (entry.unknownPlaces == null) {
        entry.unknownPlaces = new HashSet<>();
      }
      if (entry.unknownPlaces.add(name)) {
        unknown.computeIfAbsent(name, place -> new LinkedHashSet<>(2)).add(entry);
        attempt.namesMissing(name);
      }
    } else if (entry.unknownPlaces != null && entry.unknownPlaces.remove(name)) {
      forgetPlace(attempt, entry, name);
    }
  }

  private void forgetPlaces(HeddleAppAttempt attempt, Entry entry) {
    if (entry.unknownPlaces != null) {
      for (String name : entry.unknownPlaces) {
        forgetPlace(attempt, entry, name);
      }
      entry.unknownPlaces = null;
    }
  }

  private void forgetPlace(HeddleAppAttempt attempt, Entry entry, String name) {
    Set<Entry> waiting = unknown.get(name);
    waiting.remove(entry);
    if (waiting.isEmpty()) {
      unknown.remove(name);
      attempt.forgetsMissing(name);
    }
  }

  private static void writeRow(
      FrameWriter out, int job, Entry entry, int place, int count, boolean relaxLocality) {
    if (count > 0) {
      if (entry.sentPlaces == null) {
        entry.sentPlaces = new BitSet();
      }
      entry.sentPlaces.set(place);
    } else if (entry.sentPlaces == null || !entry.sentPlaces.get(place)) {
      // The engine has no such row.
      return;
    }
    out.askRow(job, entry.id, place, count, relaxLocality);
  }
}
