/* One rule of a file of faults. Private to srv_fault*.c. */
#ifndef SERVER_SRV_FAULT_INT_H
#define SERVER_SRV_FAULT_INT_H

#include "base/map.h"
#include "server/http/srv_fault.h"

typedef enum srv_fault_action {
    SRV_FAULT_DROP,      /* the work is done, the answer is lost */
    SRV_FAULT_CUT,       /* half of the answer's body comes */
    SRV_FAULT_STATUS,    /* an answer instead of the work */
    SRV_FAULT_TRY_AGAIN, /* retrieve_future: not yet */
    SRV_FAULT_DELAY      /* the work begins later */
} srv_fault_action;

typedef struct srv_fault {
    tk_str route; /* "*", a pattern, or a pattern without /api/v1/ */
    srv_fault_action action;
    int64_t status;
    tk_str detail;      /* NUL behind it, as the next one */
    tk_str retry_after; /* or empty */
    int queue_state;    /* tk_queue_state */
    int64_t delay_ms;
    int64_t skip, every, times; /* times 0 = without end */
    bool once;                  /* per distinct request */
    /* under the server's lock */
    int64_t n_seen, n_fired;
    tk_map seen; /* digests, with "once" */
} srv_fault;

struct srv_faults {
    tk_arena arena; /* of the rules' strings */
    srv_fault *rules;
    size_t n;
    tk_list held; /* delayed requests; under the server's lock */
};

const char *srv_fault_action_name(srv_fault_action action);

#endif
