/* The table of facts, and one number for each. */
#include "client/core/manners.h"

static const tk_manner_fact facts[TK_MANNER_COUNT] = {
    [TK_MANNER_JSON_REQUESTS] =
        {"json requests",
         "reads forward and forward_backward as JSON only, as SDKs before 0.25 send them",
         "it refuses the body in protobuf (415; 400, 422 or 500 about its format; or twice "
         "a 500 without a reason) and accepts the same request in JSON",
         "training requests are sent as JSON, forward passes to their own path"},
    [TK_MANNER_JSON_RESULTS] =
        {"json results",
         "sends the results of training and sampling as JSON, whatever Accept asks for",
         "such a result arrives as JSON", "results are read as JSON"},
};

const tk_manner_fact *tk_manner_fact_of(tk_manner manner)
{
    return &facts[manner];
}

tk_known tk_manners_get(const tk_manners *self, tk_manner manner)
{
    return (tk_known)atomic_load(&self->known[manner]);
}

void tk_manners_learn(tk_manners *self, tk_log *log, tk_manner manner, bool is_so)
{
    if (tk_manners_get(self, manner) != TK_KNOWN_NOT_YET) {
        return;
    }
    atomic_store(&self->known[manner], is_so ? TK_KNOWN_YES : TK_KNOWN_NO);
    if (is_so) {
        tk_log_write(log, TINKC_LOG_INFO, "server", "the server %s; %s",
                     facts[manner].meaning, facts[manner].then);
    }
}
