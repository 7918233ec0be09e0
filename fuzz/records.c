/* Runs the records of an input one after the other. Parsers stop at the first fault, so that one
 * record reaches little: a file of a corpus holds many, with FUZZ_SEPARATOR between them
 * (scripts/fuzz-trim.py packs and unpacks them). Thread: one. */
#include <string.h>

#include "fuzz.h"

#define SEPARATOR_LEN (sizeof(FUZZ_SEPARATOR) - 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

size_t fuzz_records;

/* A record gets a block of exactly its size, so that ASan sees a read past its end. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        abort();
    }
    if (size > 0) {
        memcpy(copy, data, size);
    }
    (void)fuzz_record(copy, size);
    fuzz_records++;
    free(copy);
}

static size_t length_of_record(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + SEPARATOR_LEN <= size; i++) {
        if (memcmp(data + i, FUZZ_SEPARATOR, SEPARATOR_LEN) == 0) {
            return i;
        }
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t length = length_of_record(data, size);
    while (length < size) {
        run(data, length);
        data += length + SEPARATOR_LEN;
        size -= length + SEPARATOR_LEN;
        length = length_of_record(data, size);
    }
    run(data, size);
    return 0;
}
