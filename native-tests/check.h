/*
 * Shared by the C tests: counting checks, writing frames, and buffers whose end is guarded.
 *
 * The library is not compiled with a sanitizer, which therefore misses the library's own stray
 * accesses. Buffers of guarded_new() end where an unmapped page begins: one byte too far is a
 * SIGSEGV.
 */
#ifndef HEDDLE_NATIVE_TESTS_CHECK_H
#define HEDDLE_NATIVE_TESTS_CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle.h"

/* Most decisions that the tests ask for in one frame. */
#define DECISIONS_MAX 16u
/* Room for any answer to such a frame; see heddle_step in the header. */
#define OUT_BYTES (48u + 88u * DECISIONS_MAX + HEDDLE_LOG_BYTES_MAX)

extern unsigned checks_failed;

/* Counts a failure and says where; goes on, so that one run shows all failures. */
#define CHECK(condition, ...) \
  check_that((condition) != 0, #condition, __FILE__, __LINE__, __VA_ARGS__)

void check_that(int holds, const char *what, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* One test: its name and its function. */
typedef struct {
  const char *name;
  void (*run)(void);
} test_case;

/* Runs the tests, prints a line for each and "N passed, N failed"; returns main's exit code. */
int run_tests(const test_case *tests, size_t count);

/* Returns memory whose last byte lies before an unmapped page. Free it with its size. */
uint8_t *guarded_new(size_t bytes);
void guarded_free(uint8_t *memory, size_t bytes);

/* The text of the last error on this thread; any thread's next call overwrites it. */
const char *last_error(void);

/* Opens an engine, or ends the test; `with_faults` allows FAULT records. */
uint64_t open_engine(int with_faults);

/* A frame under construction. */
typedef struct {
  uint8_t bytes[8192];
  uint32_t length;
  uint32_t records;
} frame;

void frame_begin(frame *f, int64_t now_ms, uint64_t sequence);
void frame_put(frame *f, const void *record, size_t size);
/* Writes the header; nothing may follow. */
void frame_end(frame *f);

void put_plain(frame *f, uint16_t kind, uint32_t id);
void put_node_added(frame *f, uint32_t node);
void put_heartbeat(frame *f, uint32_t node, int64_t memory_mb, int64_t vcores);
void put_job_added(frame *f, uint32_t job, uint32_t queue);
void put_ask(frame *f, uint32_t job, uint32_t count, int64_t memory_mb);
void put_ack(frame *f, uint32_t job, uint64_t seq, uint64_t key);
/* Puts one record of every kind except FAULT. */
void put_everything(frame *f);

/* Steps with guarded buffers of exactly the frame's size and OUT_BYTES. Copies the answer to `out`,
 * which has OUT_BYTES, unless it is NULL. */
int64_t step(uint64_t engine, const uint8_t *bytes, size_t length, uint8_t *out);

/* Steps a frame that must succeed. */
void step_ok(uint64_t engine, frame *f, uint8_t *out);

/* Returns the queue that a job of user "alice" gets. */
uint32_t place_job(uint64_t engine);

/* Returns the reply to an audit, for a comparison before and after. Free it. */
char *audit(uint64_t engine);

/* Calls `visit` for every record of an output frame and checks that the frame is whole. */
void for_each_record(const uint8_t *out, void (*visit)(const uint8_t *record, void *context),
                     void *context);

#endif
