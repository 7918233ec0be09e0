/* See cmd_key.h. */
#include "cli/frame/cmd_key.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/frame/cmd.h"

int cmd_key_read(char **out, const char *path)
{
    tk_err err = TK_ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    if (tk_file_read(&text, &n, path, CMD_KEY_MAX_BYTES, &err) != TINKC_OK) {
        return cmd_fail("%s", err.message);
    }
    tk_str trimmed = tk_str_trim((tk_str){text, n});
    char *key = tk_strndup(trimmed.p, trimmed.n);
    tk_mem_wipe(text, n);
    tk_free(text);
    if (key == NULL) {
        return cmd_fail("out of memory");
    }
    if (key[0] == '\0') {
        tk_free(key);
        return cmd_fail("%s holds no key", path);
    }
    *out = key;
    return CMD_OK;
}

void cmd_key_free(char *key)
{
    if (key != NULL) {
        tk_mem_wipe(key, strlen(key));
    }
    tk_free(key);
}
