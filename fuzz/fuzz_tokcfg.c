/* tokenizer_config.json: whatever is accepted has roles and templates that can be read.
 * Links: text */
#include "text/tok/tok_config.h"

#include <string.h>

#include "fuzz.h"

int fuzz_record(const uint8_t *data, size_t size)
{
    tk_tok_config config;
    tk_err err = TK_ERR_INIT;
    tk_str text = {(const char *)data, size};
    memset(&config, 0, sizeof(config));
    if (tk_tok_config_parse(&config, text, (tk_str){NULL, 0}, &err) != TINKC_OK) {
        return 0;
    }
    for (size_t i = 0; i < config.n_specials; i++) {
        const tk_tok_pair *pair = &config.specials[i];
        if (pair->name.p[pair->name.n] != '\0' || pair->text.p[pair->text.n] != '\0') {
            fuzz_fail("a role has no NUL after it");
        }
    }
    for (size_t i = 0; i < config.n_templates; i++) {
        tk_str name = config.templates[i].name;
        bool plain = strlen(name.p) == name.n; /* a name may hold a NUL */
        if (plain && tk_tok_config_template(&config, name.p).p == NULL) {
            fuzz_fail("a listed template is not found");
        }
    }
    tk_tok_config_dispose(&config);
    return 0;
}
