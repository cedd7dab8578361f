/*
 * Frames that are short or corrupt, or contradict themselves, are refused, and nothing is applied.
 *
 * The flipped bits are drawn from a number that is printed; HEDDLE_SEED=<number> repeats a run.
 */
#include "check.h"

#include <time.h>

static uint64_t seed;

/* xorshift64*: random enough to flip bits with, the same everywhere. */
static uint64_t random_next(void) {
  seed ^= seed >> 12;
  seed ^= seed << 25;
  seed ^= seed >> 27;
  return seed * UINT64_C(0x2545F4914F6CDD1D);
}

static void a_frame_of_everything(frame *f) {
  frame_begin(f, 1000, 1);
  put_everything(f);
  frame_end(f);
}

static void set_u16(uint8_t *at, uint16_t value) { memcpy(at, &value, sizeof value); }
static void set_u32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof value); }

/* An engine with a node, a job and an ask, whose books show whether something was applied. */
static uint64_t furnished_engine(void) {
  uint64_t engine = open_engine(0);
  frame f;
  frame_begin(&f, 1000, 1);
  put_node_added(&f, 1);
  put_job_added(&f, 1, place_job(engine));
  put_ask(&f, 1, 5, 1024);
  step_ok(engine, &f, NULL);
  return engine;
}

static void the_whole_frame_is_taken(void) {
  uint64_t engine = furnished_engine();
  frame f;
  a_frame_of_everything(&f);
  int64_t result = step(engine, f.bytes, f.length, NULL);
  CHECK(result > 0, "%" PRId64 ": %s", result, last_error());
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

/* Cut at every byte, once unchanged and once with the new length in the header. */
static void every_truncation_is_refused_and_changes_nothing(void) {
  uint64_t engine = furnished_engine();
  char *before = audit(engine);
  frame whole;
  a_frame_of_everything(&whole);
  for (uint32_t length = 0; length < whole.length; length++) {
    int64_t result = step(engine, whole.bytes, length, NULL);
    CHECK(result == HEDDLE_BAD_FRAME, "cut at %u: %" PRId64, length, result);
    if (length >= sizeof(heddle_input_header)) {
      frame honest = whole;
      set_u32(honest.bytes + offsetof(heddle_input_header, length), length);
      result = step(engine, honest.bytes, length, NULL);
      CHECK(result == HEDDLE_BAD_FRAME, "honestly cut at %u: %" PRId64, length, result);
      CHECK(strstr(last_error(), "offset ") != NULL, "%s", last_error());
    }
  }
  char *after = audit(engine);
  CHECK(strcmp(before, after) == 0, "\n%s\n%s", before, after);
  free(before);
  free(after);
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

/* Every record with every wrong size near its own, and the extremes. */
static void wrong_record_sizes_are_refused(void) {
  uint64_t engine = furnished_engine();
  char *before = audit(engine);
  frame whole;
  a_frame_of_everything(&whole);
  uint32_t offset = sizeof(heddle_input_header);
  for (uint32_t i = 0; i < whole.records; i++) {
    heddle_record_header record;
    memcpy(&record, whole.bytes + offset, sizeof record);
    const uint16_t sizes[] = {0,
                              1,
                              (uint16_t)(record.size - 8),
                              (uint16_t)(record.size - 1),
                              (uint16_t)(record.size + 1),
                              (uint16_t)(record.size + 8),
                              UINT16_MAX};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      frame wrong = whole;
      set_u16(wrong.bytes + offset + offsetof(heddle_record_header, size), sizes[s]);
      int64_t result = step(engine, wrong.bytes, wrong.length, NULL);
      CHECK(result == HEDDLE_BAD_FRAME, "kind %u with size %u: %" PRId64, record.kind, sizes[s],
            result);
    }
    const uint16_t kinds[] = {0, HEDDLE_NODE_SILENT + 1, UINT16_MAX};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      frame wrong = whole;
      set_u16(wrong.bytes + offset, kinds[k]);
      int64_t result = step(engine, wrong.bytes, wrong.length, NULL);
      CHECK(result == HEDDLE_BAD_FRAME, "kind %u: %" PRId64, kinds[k], result);
    }
    offset += record.size;
  }
  char *after = audit(engine);
  CHECK(strcmp(before, after) == 0, "\n%s\n%s", before, after);
  free(before);
  free(after);
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

static void wrong_counts_and_lengths_are_refused(void) {
  uint64_t engine = furnished_engine();
  char *before = audit(engine);
  frame whole;
  a_frame_of_everything(&whole);
  const uint32_t counts[] = {0, 1, whole.records - 1, whole.records + 1, 1000000, UINT32_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    frame wrong = whole;
    set_u32(wrong.bytes + offsetof(heddle_input_header, records), counts[i]);
    int64_t result = step(engine, wrong.bytes, wrong.length, NULL);
    CHECK(result == HEDDLE_BAD_FRAME, "%u records: %" PRId64, counts[i], result);
  }
  const uint32_t lengths[] = {0, 31, 32, whole.length - 8, whole.length + 8, UINT32_MAX};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    frame wrong = whole;
    set_u32(wrong.bytes + offsetof(heddle_input_header, length), lengths[i]);
    int64_t result = step(engine, wrong.bytes, wrong.length, NULL);
    CHECK(result == HEDDLE_BAD_FRAME, "length %u: %" PRId64, lengths[i], result);
  }
  frame greedy = whole;
  set_u32(greedy.bytes + offsetof(heddle_input_header, decisions_max), UINT32_MAX);
  int64_t result = step(engine, greedy.bytes, greedy.length, NULL);
  CHECK(result == HEDDLE_SHORT_BUFFER, "decisions without end: %" PRId64, result);
  char *after = audit(engine);
  CHECK(strcmp(before, after) == 0, "\n%s\n%s", before, after);
  free(before);
  free(after);
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

/* The answer to any bits is a frame or a refusal; never a crash, never a panic. */
static void flipped_bits_never_harm(void) {
  enum { ROUNDS = 1500, ROUNDS_PER_ENGINE = 100 };
  static uint8_t out[OUT_BYTES];
  uint64_t engine = 0;
  unsigned taken = 0, refused = 0;
  for (unsigned round = 0; round < ROUNDS; round++) {
    if (round % ROUNDS_PER_ENGINE == 0) {
      CHECK(engine == 0 || heddle_close(engine) == HEDDLE_OK, "%s", last_error());
      engine = furnished_engine();
    }
    frame f;
    a_frame_of_everything(&f);
    unsigned flips = 1 + (unsigned)(random_next() % 6);
    for (unsigned i = 0; i < flips; i++) {
      uint64_t bit = random_next() % (f.length * 8u);
      f.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    int64_t result = step(engine, f.bytes, f.length, out);
    CHECK(result > 0 || result == HEDDLE_BAD_FRAME || result == HEDDLE_BAD_VERSION ||
              result == HEDDLE_SHORT_BUFFER,
          "round %u: %" PRId64 ": %s", round, result, last_error());
    if (result > 0) {
      for_each_record(out, NULL, NULL);
      taken++;
    } else {
      refused++;
    }
    if (result == HEDDLE_PANIC) {
      break;
    }
  }
  CHECK(taken > 100 && refused > 100, "%u taken, %u refused: nothing tested", taken, refused);
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

/* A frame may lie anywhere in memory. */
static void any_alignment_will_do(void) {
  uint64_t engine = open_engine(0);
  frame f;
  frame_begin(&f, 1000, 1);
  put_node_added(&f, 1);
  put_plain(&f, HEDDLE_TICK, 0);
  frame_end(&f);
  for (size_t shift = 0; shift < 8; shift++) {
    uint8_t *in = guarded_new(f.length + shift);
    uint8_t *out = guarded_new(OUT_BYTES + 8);
    memcpy(in, f.bytes, f.length);
    int64_t result = heddle_step(engine, in, f.length, out + shift, OUT_BYTES);
    CHECK(result > 0, "shift %zu: %" PRId64 ": %s", shift, result, last_error());
    guarded_free(in, f.length + shift);
    guarded_free(out, OUT_BYTES + 8);
  }
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
}

int main(void) {
  static const test_case tests[] = {
      {"the whole frame is taken", the_whole_frame_is_taken},
      {"every truncation is refused", every_truncation_is_refused_and_changes_nothing},
      {"wrong record sizes are refused", wrong_record_sizes_are_refused},
      {"wrong counts and lengths are refused", wrong_counts_and_lengths_are_refused},
      {"flipped bits never harm", flipped_bits_never_harm},
      {"any alignment will do", any_alignment_will_do},
  };
  const char *given = getenv("HEDDLE_SEED");
  seed = given != NULL ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
  seed = seed == 0 ? 1 : seed;
  printf("HEDDLE_SEED=%" PRIu64 "\n", seed);
  return run_tests(tests, sizeof tests / sizeof *tests);
}
