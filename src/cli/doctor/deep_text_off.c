/* Takes the place of deep_text.c in a build without tokenizers: no tokenizer is found. */
#include "cli/doctor/deep.h"

void deep_text_open(deep *d)
{
    d->tokenizer = NULL;
}

void deep_text_close(deep *d)
{
    (void)d;
}

bool deep_text_find(deep *d, char **out, size_t *wanted)
{
    (void)d;
    *out = NULL;
    *wanted = 0;
    return false;
}

int32_t deep_text_end(const deep *d)
{
    (void)d;
    return -1;
}
