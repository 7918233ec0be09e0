/* Drives a fuzz target without libFuzzer, so that corpora are replayed by any compiler:
 *   fuzz_<name> PATH...
 * runs every file of each path (a file or a directory, with its subdirectories) through
 * it once. Ends with 1 when a path cannot be read or holds no file: an empty replay
 * proves nothing. */
#include <ftw.h>
#include <stdbool.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_INPUT_BYTES ((long)16 * 1024 * 1024)

static size_t count;

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        size = ftell(file);
        rewind(file);
    }
    bool fits = size >= 0 && size <= MAX_INPUT_BYTES;
    uint8_t *data = fits ? malloc(size > 0 ? (size_t)size : 1) : NULL;
    int failed = data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size;
    if (!failed) {
        (void)LLVMFuzzerTestOneInput(data, (size_t)size);
        count++;
    } else {
        fprintf(stderr, "cannot read %s\n", path);
    }
    free(data);
    if (file != NULL) {
        (void)fclose(file);
    }
    return failed;
}

static int visit(const char *path, const struct stat *status, int type,
                 struct FTW *unused)
{
    (void)status;
    (void)unused;
    return type == FTW_F ? run_file(path) : type == FTW_D ? 0 : 1;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t before = count;
        if (nftw(argv[i], visit, 16, FTW_PHYS) != 0 || count == before) {
            fprintf(stderr, "%s: no inputs, or not readable\n", argv[i]);
            return 1;
        }
    }
    printf("%zu inputs, %zu records\n", count, fuzz_records);
    return count > 0 ? 0 : 1;
}
