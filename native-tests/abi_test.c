/*
 * The C functions as a program uses them: life cycle, handles, versions, short buffers, NULL,
 * panics. frame_test.c has malformed frames, thread_test.c has threads.
 */
#define _DEFAULT_SOURCE

#include "check.h"

static const char AUDIT[] = "{\"op\":\"audit\"}";

static int64_t request_into(uint64_t engine, const char *json, uint8_t *out, size_t capacity) {
  return heddle_request(engine, 5, (const uint8_t *)json, strlen(json), out, capacity);
}

static int32_t open_with(const char *setup, uint64_t *engine) {
  return heddle_open((const uint8_t *)setup, strlen(setup), engine);
}

static void versions_are_those_of_the_header(void) {
  CHECK(heddle_abi_version() == HEDDLE_ABI_VERSION, "%u", heddle_abi_version());
  CHECK(strchr(heddle_version(), '.') != NULL, "%s", heddle_version());
}

struct grants {
  unsigned count;
  heddle_grant last;
};

static void count_grant(const uint8_t *record, void *context) {
  struct grants *grants = context;
  heddle_record_header header;
  memcpy(&header, record, sizeof header);
  if (header.kind == HEDDLE_GRANT) {
    CHECK(header.size == sizeof grants->last, "a grant of %u bytes", header.size);
    memcpy(&grants->last, record, sizeof grants->last);
    grants->count++;
  }
}

/* A node, a job that asks for three containers, and room for them. */
static void a_job_gets_its_containers(void) {
  static uint8_t out[OUT_BYTES];
  uint64_t engine = open_engine(0);
  uint32_t queue = place_job(engine);
  frame f;
  frame_begin(&f, 1000, 41);
  put_node_added(&f, 7);
  put_job_added(&f, 1, queue);
  put_ask(&f, 1, 3, 1024);
  put_heartbeat(&f, 7, 8192, 8);
  step_ok(engine, &f, out);
  struct grants grants = {0};
  for_each_record(out, count_grant, &grants);
  heddle_output_header header;
  memcpy(&header, out, sizeof header);
  CHECK(header.sequence == 41, "%" PRIu64, header.sequence);
  CHECK(grants.count == 3, "%u grants", grants.count);
  CHECK(grants.last.header.id == 1 && grants.last.node == 7, "job %u, node %u",
        grants.last.header.id, grants.last.node);

  frame_begin(&f, 1100, 42);
  for (uint64_t i = 0; i < grants.count; i++) {
    put_ack(&f, 1, grants.last.seq - 2 + i, 100 + i);
  }
  put_heartbeat(&f, 7, 8192 - 3 * 1024, 8 - 3);
  step_ok(engine, &f, out);
  memcpy(&header, out, sizeof header);
  CHECK((header.flags & HEDDLE_OUTPUT_IDLE) != 0, "flags %u", header.flags);
  char *books = audit(engine);
  CHECK(strstr(books, "[1,3,[3072,3,0,0,0,0,0,0],[]]") != NULL, "%s", books);
  free(books);
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

static void stale_forged_and_doubled_handles_are_refused(void) {
  uint8_t out[64];
  uint64_t open = open_engine(0);
  uint64_t closed = open_engine(0);
  CHECK(heddle_close(closed) == HEDDLE_OK, "%s", last_error());
  CHECK(heddle_close(closed) == HEDDLE_BAD_HANDLE, "closed twice");
  uint64_t successor = open_engine(0);
  CHECK(successor != closed, "the number of a closed engine came back");
  frame f;
  frame_begin(&f, 1000, 1);
  frame_end(&f);
  const uint64_t wrong[] = {0, 1, closed, open + 1000, open ^ (UINT64_C(1) << 33), UINT64_MAX,
                            (uint64_t)INT64_MAX, (uint64_t)(uintptr_t)&f};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK(step(wrong[i], f.bytes, f.length, NULL) == HEDDLE_BAD_HANDLE, "%" PRIx64, wrong[i]);
    CHECK(request_into(wrong[i], AUDIT, out, sizeof out) == HEDDLE_BAD_HANDLE, "%" PRIx64,
          wrong[i]);
    CHECK(heddle_close(wrong[i]) == HEDDLE_BAD_HANDLE, "%" PRIx64, wrong[i]);
  }
  CHECK(strstr(last_error(), "closed") != NULL, "%s", last_error());
  CHECK(step(open, f.bytes, f.length, NULL) > 0, "an engine beside was hit: %s", last_error());
  CHECK(step(successor, f.bytes, f.length, NULL) > 0, "the successor was hit: %s", last_error());
  CHECK(heddle_close(open) == HEDDLE_OK && heddle_close(successor) == HEDDLE_OK, "%s",
        last_error());
}

static void a_bad_setup_is_refused_with_its_place(void) {
  static const struct {
    const char *setup, *expected;
  } bad[] = {
      {"", "line 1"},
      {"{\"config\":", "line 1"},
      {"[]", "object"},
      {"{\"config\":{\"polcy\":\"fair\"}}", "policy"},
      {"{\"journal\":7}", "journal"},
      {"{\"log_level\":\"loud\"}", "log_level"},
      {"{\"config\":{\"delay\":{\"node_wait_ms\":-1}}}", "node_wait_ms"},
      {"{\"resource_types\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"]}", "8"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    uint64_t engine = 99;
    CHECK(open_with(bad[i].setup, &engine) == HEDDLE_BAD_CONFIG, "%s", bad[i].setup);
    CHECK(engine == 0, "a handle for %s", bad[i].setup);
    CHECK(strstr(last_error(), bad[i].expected) != NULL, "%s: %s", bad[i].setup, last_error());
  }
  const uint8_t latin1[] = {'{', 0xe9, '}'};
  uint64_t engine;
  CHECK(heddle_open(latin1, sizeof latin1, &engine) == HEDDLE_BAD_CONFIG, "not UTF-8");
  CHECK(strstr(last_error(), "UTF-8") != NULL, "%s", last_error());
}

static void null_and_nothing_are_refused(void) {
  uint8_t out[64];
  uint64_t engine = 0;
  CHECK(heddle_open(NULL, 0, &engine) == HEDDLE_BAD_CONFIG, "no setup");
  CHECK(heddle_open(NULL, 5, &engine) == HEDDLE_BAD_CONFIG, "NULL setup");
  CHECK(open_with("{}", NULL) == HEDDLE_BAD_CONFIG, "nowhere to put the handle");
  engine = open_engine(0);
  frame f;
  frame_begin(&f, 1000, 1);
  frame_end(&f);
  CHECK(heddle_step(engine, NULL, 0, out, sizeof out) == HEDDLE_BAD_FRAME, "nothing");
  CHECK(heddle_step(engine, NULL, 32, out, sizeof out) == HEDDLE_BAD_FRAME, "NULL");
  CHECK(heddle_step(engine, f.bytes, SIZE_MAX, out, sizeof out) == HEDDLE_BAD_FRAME, "too long");
  CHECK(heddle_step(engine, f.bytes, f.length, NULL, 0) == HEDDLE_SHORT_BUFFER, "no room");
  CHECK(heddle_step(engine, f.bytes, f.length, NULL, OUT_BYTES) == HEDDLE_SHORT_BUFFER, "NULL");
  CHECK(heddle_step(engine, f.bytes, f.length, f.bytes + 8, 100) == HEDDLE_BAD_FRAME, "overlap");
  CHECK(request_into(engine, AUDIT, NULL, 0) == HEDDLE_SHORT_BUFFER, "no room");
  CHECK(heddle_request(engine, 0, NULL, 0, out, sizeof out) == HEDDLE_BAD_REQUEST, "nothing");
  CHECK(heddle_request(engine, 0, NULL, 9, out, sizeof out) == HEDDLE_BAD_REQUEST, "NULL");
  CHECK(step(engine, f.bytes, f.length, NULL) > 0, "harmed by that: %s", last_error());
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

/* Every size that is too small is refused and leaves both the buffer and the engine alone. */
static void a_short_output_buffer_changes_nothing(void) {
  uint64_t engine = open_engine(0);
  frame f;
  frame_begin(&f, 1000, 1);
  put_node_added(&f, 1);
  frame_end(&f);
  const size_t sizes[] = {1, 47, 48, 49, 1000, OUT_BYTES - 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    uint8_t *out = guarded_new(sizes[i]);
    memset(out, 0xaa, sizes[i]);
    int64_t result = heddle_step(engine, f.bytes, f.length, out, sizes[i]);
    CHECK(result == HEDDLE_SHORT_BUFFER, "%zu bytes: %" PRId64, sizes[i], result);
    for (size_t at = 0; at < sizes[i]; at++) {
      CHECK(out[at] == 0xaa, "byte %zu of %zu was written", at, sizes[i]);
    }
    guarded_free(out, sizes[i]);
  }
  char *books = audit(engine);
  CHECK(strstr(books, "\"nodes\":[]") != NULL, "a refused frame was applied: %s", books);
  free(books);
  CHECK(step(engine, f.bytes, f.length, NULL) > 0, "%s", last_error());
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

/* The placement makes a queue; the repeated request must get the kept reply, not make it again. */
static void a_reply_that_did_not_fit_is_kept(void) {
  static const char place[] = "{\"op\":\"place\",\"user\":\"bob\",\"groups\":[],\"queue\":null,"
                              "\"recovering\":false}";
  uint64_t engine = open_engine(0);
  uint64_t needed = 0;
  CHECK(request_into(engine, place, (uint8_t *)&needed, sizeof needed) == HEDDLE_SHORT_BUFFER,
        "%s", last_error());
  CHECK(needed > 8 && needed < 1 << 16, "%" PRIu64, needed);
  uint8_t *out = guarded_new(needed);
  int64_t length = request_into(engine, place, out, needed);
  CHECK(length == (int64_t)needed, "%" PRId64 ": %s", length, last_error());
  char *reply = calloc(1, needed + 1);
  memcpy(reply, out, needed);
  CHECK(strstr(reply, "\"created\":true") != NULL, "%s", reply);
  free(reply);
  guarded_free(out, needed);

  uint8_t seven[7];
  memset(seven, 0xaa, sizeof seven);
  CHECK(request_into(engine, AUDIT, seven, sizeof seven) == HEDDLE_SHORT_BUFFER, "%s",
        last_error());
  CHECK(seven[0] == 0xaa, "a size was written where it does not fit");
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

static void a_bad_request_says_what_would_be_right(void) {
  static const struct {
    const char *request, *expected;
  } bad[] = {
      {"not json", "line 1"},
      {"{\"op\":\"queus\"}", "queues"},
      {"{}", "op"},
      {"{\"op\":\"place\"}", "user"},
  };
  uint8_t out[64];
  uint64_t engine = open_engine(0);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK(request_into(engine, bad[i].request, out, sizeof out) == HEDDLE_BAD_REQUEST, "%s",
          bad[i].request);
    CHECK(strstr(last_error(), bad[i].expected) != NULL, "%s: %s", bad[i].request, last_error());
  }
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

static void another_version_is_refused(void) {
  uint64_t engine = open_engine(0);
  frame f;
  frame_begin(&f, 1000, 1);
  put_plain(&f, HEDDLE_TICK, 0);
  frame_end(&f);
  const uint32_t versions[] = {0, HEDDLE_ABI_VERSION + 1, UINT32_MAX};
  for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
    memcpy(f.bytes, &versions[i], sizeof versions[i]);
    CHECK(step(engine, f.bytes, f.length, NULL) == HEDDLE_BAD_VERSION, "%u", versions[i]);
  }
  CHECK(strstr(last_error(), "version 4294967295") != NULL, "%s", last_error());
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

/* The engine that panicked is lost, its neighbour is not, and closing works. */
static void a_panic_ends_the_engine_and_nothing_else(void) {
  uint8_t out[64];
  uint64_t engine = open_engine(1);
  uint64_t neighbour = open_engine(1);
  frame f;
  frame_begin(&f, 1000, 1);
  put_plain(&f, HEDDLE_FAULT, HEDDLE_FAULT_PANIC);
  frame_end(&f);
  CHECK(step(engine, f.bytes, f.length, NULL) == HEDDLE_PANIC, "%s", last_error());
  CHECK(strstr(last_error(), ".rs:") != NULL, "no place in: %s", last_error());
  frame_begin(&f, 1100, 2);
  frame_end(&f);
  CHECK(step(engine, f.bytes, f.length, NULL) == HEDDLE_ENGINE_FAILED, "%s", last_error());
  CHECK(request_into(engine, AUDIT, out, sizeof out) == HEDDLE_ENGINE_FAILED, "%s", last_error());
  CHECK(step(neighbour, f.bytes, f.length, NULL) > 0, "%s", last_error());
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
  CHECK(heddle_close(engine) == HEDDLE_BAD_HANDLE, "closed twice");
  CHECK(heddle_close(neighbour) == HEDDLE_OK, "%s", last_error());
}

/* Unless the configuration allows it, a FAULT is ignored and counted. */
static void a_fault_that_is_not_allowed_is_ignored(void) {
  static uint8_t out[OUT_BYTES];
  uint64_t engine = open_engine(0);
  frame f;
  frame_begin(&f, 1000, 1);
  put_plain(&f, HEDDLE_FAULT, HEDDLE_FAULT_PANIC);
  step_ok(engine, &f, out);
  heddle_output_header header;
  memcpy(&header, out, sizeof header);
  CHECK(header.ignored == 1, "%" PRIu64, header.ignored);
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

static void find_text(const uint8_t *record, void *context) {
  heddle_log log;
  heddle_record_header header;
  memcpy(&header, record, sizeof header);
  if (header.kind != HEDDLE_LOG) {
    return;
  }
  memcpy(&log, record, sizeof log);
  CHECK(sizeof log + log.length <= header.size, "%u bytes of text in %u", log.length, header.size);
  char text[4097] = {0};
  memcpy(text, record + sizeof log, log.length < 4096 ? log.length : 4096);
  if (header.id == HEDDLE_LOG_WARN && strstr(text, "ignored") != NULL) {
    *(unsigned *)context += 1;
  }
}

/* Log lines come with the next frame, once. */
static void log_lines_come_with_the_frame(void) {
  static uint8_t out[OUT_BYTES];
  uint64_t engine = open_engine(0);
  for (uint64_t round = 0; round < 2; round++) {
    frame f;
    frame_begin(&f, 1000, round);
    if (round == 0) {
      put_heartbeat(&f, 12345, 0, 0);
    }
    step_ok(engine, &f, out);
    unsigned lines = 0;
    for_each_record(out, find_text, &lines);
    CHECK(lines == (round == 0), "%u lines in round %" PRIu64, lines, round);
  }
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

static void an_error_text_is_cut_where_it_must_be(void) {
  CHECK(heddle_close(0) == HEDDLE_BAD_HANDLE, "0 is no handle");
  size_t length = heddle_last_error(NULL, 0);
  CHECK(length > 10, "%zu", length);
  for (size_t capacity = 1; capacity <= length + 1; capacity++) {
    char *text = (char *)guarded_new(capacity);
    memset(text, 0xaa, capacity);
    CHECK(heddle_last_error((uint8_t *)text, capacity) == length, "at %zu", capacity);
    CHECK(strnlen(text, capacity) == capacity - 1, "at %zu: %zu", capacity,
          strnlen(text, capacity));
    guarded_free((uint8_t *)text, capacity);
  }
}

int main(void) {
  static const test_case tests[] = {
      {"versions are those of the header", versions_are_those_of_the_header},
      {"a job gets its containers", a_job_gets_its_containers},
      {"stale, forged and doubled handles", stale_forged_and_doubled_handles_are_refused},
      {"a bad setup is refused with its place", a_bad_setup_is_refused_with_its_place},
      {"NULL and nothing are refused", null_and_nothing_are_refused},
      {"a short output buffer changes nothing", a_short_output_buffer_changes_nothing},
      {"a reply that did not fit is kept", a_reply_that_did_not_fit_is_kept},
      {"a bad request says what would be right", a_bad_request_says_what_would_be_right},
      {"another version is refused", another_version_is_refused},
      {"a panic ends the engine and nothing else", a_panic_ends_the_engine_and_nothing_else},
      {"a fault that is not allowed is ignored", a_fault_that_is_not_allowed_is_ignored},
      {"log lines come with the frame", log_lines_come_with_the_frame},
      {"an error text is cut where it must be", an_error_text_is_cut_where_it_must_be},
  };
  return run_tests(tests, sizeof tests / sizeof *tests);
}
