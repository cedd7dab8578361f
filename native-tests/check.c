/* Implements check.h. Tests nothing by itself. */
#define _DEFAULT_SOURCE

#include "check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

unsigned checks_failed;
static pthread_mutex_t check_lock = PTHREAD_MUTEX_INITIALIZER;

void check_that(int holds, const char *what, const char *file, int line, const char *format, ...) {
  if (holds) {
    return;
  }
  pthread_mutex_lock(&check_lock);
  checks_failed++;
  va_list arguments;
  va_start(arguments, format);
  printf("%s:%d: not true: %s: ", file, line, what);
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
  pthread_mutex_unlock(&check_lock);
}

int run_tests(const test_case *tests, size_t count) {
  unsigned passed = 0, failed = 0;
  for (size_t i = 0; i < count; i++) {
    unsigned failed_before = checks_failed;
    /* Printed first, and at once, so that a crash shows where it was. */
    printf("%s ... ", tests[i].name);
    fflush(stdout);
    tests[i].run();
    int ok = checks_failed == failed_before;
    printf(ok ? "ok\n" : "FAILED\n");
    passed += ok != 0;
    failed += ok == 0;
  }
  printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* The size of the whole pages that hold `bytes`, at least one. */
static size_t mapped_bytes(size_t bytes) {
  size_t page = page_bytes();
  return (bytes / page + 1) * page;
}

uint8_t *guarded_new(size_t bytes) {
  size_t mapped = mapped_bytes(bytes);
  uint8_t *start = mmap(NULL, mapped + page_bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED || mprotect(start + mapped, page_bytes(), PROT_NONE) != 0) {
    perror("guarded_new");
    exit(2);
  }
  return start + mapped - bytes;
}

void guarded_free(uint8_t *memory, size_t bytes) {
  size_t mapped = mapped_bytes(bytes);
  munmap(memory + bytes - mapped, mapped + page_bytes());
}

const char *last_error(void) {
  static _Thread_local char text[4096];
  heddle_last_error((uint8_t *)text, sizeof text);
  return text;
}

uint64_t open_engine(int with_faults) {
  const char *setup = with_faults
      ? "{\"resource_types\":[\"memory-mb\",\"vcores\"],\"journal\":null,"
        "\"config\":{\"testing\":{\"faults\":true}}}"
      : "{\"resource_types\":[\"memory-mb\",\"vcores\"],\"journal\":null,\"config\":{}}";
  uint64_t engine = 0;
  int32_t code = heddle_open((const uint8_t *)setup, strlen(setup), &engine);
  if (code != HEDDLE_OK) {
    printf("heddle_open: %d: %s\n", code, last_error());
    exit(2);
  }
  return engine;
}

void frame_begin(frame *f, int64_t now_ms, uint64_t sequence) {
  heddle_input_header header = {
      .abi = HEDDLE_ABI_VERSION,
      .now_ms = now_ms,
      .sequence = sequence,
      .decisions_max = DECISIONS_MAX,
  };
  memcpy(f->bytes, &header, sizeof header);
  f->length = sizeof header;
  f->records = 0;
}

void frame_put(frame *f, const void *record, size_t size) {
  if (f->length + size > sizeof f->bytes) {
    printf("the test writes a frame of more than %zu bytes\n", sizeof f->bytes);
    exit(2);
  }
  memcpy(f->bytes + f->length, record, size);
  f->length += (uint32_t)size;
  f->records++;
}

void frame_end(frame *f) {
  memcpy(f->bytes + offsetof(heddle_input_header, length), &f->length, sizeof f->length);
  memcpy(f->bytes + offsetof(heddle_input_header, records), &f->records, sizeof f->records);
}

void put_plain(frame *f, uint16_t kind, uint32_t id) {
  heddle_record_header header = {kind, sizeof header, id};
  frame_put(f, &header, sizeof header);
}

void put_node_added(frame *f, uint32_t node) {
  heddle_node_added record = {
      .header = {HEDDLE_NODE_ADDED, sizeof record, node},
      .host = 10 + node,
      .rack = 1 + node % 2,
      .flags = HEDDLE_NODE_SCHEDULABLE,
      .capacity = {8192, 8},
      .free = {8192, 8},
  };
  frame_put(f, &record, sizeof record);
}

void put_heartbeat(frame *f, uint32_t node, int64_t memory_mb, int64_t vcores) {
  heddle_heartbeat record = {
      .header = {HEDDLE_HEARTBEAT, sizeof record, node},
      .free = {memory_mb, vcores},
  };
  frame_put(f, &record, sizeof record);
}

void put_job_added(frame *f, uint32_t job, uint32_t queue) {
  heddle_job_added record = {
      .header = {HEDDLE_JOB_ADDED, sizeof record, job},
      .queue = queue,
      .flags = HEDDLE_JOB_MAPREDUCE,
      .submitted_ms = 1000,
  };
  frame_put(f, &record, sizeof record);
}

void put_ask(frame *f, uint32_t job, uint32_t count, int64_t memory_mb) {
  heddle_ask record = {
      .header = {HEDDLE_ASK, sizeof record, job},
      .count = count,
      .priority = 20,
      .flags = HEDDLE_ASK_RELAX_LOCALITY,
      .resource = {memory_mb, 1},
  };
  frame_put(f, &record, sizeof record);
}

void put_ack(frame *f, uint32_t job, uint64_t seq, uint64_t key) {
  heddle_ack record = {.header = {HEDDLE_ACK, sizeof record, job}, .seq = seq, .key = key};
  frame_put(f, &record, sizeof record);
}

static void put_everything_of_job(frame *f) {
  heddle_job_moved moved = {.header = {HEDDLE_JOB_MOVED, sizeof moved, 2}, .queue = 1};
  frame_put(f, &moved, sizeof moved);
  heddle_job_priority priority = {
      .header = {HEDDLE_JOB_PRIORITY, sizeof priority, 2}, .priority = 3};
  frame_put(f, &priority, sizeof priority);
  heddle_blacklist blacklist = {
      .header = {HEDDLE_BLACKLIST, sizeof blacklist, 2}, .place = 10, .added = 1};
  frame_put(f, &blacklist, sizeof blacklist);
  put_ask(f, 2, 3, 1024);
  heddle_ask_row row = {.header = {HEDDLE_ASK_ROW, sizeof row, 2},
                        .place = 11,
                        .count = 2,
                        .flags = HEDDLE_ASK_RELAX_LOCALITY};
  frame_put(f, &row, sizeof row);
  put_plain(f, HEDDLE_JOB_RESET, 2);
}

static void put_everything_known(frame *f) {
  heddle_job_hints hints = {
      .header = {HEDDLE_JOB_HINTS, sizeof hints, 2},
      .known = HEDDLE_HINT_MAPS | HEDDLE_HINT_DEADLINE_MS | HEDDLE_HINT_SIGNATURE,
      .maps = 40,
      .deadline_ms = 90000,
      .signature = 77};
  frame_put(f, &hints, sizeof hints);
  heddle_input_blocks blocks = {.header = {HEDDLE_INPUT_BLOCKS, sizeof blocks, 2},
                                .racks = {1, 2, 0},
                                .blocks = 40,
                                .bytes = 40u << 20};
  frame_put(f, &blocks, sizeof blocks);
  heddle_task task = {.header = {HEDDLE_TASK, sizeof task, 2},
                      .key = 77,
                      .progress_per_mille = 500,
                      .flags = HEDDLE_TASK_EXECUTING,
                      .input_bytes = 1u << 20,
                      .executing_since_ms = 1000};
  frame_put(f, &task, sizeof task);
  heddle_rack_traffic traffic = {.header = {HEDDLE_RACK_TRAFFIC, sizeof traffic, 2},
                                 .up_bytes_per_s = 1000,
                                 .bandwidth_bytes_per_s = 125000000};
  frame_put(f, &traffic, sizeof traffic);
  heddle_node_load load = {
      .header = {HEDDLE_NODE_LOAD, sizeof load, 3}, .foreign_per_mille = 250};
  frame_put(f, &load, sizeof load);
  heddle_container_launched launched = {
      .header = {HEDDLE_CONTAINER_LAUNCHED, sizeof launched, 2}, .key = 77, .launched_ms = 1500};
  frame_put(f, &launched, sizeof launched);
  heddle_job_counters counters = {.header = {HEDDLE_JOB_COUNTERS, sizeof counters, 2},
                                  .maps_done = 10,
                                  .map_output_bytes = 1u << 20};
  frame_put(f, &counters, sizeof counters);
  heddle_node_shuffle sent = {
      .header = {HEDDLE_NODE_SHUFFLE, sizeof sent, 3}, .sent_bytes = 1u << 20};
  frame_put(f, &sent, sizeof sent);
}

static void put_everything_of_container(frame *f) {
  heddle_container_added added = {.header = {HEDDLE_CONTAINER_ADDED, sizeof added, 2},
                                  .node = 3,
                                  .priority = 20,
                                  .key = 77,
                                  .started_ms = 1000,
                                  .resource = {1024, 1}};
  frame_put(f, &added, sizeof added);
  put_everything_known(f);
  heddle_container_resized resized = {
      .header = {HEDDLE_CONTAINER_RESIZED, sizeof resized, 2}, .key = 77, .resource = {2048, 1}};
  frame_put(f, &resized, sizeof resized);
  heddle_container_completed completed = {
      .header = {HEDDLE_CONTAINER_COMPLETED, sizeof completed, 2}, .exit = -100, .key = 77};
  frame_put(f, &completed, sizeof completed);
  put_ack(f, 2, 900, 78);
  heddle_nack nack = {
      .header = {HEDDLE_NACK, sizeof nack, 2}, .reason = HEDDLE_REASON_NO_FIT, .seq = 901};
  frame_put(f, &nack, sizeof nack);
}

void put_everything(frame *f) {
  put_node_added(f, 3);
  heddle_node_changed changed = {.header = {HEDDLE_NODE_CHANGED, sizeof changed, 3},
                                 .host = 13,
                                 .rack = 2,
                                 .flags = HEDDLE_NODE_SCHEDULABLE,
                                 .capacity = {4096, 4},
                                 .free = {4096, 4}};
  frame_put(f, &changed, sizeof changed);
  put_job_added(f, 2, 0);
  put_everything_of_job(f);
  put_everything_of_container(f);
  put_heartbeat(f, 3, 4096, 4);
  heddle_node_room room = {.header = {HEDDLE_NODE_ROOM, sizeof room, 3}, .free = {2048, 2}};
  frame_put(f, &room, sizeof room);
  put_plain(f, HEDDLE_NODE_SILENT, 3);
  put_plain(f, HEDDLE_OFFER, 2);
  put_plain(f, HEDDLE_TICK, 0);
  put_plain(f, HEDDLE_JOB_REMOVED, 2);
  put_plain(f, HEDDLE_NODE_REMOVED, 3);
}

int64_t step(uint64_t engine, const uint8_t *bytes, size_t length, uint8_t *out) {
  uint8_t *guarded_in = guarded_new(length);
  uint8_t *guarded_out = guarded_new(OUT_BYTES);
  if (length > 0) {
    memcpy(guarded_in, bytes, length);
  }
  int64_t result = heddle_step(engine, guarded_in, length, guarded_out, OUT_BYTES);
  CHECK(length == 0 || memcmp(guarded_in, bytes, length) == 0, "the input was written to");
  if (result > 0 && out != NULL) {
    memcpy(out, guarded_out, (size_t)result);
  }
  guarded_free(guarded_in, length);
  guarded_free(guarded_out, OUT_BYTES);
  return result;
}

void step_ok(uint64_t engine, frame *f, uint8_t *out) {
  frame_end(f);
  int64_t result = step(engine, f->bytes, f->length, out);
  CHECK(result >= (int64_t)sizeof(heddle_output_header), "%" PRId64 ": %s", result, last_error());
}

static char *request(uint64_t engine, const char *json) {
  size_t capacity = 1u << 20;
  char *reply = malloc(capacity + 1);
  if (reply == NULL) {
    perror("request");
    exit(2);
  }
  int64_t length =
      heddle_request(engine, 0, (const uint8_t *)json, strlen(json), (uint8_t *)reply, capacity);
  CHECK(length > 0, "%s: %" PRId64 ": %s", json, length, last_error());
  reply[length > 0 ? length : 0] = '\0';
  return reply;
}

uint32_t place_job(uint64_t engine) {
  char *reply = request(engine, "{\"op\":\"place\",\"user\":\"alice\",\"groups\":[],"
                                "\"queue\":\"default\",\"recovering\":false}");
  const char *queue = strstr(reply, "\"queue\":");
  CHECK(queue != NULL, "%s", reply);
  uint32_t id = queue == NULL ? 0 : (uint32_t)strtoul(queue + strlen("\"queue\":"), NULL, 10);
  free(reply);
  return id;
}

char *audit(uint64_t engine) { return request(engine, "{\"op\":\"audit\"}"); }

void for_each_record(const uint8_t *out, void (*visit)(const uint8_t *record, void *context),
                     void *context) {
  heddle_output_header header;
  memcpy(&header, out, sizeof header);
  CHECK(header.abi == HEDDLE_ABI_VERSION, "%u", header.abi);
  uint32_t offset = sizeof header;
  for (uint32_t i = 0; i < header.records; i++) {
    heddle_record_header record;
    memcpy(&record, out + offset, sizeof record);
    CHECK(record.size >= sizeof record && record.size % HEDDLE_RECORD_ALIGNMENT == 0 &&
              offset + record.size <= header.length,
          "record %u at %u of %u has size %u", i, offset, header.length, record.size);
    if (record.size == 0) {
      return;
    }
    if (visit != NULL) {
      visit(out + offset, context);
    }
    offset += record.size;
  }
  CHECK(offset == header.length, "the records end at %u, the frame at %u", offset, header.length);
}
