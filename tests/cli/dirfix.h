/* Model directories for the program: links to the files of the embedded model, in the
 * program's folder. */
#ifndef CLI_DIRFIX_H
#define CLI_DIRFIX_H

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/program.h"
#include "support/test.h"

/* Makes the model directory `name`; the folder above it must be there. */
static inline void dirfix_make(const program *p, const char *name)
{
    static const char *const files[] = {"config.json", "generation_config.json",
                                        "model.safetensors", "tokenizer.json",
                                        "tokenizer_config.json"};
    assert_int_equal(mkdir(program_path(p, name), 0755), 0);
    for (size_t i = 0; i < TK_ARRAY_LEN(files); i++) {
        char from[512], to[512];
        (void)snprintf(from, sizeof(from), "%s/../../models/pebble-llama-2m/%s",
                       TEST_DATA_DIR, files[i]);
        (void)snprintf(to, sizeof(to), "%s/%s/%s", p->dir, name, files[i]);
        assert_int_equal(symlink(from, to), 0);
    }
}

#endif
