/*
 * Replays journals and compares the digest of the answers with the one beside each journal, which
 * Rust computed (rust/bridge/tests/library/replay.rs). rust/bridge/src/journal.rs describes the
 * format. Arguments: the journals.
 */
#include "check.h"

enum { SETUP = 1, FRAME = 2, REQUEST = 3, END = 7 };
enum { SEGMENT_HEADER = 48, BLOCK_HEADER = 16, ENTRY_HEADER = 16 };

static int journal_count;
static char **journals;

typedef struct {
  uint8_t *bytes;
  size_t length;
} contents;

static contents read_file(const char *path) {
  contents file = {NULL, 0};
  FILE *stream = fopen(path, "rb");
  if (stream == NULL || fseek(stream, 0, SEEK_END) != 0) {
    perror(path);
    exit(2);
  }
  long length = ftell(stream);
  rewind(stream);
  file.length = length > 0 ? (size_t)length : 0;
  file.bytes = malloc(file.length + 1);
  if (file.bytes == NULL || fread(file.bytes, 1, file.length, stream) != file.length) {
    perror(path);
    exit(2);
  }
  file.bytes[file.length] = '\0';
  fclose(stream);
  return file;
}

static uint64_t fnv_1a(uint64_t digest, const uint8_t *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    digest = (digest ^ bytes[i]) * UINT64_C(0x100000001b3);
  }
  return digest;
}

/* Adds an answer as its bytes, an error as its code in 8 bytes. */
static uint64_t take_answer(uint64_t digest, int64_t result, const uint8_t *out) {
  return result >= 0 ? fnv_1a(digest, out, (size_t)result)
                     : fnv_1a(digest, (const uint8_t *)&result, sizeof result);
}

static uint64_t entry_answer(uint64_t digest, uint64_t engine, uint32_t kind, int64_t now_ms,
                             const uint8_t *payload, uint32_t length) {
  static uint8_t out[1u << 22];
  int64_t result = kind == FRAME
                       ? heddle_step(engine, payload, length, out, sizeof out)
                       : heddle_request(engine, now_ms, payload, length, out, sizeof out);
  CHECK(result >= 0, "%" PRId64 ": %s", result, last_error());
  return take_answer(digest, result, out);
}

/* A replay in progress. */
typedef struct {
  const char *path;
  uint64_t engine;
  uint64_t digest;
  unsigned frames;
} replaying;

/* Replays the entries of a block. Those that hold recorded answers are skipped: the digest has
 * what the engine answers now. */
static void replay_block(replaying *state, const uint8_t *raw, size_t length) {
  size_t offset = 0;
  while (offset + ENTRY_HEADER <= length) {
    uint32_t kind, size;
    int64_t now_ms;
    memcpy(&kind, raw + offset, 4);
    memcpy(&size, raw + offset + 4, 4);
    memcpy(&now_ms, raw + offset + 8, 8);
    offset += ENTRY_HEADER;
    CHECK(size <= length - offset, "%s: an entry of %u bytes", state->path, size);
    const uint8_t *payload = raw + offset;
    offset += size;
    if (kind == SETUP) {
      CHECK(heddle_open(payload, size, &state->engine) == HEDDLE_OK, "%s: %s", state->path,
            last_error());
    } else if (kind == FRAME || kind == REQUEST) {
      state->frames += kind == FRAME;
      state->digest = entry_answer(state->digest, state->engine, kind, now_ms, payload, size);
    } else {
      CHECK(kind <= END, "%s: an entry of kind %u", state->path, kind);
    }
  }
}

static uint64_t replay(const char *path, unsigned *frames) {
  contents journal = read_file(path);
  replaying state = {path, 0, UINT64_C(0xcbf29ce484222325), 0};
  CHECK(journal.length > SEGMENT_HEADER && memcmp(journal.bytes, "HEDDLEJ\n", 8) == 0, "%s", path);
  size_t offset = SEGMENT_HEADER;
  while (offset + BLOCK_HEADER <= journal.length) {
    uint32_t raw, stored;
    memcpy(&raw, journal.bytes + offset, 4);
    memcpy(&stored, journal.bytes + offset + 4, 4);
    offset += BLOCK_HEADER;
    CHECK(raw == stored && stored <= journal.length - offset, "%s: a block is cut", path);
    replay_block(&state, journal.bytes + offset, stored);
    offset += stored;
  }
  CHECK(heddle_close(state.engine) == HEDDLE_OK, "%s", last_error());
  free(journal.bytes);
  *frames += state.frames;
  return state.digest;
}

/* The path of the digest: the journal's, with another ending. */
static uint64_t expected_digest(const char *path) {
  char beside[4096];
  const char *ending = strrchr(path, '.');
  int stem = ending == NULL ? (int)strlen(path) : (int)(ending - path);
  snprintf(beside, sizeof beside, "%.*s.digest", stem, path);
  contents digest = read_file(beside);
  uint64_t value = strtoull((const char *)digest.bytes, NULL, 16);
  free(digest.bytes);
  return value;
}

static void journals_give_their_digests(void) {
  CHECK(journal_count > 0, "no journal was given");
  for (int i = 0; i < journal_count; i++) {
    unsigned frames = 0;
    uint64_t digest = replay(journals[i], &frames);
    uint64_t expected = expected_digest(journals[i]);
    CHECK(frames > 0, "%s has no frames", journals[i]);
    CHECK(digest == expected, "%s: %016" PRIx64 ", Rust found %016" PRIx64, journals[i], digest,
          expected);
  }
}

/* Replays again in the same process: an engine must not carry anything over to the next. */
static void a_second_replay_gives_the_same(void) {
  for (int i = 0; i < journal_count; i++) {
    unsigned frames = 0;
    CHECK(replay(journals[i], &frames) == replay(journals[i], &frames), "%s", journals[i]);
  }
}

int main(int count, char **arguments) {
  static const test_case tests[] = {
      {"journals give their digests", journals_give_their_digests},
      {"a second replay gives the same", a_second_replay_gives_the_same},
  };
  journal_count = count - 1;
  journals = arguments + 1;
  return run_tests(tests, sizeof tests / sizeof *tests);
}
