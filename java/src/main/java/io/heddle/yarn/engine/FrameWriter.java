package io.heddle.yarn.engine;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.BitSet;
import org.apache.hadoop.yarn.api.records.Resource;

/**
 * Appends events to the next input frame, in a direct buffer that is reused. Only encodes: the
 * engine interprets events, and {@link Engine} sends them.
 *
 * <p>Not thread-safe: the owner guards it, with the scheduler's write lock or a recorder's monitor.
 */
public final class FrameWriter {
  /** Largest frame. Real frames are far smaller; reaching it means a runaway loop. */
  private static final int CAPACITY_MAX = 1 << 30;

  /** A buffer that one long frame made larger than this is given back. */
  private static final int KEPT_MAX = 1 << 22;

  /** Writes the fields of one kind of record. */
  public interface Body {
    /** Writes the fields of a record that begins at {@code at}. */
    void write(ByteBuffer buffer, int at);
  }

  private final ResourceCodec resources;
  private final int capacity;
  private ByteBuffer buffer;
  private int end = FrameLayout.INPUT_HEADER_SIZE;
  private int records;
  // Muted jobs and nodes: the next record overwrites each record of theirs.
  private final BitSet mutedJobs = new BitSet();
  private final BitSet mutedNodes = new BitSet();

  public FrameWriter(ResourceCodec resources, int capacity) {
    this.resources = resources;
    this.capacity = capacity;
    this.buffer = allocate(capacity);
  }

  private static ByteBuffer allocate(int capacity) {
    return ByteBuffer.allocateDirect(capacity).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns the buffer that holds the frame from its start. */
  ByteBuffer buffer() {
    return buffer;
  }

  /** Returns the length of the frame in bytes, header included. */
  public int length() {
    return end;
  }

  /** Returns the number of records in the frame. */
  public int records() {
    return records;
  }

  /** Drops all further records of a job, or ends that. */
  public void muteJob(int job, boolean muted) {
    mutedJobs.set(job, muted);
  }

  /** Drops all further records of a node, or ends that. */
  public void muteNode(int node, boolean muted) {
    mutedNodes.set(node, muted);
  }

  /** Removes the records beyond this length of the frame. */
  public void cutTo(int length, int recordsBefore) {
    end = length;
    records = recordsBefore;
  }

  /** Begins a new frame. */
  void clear() {
    end = FrameLayout.INPUT_HEADER_SIZE;
    records = 0;
    if (buffer.capacity() > Math.max(KEPT_MAX, capacity)) {
      buffer = allocate(capacity);
    }
  }

  /** Writes the header, which makes the frame complete. */
  void finish(long nowMs, long sequence, int decisionsMax) {
    buffer.putInt(FrameLayout.INPUT_HEADER_ABI, FrameLayout.ABI_VERSION);
    buffer.putInt(FrameLayout.INPUT_HEADER_LENGTH, end);
    buffer.putLong(FrameLayout.INPUT_HEADER_NOW_MS, nowMs);
    buffer.putLong(FrameLayout.INPUT_HEADER_SEQUENCE, sequence);
    buffer.putInt(FrameLayout.INPUT_HEADER_RECORDS, records);
    buffer.putInt(FrameLayout.INPUT_HEADER_DECISIONS_MAX, decisionsMax);
  }

  /** Starts a record and returns its offset; the caller fills every field. */
  private int record(int kind, int size, int id) {
    int at = end;
    if (at + size > buffer.capacity()) {
      grow(at + size);
    }
    buffer.putShort(at + FrameLayout.RECORD_KIND, (short) kind);
    buffer.putShort(at + FrameLayout.RECORD_SIZE, (short) size);
    buffer.putInt(at + FrameLayout.RECORD_ID, id);
    end = at + size;
    records++;
    return at;
  }

  /** Starts a record about a job as {@link #record} does, unless the job is muted. */
  private int jobRecord(int kind, int size, int job) {
    int at = record(kind, size, job);
    if (job >= 0 && mutedJobs.get(job)) {
      cutTo(at, records - 1);
    }
    return at;
  }

  /** Starts a record about a node as {@link #record} does, unless the node is muted. */
  private int nodeRecord(int kind, int size, int node) {
    int at = record(kind, size, node);
    if (node >= 0 && mutedNodes.get(node)) {
      cutTo(at, records - 1);
    }
    return at;
  }

  private void grow(int needed) {
    if (needed > CAPACITY_MAX) {
      throw new IllegalStateException("an input frame of more than " + CAPACITY_MAX + " bytes");
    }
    ByteBuffer larger = allocate(Math.max(needed, buffer.capacity() * 2));
    ByteBuffer old = buffer.duplicate();
    old.position(0).limit(end);
    larger.put(old);
    larger.clear();
    buffer = larger;
  }

  /** Writes a node that joins, or with {@link FrameLayout#NODE_CHANGED} one that changed. */
  public void node(int kind, int node, int host, int rack, int partition, int flags,
      Resource capacity, Resource free) {
    int at = nodeRecord(kind, FrameLayout.NODE_ADDED_SIZE, node);
    buffer.putInt(at + FrameLayout.NODE_ADDED_HOST, host);
    buffer.putInt(at + FrameLayout.NODE_ADDED_RACK, rack);
    buffer.putInt(at + FrameLayout.NODE_ADDED_PARTITION, partition);
    buffer.putInt(at + FrameLayout.NODE_ADDED_FLAGS, flags);
    resources.put(buffer, at + FrameLayout.NODE_ADDED_CAPACITY, capacity);
    resources.put(buffer, at + FrameLayout.NODE_ADDED_FREE, free);
  }

  public void nodeRemoved(int node) {
    nodeRecord(FrameLayout.NODE_REMOVED, FrameLayout.NODE_REMOVED_SIZE, node);
  }

  public void heartbeat(int node, Resource free) {
    int at = nodeRecord(FrameLayout.HEARTBEAT, FrameLayout.HEARTBEAT_SIZE, node);
    resources.put(buffer, at + FrameLayout.HEARTBEAT_FREE, free);
  }

  public void nodeRoom(int node, Resource free) {
    int at = nodeRecord(FrameLayout.NODE_ROOM, FrameLayout.NODE_ROOM_SIZE, node);
    resources.put(buffer, at + FrameLayout.NODE_ROOM_FREE, free);
  }

  public void nodeSilent(int node) {
    nodeRecord(FrameLayout.NODE_SILENT, FrameLayout.NODE_SILENT_SIZE, node);
  }

  public void offer(int job) {
    jobRecord(FrameLayout.OFFER, FrameLayout.OFFER_SIZE, job);
  }

  public void jobAdded(int job, int queue, int user, int priority, int flags, long submittedMs) {
    int at = jobRecord(FrameLayout.JOB_ADDED, FrameLayout.JOB_ADDED_SIZE, job);
    buffer.putInt(at + FrameLayout.JOB_ADDED_QUEUE, queue);
    buffer.putInt(at + FrameLayout.JOB_ADDED_USER, user);
    buffer.putInt(at + FrameLayout.JOB_ADDED_PRIORITY, priority);
    buffer.putInt(at + FrameLayout.JOB_ADDED_FLAGS, flags);
    buffer.putLong(at + FrameLayout.JOB_ADDED_SUBMITTED_MS, submittedMs);
  }

  public void jobHints(int job, Body hints) {
    int at = jobRecord(FrameLayout.JOB_HINTS, FrameLayout.JOB_HINTS_SIZE, job);
    hints.write(buffer, at);
  }

  public void nodeLoad(int node, int foreignPerMille) {
    int at = nodeRecord(FrameLayout.NODE_LOAD, FrameLayout.NODE_LOAD_SIZE, node);
    buffer.putInt(at + FrameLayout.NODE_LOAD_FOREIGN_PER_MILLE, foreignPerMille);
    buffer.putInt(at + FrameLayout.NODE_LOAD_PAD, 0);
  }

  /** Writes the progress of a task; {@code sinceMs} is 0 unless it executes a reduce function. */
  public void task(int job, long key, int perMille, long sinceMs, boolean commits) {
    int flags = (sinceMs > 0 ? FrameLayout.TASK_EXECUTING : 0)
        | (commits ? FrameLayout.TASK_COMMITTING : 0);
    int at = taskOutput(job, key, 0, 0);
    buffer.putInt(at + FrameLayout.TASK_PROGRESS_PER_MILLE, perMille);
    buffer.putInt(at + FrameLayout.TASK_FLAGS, flags);
    buffer.putLong(at + FrameLayout.TASK_EXECUTING_SINCE_MS, sinceMs);
  }

  /** Writes the bytes of a task that has ended; returns the record's offset. */
  public int taskOutput(int job, long key, long readBytes, long writtenBytes) {
    int at = jobRecord(FrameLayout.TASK, FrameLayout.TASK_SIZE, job);
    buffer.putLong(at + FrameLayout.TASK_KEY, key);
    buffer.putInt(at + FrameLayout.TASK_PROGRESS_PER_MILLE, 1_000);
    buffer.putInt(at + FrameLayout.TASK_FLAGS, 0);
    buffer.putLong(at + FrameLayout.TASK_INPUT_BYTES, readBytes);
    buffer.putLong(at + FrameLayout.TASK_OUTPUT_BYTES, writtenBytes);
    buffer.putLong(at + FrameLayout.TASK_EXECUTING_SINCE_MS, 0);
    return at;
  }

  public void containerLaunched(int job, long key, long launchedMs) {
    int at = jobRecord(FrameLayout.CONTAINER_LAUNCHED, FrameLayout.CONTAINER_LAUNCHED_SIZE, job);
    buffer.putLong(at + FrameLayout.CONTAINER_LAUNCHED_KEY, key);
    buffer.putLong(at + FrameLayout.CONTAINER_LAUNCHED_LAUNCHED_MS, launchedMs);
  }

  public void jobCounters(int job, Body counters) {
    int at = jobRecord(FrameLayout.JOB_COUNTERS, FrameLayout.JOB_COUNTERS_SIZE, job);
    counters.write(buffer, at);
  }

  public void nodeShuffle(int node, long sentBytes) {
    int at = nodeRecord(FrameLayout.NODE_SHUFFLE, FrameLayout.NODE_SHUFFLE_SIZE, node);
    buffer.putLong(at + FrameLayout.NODE_SHUFFLE_SENT_BYTES, sentBytes);
  }

  public void jobRemoved(int job) {
    jobRecord(FrameLayout.JOB_REMOVED, FrameLayout.JOB_REMOVED_SIZE, job);
  }

  public void jobReset(int job) {
    jobRecord(FrameLayout.JOB_RESET, FrameLayout.JOB_RESET_SIZE, job);
  }

  public void jobMoved(int job, int queue) {
    int at = jobRecord(FrameLayout.JOB_MOVED, FrameLayout.JOB_MOVED_SIZE, job);
    buffer.putInt(at + FrameLayout.JOB_MOVED_QUEUE, queue);
    buffer.putInt(at + FrameLayout.JOB_MOVED_PAD, 0);
  }

  public void jobPriority(int job, int priority) {
    int at = jobRecord(FrameLayout.JOB_PRIORITY, FrameLayout.JOB_PRIORITY_SIZE, job);
    buffer.putInt(at + FrameLayout.JOB_PRIORITY_PRIORITY, priority);
    buffer.putInt(at + FrameLayout.JOB_PRIORITY_PAD, 0);
  }

  public void blacklist(int job, int place, boolean added) {
    int at = jobRecord(FrameLayout.BLACKLIST, FrameLayout.BLACKLIST_SIZE, job);
    buffer.putInt(at + FrameLayout.BLACKLIST_PLACE, place);
    buffer.putInt(at + FrameLayout.BLACKLIST_ADDED, added ? 1 : 0);
  }

  public void ask(
      int job, int ask, int count, int priority, int partition, int flags, Resource size) {
    int at = jobRecord(FrameLayout.ASK, FrameLayout.ASK_SIZE, job);
    buffer.putInt(at + FrameLayout.ASK_ASK, ask);
    buffer.putInt(at + FrameLayout.ASK_COUNT, count);
    buffer.putInt(at + FrameLayout.ASK_PRIORITY, priority);
    buffer.putInt(at + FrameLayout.ASK_PARTITION, partition);
    buffer.putInt(at + FrameLayout.ASK_FLAGS, flags);
    buffer.putInt(at + FrameLayout.ASK_PAD, 0);
    resources.put(buffer, at + FrameLayout.ASK_RESOURCE, size);
  }

  public void askRow(int job, int ask, int place, int count, boolean relaxLocality) {
    int at = jobRecord(FrameLayout.ASK_ROW, FrameLayout.ASK_ROW_SIZE, job);
    buffer.putInt(at + FrameLayout.ASK_ROW_ASK, ask);
    buffer.putInt(at + FrameLayout.ASK_ROW_PLACE, place);
    buffer.putInt(at + FrameLayout.ASK_ROW_COUNT, count);
    buffer.putInt(at + FrameLayout.ASK_ROW_FLAGS,
        relaxLocality ? FrameLayout.ASK_RELAX_LOCALITY : 0);
  }

  public void containerAdded(int job, int node, int priority, boolean am, long key, long startedMs,
      Resource size) {
    int at = jobRecord(FrameLayout.CONTAINER_ADDED, FrameLayout.CONTAINER_ADDED_SIZE, job);
    buffer.putInt(at + FrameLayout.CONTAINER_ADDED_NODE, node);
    buffer.putInt(at + FrameLayout.CONTAINER_ADDED_PRIORITY, priority);
    buffer.putInt(at + FrameLayout.CONTAINER_ADDED_FLAGS, am ? FrameLayout.CONTAINER_AM : 0);
    buffer.putInt(at + FrameLayout.CONTAINER_ADDED_PAD, 0);
    buffer.putLong(at + FrameLayout.CONTAINER_ADDED_KEY, key);
    buffer.putLong(at + FrameLayout.CONTAINER_ADDED_STARTED_MS, startedMs);
    resources.put(buffer, at + FrameLayout.CONTAINER_ADDED_RESOURCE, size);
  }

  public void containerCompleted(int job, long key, int exitStatus) {
    int at = jobRecord(FrameLayout.CONTAINER_COMPLETED, FrameLayout.CONTAINER_COMPLETED_SIZE, job);
    buffer.putInt(at + FrameLayout.CONTAINER_COMPLETED_EXIT, exitStatus);
    buffer.putInt(at + FrameLayout.CONTAINER_COMPLETED_PAD, 0);
    buffer.putLong(at + FrameLayout.CONTAINER_COMPLETED_KEY, key);
  }

  public void containerResized(int job, long key, Resource size) {
    int at = jobRecord(FrameLayout.CONTAINER_RESIZED, FrameLayout.CONTAINER_RESIZED_SIZE, job);
    buffer.putLong(at + FrameLayout.CONTAINER_RESIZED_KEY, key);
    resources.put(buffer, at + FrameLayout.CONTAINER_RESIZED_RESOURCE, size);
  }

  public void ack(int job, long seq, long key) {
    int at = jobRecord(FrameLayout.ACK, FrameLayout.ACK_SIZE, job);
    buffer.putLong(at + FrameLayout.ACK_SEQ, seq);
    buffer.putLong(at + FrameLayout.ACK_KEY, key);
  }

  public void nack(int job, long seq, int reason) {
    int at = jobRecord(FrameLayout.NACK, FrameLayout.NACK_SIZE, job);
    buffer.putInt(at + FrameLayout.NACK_REASON, reason);
    buffer.putInt(at + FrameLayout.NACK_PAD, 0);
    buffer.putLong(at + FrameLayout.NACK_SEQ, seq);
  }

  public void tick() {
    record(FrameLayout.TICK, FrameLayout.TICK_SIZE, 0);
  }

  public void fault(int code) {
    record(FrameLayout.FAULT, FrameLayout.FAULT_SIZE, code);
  }
}
