/* What the deep conversation needs of the model's tokenizer.
 *
 * Needs: text */
#include <string.h>
#include <sys/stat.h>

#include "cli/doctor/deep.h"

void deep_text_open(deep *d)
{
    const char *name = cmd_text(d->args, "tokenizer", NULL);
    tinkc_tokenizer_options options = TINKC_TOKENIZER_OPTIONS_INIT;
    struct stat info;
    if (name != NULL && stat(name, &info) == 0) {
        options.directory = name;
    } else {
        options.tokenizer_id = name;
    }
    (void)!tinkc_service_get_tokenizer(&d->tokenizer, d->service, d->base_model, &options,
                                       NULL);
}

void deep_text_close(deep *d)
{
    tinkc_tokenizer_free(&d->tokenizer);
}

bool deep_text_find(deep *d, char **out, size_t *wanted)
{
    for (size_t at = 1; at + 1 < d->greedy_n; at++) {
        char *before = NULL, *all = NULL, *text = NULL;
        bool is_found = tinkc_tokenizer_text(&before, d->tokenizer, d->greedy, at, false,
                                             NULL) == TINKC_OK &&
                        tinkc_tokenizer_text(&all, d->tokenizer, d->greedy, at + 1, false,
                                             NULL) == TINKC_OK &&
                        tinkc_tokenizer_text(&text, d->tokenizer, d->greedy + at, 1,
                                             false, NULL) == TINKC_OK &&
                        text[0] != '\0' && strstr(text, "\xef\xbf\xbd") == NULL &&
                        strstr(before, text) == NULL && strstr(all, text) != NULL;
        /* the text may begin in the tokens before, but must not be complete there */
        tinkc_text_free(&before);
        tinkc_text_free(&all);
        if (is_found) {
            *out = text;
            *wanted = at + 1;
            return true;
        }
        tinkc_text_free(&text);
    }
    return false;
}

int32_t deep_text_end(const deep *d)
{
    const char *name = tinkc_tokenizer_special(d->tokenizer, "eos_token");
    return name != NULL ? tinkc_tokenizer_id(d->tokenizer, name) : -1;
}
