/*
 * Many threads at once: each with its own engine, all with one, and closing while others call.
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8, ROUNDS = 200 };

static void in_threads(void *(*run)(void *), void *shared) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    if (pthread_create(&threads[i], NULL, run, shared) != 0) {
      perror("pthread_create");
      exit(2);
    }
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
  }
}

static void *open_step_close(void *unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t engine = open_engine(0);
    frame f;
    frame_begin(&f, 1000, 1);
    put_everything(&f);
    step_ok(engine, &f, NULL);
    CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
    frame_begin(&f, 1000, 2);
    frame_end(&f);
    CHECK(step(engine, f.bytes, f.length, NULL) == HEDDLE_BAD_HANDLE, "round %d", round);
  }
  return NULL;
}

static void engines_of_many_threads_do_not_meet(void) { in_threads(open_step_close, NULL); }

struct shared {
  uint64_t engine;
  atomic_uint_fast64_t applied;
  atomic_int opened;
  atomic_int closed;
};

static void *step_shared(void *context) {
  struct shared *shared = context;
  for (int round = 0; round < ROUNDS; round++) {
    frame f;
    frame_begin(&f, 1000, 1);
    put_heartbeat(&f, 999, 0, 0);
    step_ok(shared->engine, &f, NULL);
    atomic_fetch_add(&shared->applied, 1);
  }
  return NULL;
}

/* Every frame names an unknown node, and the engine counts those events: none may be lost. */
static void calls_on_one_engine_wait_for_each_other(void) {
  static uint8_t out[OUT_BYTES];
  struct shared shared = {.engine = open_engine(0)};
  in_threads(step_shared, &shared);
  frame f;
  frame_begin(&f, 1000, 1);
  step_ok(shared.engine, &f, out);
  heddle_output_header header;
  memcpy(&header, out, sizeof header);
  CHECK(header.ignored == atomic_load(&shared.applied), "%" PRIu64 " of %" PRIuFAST64,
        header.ignored, atomic_load(&shared.applied));
  CHECK(header.ignored == THREADS * ROUNDS, "%" PRIu64, header.ignored);
  CHECK(heddle_close(shared.engine) == HEDDLE_OK, "%s", last_error());
}

/* Steps until the engine is gone; exactly one of the threads gets to close it. */
static void *step_until_closed(void *context) {
  struct shared *shared = context;
  int closer = atomic_fetch_add(&shared->opened, 1) == THREADS / 2;
  for (int round = 0;; round++) {
    if (closer && round == 20) {
      CHECK(heddle_close(shared->engine) == HEDDLE_OK, "%s", last_error());
      atomic_store(&shared->closed, 1);
    }
    frame f;
    frame_begin(&f, 1000, 1);
    put_everything(&f);
    frame_end(&f);
    int was_closed = atomic_load(&shared->closed);
    int64_t result = step(shared->engine, f.bytes, f.length, NULL);
    CHECK(result > 0 || result == HEDDLE_BAD_HANDLE, "%" PRId64 ": %s", result, last_error());
    CHECK(!was_closed || result == HEDDLE_BAD_HANDLE, "%" PRId64 " after closing", result);
    if (result <= 0) {
      return NULL;
    }
  }
}

static void closing_while_others_call_is_safe(void) {
  for (int round = 0; round < 20; round++) {
    struct shared shared = {.engine = open_engine(0)};
    in_threads(step_until_closed, &shared);
    CHECK(heddle_close(shared.engine) == HEDDLE_BAD_HANDLE, "closed twice");
  }
}

/* An error's text belongs to the thread whose call failed. */
static void *own_error(void *context) {
  struct shared *shared = context;
  char expected[32];
  uint64_t forged = UINT64_C(0x7fffffff00000000) + (uint64_t)atomic_fetch_add(&shared->opened, 1);
  snprintf(expected, sizeof expected, "0x%" PRIx64, forged);
  for (int round = 0; round < ROUNDS; round++) {
    CHECK(heddle_close(forged) == HEDDLE_BAD_HANDLE, "%s", expected);
    CHECK(strstr(last_error(), expected) != NULL, "%s is not in: %s", expected, last_error());
  }
  return NULL;
}

static void error_texts_belong_to_their_thread(void) {
  struct shared shared = {0};
  in_threads(own_error, &shared);
}

/* Panics repeatedly on one thread beside threads that work. */
static void *panic_or_work(void *context) {
  struct shared *shared = context;
  int panics = atomic_fetch_add(&shared->opened, 1) % 2 == 0;
  for (int round = 0; round < 10; round++) {
    uint64_t engine = open_engine(1);
    frame f;
    frame_begin(&f, 1000, 1);
    put_plain(&f, panics ? HEDDLE_FAULT : HEDDLE_TICK, HEDDLE_FAULT_PANIC);
    frame_end(&f);
    int64_t result = step(engine, f.bytes, f.length, NULL);
    CHECK(panics ? result == HEDDLE_PANIC : result > 0, "%" PRId64 ": %s", result, last_error());
    CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
  }
  return NULL;
}

static void panics_stay_on_their_thread(void) {
  struct shared shared = {0};
  in_threads(panic_or_work, &shared);
}

int main(void) {
  static const test_case tests[] = {
      {"engines of many threads do not meet", engines_of_many_threads_do_not_meet},
      {"calls on one engine wait for each other", calls_on_one_engine_wait_for_each_other},
      {"closing while others call is safe", closing_while_others_call_is_safe},
      {"error texts belong to their thread", error_texts_belong_to_their_thread},
      {"panics stay on their thread", panics_stay_on_their_thread},
  };
  return run_tests(tests, sizeof tests / sizeof *tests);
}
