/* What the files behind <tinkc/chat.h> share. */
#ifndef CLIENT_CHAT_H
#define CLIENT_CHAT_H

#include <tinkc/chat.h>

#include "base/err.h"
#include "text/chat/chat.h"

const tk_chat_template *tk_chat_template_get(const tinkc_chat_template *tpl);
const tk_chat *tk_chat_get(const tinkc_chat *chat);
tk_chat *tk_chat_edit(tinkc_chat *chat);

/* The options with defaults for what is missing. */
TK_NODISCARD tinkc_code tk_chat_read_options(tk_chat_how *out,
                                             const tinkc_chat_options *options,
                                             tk_err *err);

#endif
