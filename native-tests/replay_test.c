/*
 * Replays journals and compares the digest of the answers with the one beside each journal, which
 * Rust computed (rust/bridge/tests/replay.rs). rust/bridge/src/journal.rs describes the format.
 * Arguments: the journals.
 */
#include "check.h"

enum { SETUP = 1, FRAME = 2, REQUEST = 3, DIGEST = 4 };

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

static uint64_t replay(const char *path, unsigned *frames) {
  contents journal = read_file(path);
  uint64_t digest = UINT64_C(0xcbf29ce484222325);
  uint64_t engine = 0;
  CHECK(journal.length > 16 && memcmp(journal.bytes, "HEDDLEJ\n", 8) == 0, "%s", path);
  size_t offset = 16;
  while (offset + 16 <= journal.length) {
    uint32_t kind, length;
    int64_t now_ms;
    memcpy(&kind, journal.bytes + offset, 4);
    memcpy(&length, journal.bytes + offset + 4, 4);
    memcpy(&now_ms, journal.bytes + offset + 8, 8);
    offset += 16;
    if (length > journal.length - offset) {
      break; /* The last entry was cut short. */
    }
    const uint8_t *payload = journal.bytes + offset;
    offset += length;
    if (kind == SETUP) {
      CHECK(heddle_open(payload, length, &engine) == HEDDLE_OK, "%s: %s", path, last_error());
    } else if (kind == FRAME || kind == REQUEST) {
      *frames += kind == FRAME;
      digest = entry_answer(digest, engine, kind, now_ms, payload, length);
    } else {
      CHECK(kind == DIGEST, "%s: an entry of kind %u", path, kind);
    }
  }
  CHECK(heddle_close(engine) == HEDDLE_OK, "%s", last_error());
  free(journal.bytes);
  return digest;
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
