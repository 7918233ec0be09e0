/* What the files of filters share. Inside the text module. */
#ifndef TEXT_JINJA_SEQ_H
#define TEXT_JINJA_SEQ_H

#include "text/jinja/jinja_run.h"

#define TK_JFILTER(name)                                                                 \
    static bool name(tk_jrun *run, tk_jval self, const tk_jargs *args, tk_jval *out)

/* "a.b.0" of an item. */
TK_NODISCARD bool tk_jval_path(tk_jrun *run, tk_jval item, tk_jval path, tk_jval *out);

/* A generator of jinja2 raises when it is walked, not when it is made: what went wrong is
 * kept for then. Lack of memory, of steps and of support is told at once. */
TK_NODISCARD bool tk_jfilter_lazily(tk_jrun *run, bool ok, tk_jval *out);

#define TK_JFILTER_LAZY(name, of)                                                        \
    TK_JFILTER(name)                                                                     \
    {                                                                                    \
        return tk_jfilter_lazily(run, of(run, self, args, out), out);                    \
    }

#endif
