/* Faults on purpose, for tests of clients: lost and cut answers, statuses that were not
 * earned, delays. They wrap a dispatcher: each request is given to the first rule that
 * fires, else to the inner dispatcher. The rules are given by the application, which
 * reads them from a file (srv_fault_file.h) and may add its own answers.
 *
 * Thread: any; its own lock, a leaf, guards the counts. */
#ifndef HTTPD_HD_FAULT_H
#define HTTPD_HD_FAULT_H

#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "httpd/hd_route.h"

typedef enum hd_fault_action {
    HD_FAULT_DROP,   /* the work is done, the answer is lost */
    HD_FAULT_CUT,    /* half of the answer's body is sent */
    HD_FAULT_STATUS, /* an error instead of the work */
    HD_FAULT_REPLY,  /* an answer of the application instead of the work */
    HD_FAULT_DELAY   /* the work begins later */
} hd_fault_action;

typedef struct hd_fault hd_fault;
struct hd_fault {
    const char *name; /* of the action, for the log; static */
    tk_str route;     /* "*" or a pattern of the route table */
    hd_fault_action action;
    int64_t status;
    tk_str detail;      /* followed by a NUL, as the next one */
    tk_str retry_after; /* or empty */
    hd_verdict (*reply)(const hd_fault *rule, hd_request *request);
    int choice; /* of `reply` */
    int64_t delay_ms;
    int64_t skip, every, times; /* times 0 = no limit */
    bool once;                  /* per distinct request */
    /* under the lock of hd_faults */
    int64_t n_seen, n_fired;
    tk_map seen; /* digests, with "once" */
};

typedef struct hd_faults {
    hd_dispatch inner;
    tk_log *log;    /* borrowed */
    tk_arena arena; /* of the rules' strings */
    hd_fault *rules;
    size_t n;
    tk_mutex lock;
} hd_faults;

/* Makes room for `n` rules, which the caller fills in before the first request. */
TK_NODISCARD tinkc_code hd_faults_new(hd_faults **out, size_t n, const hd_dispatch *inner,
                                      tk_log *log, tk_err *err);
void hd_faults_free(hd_faults *faults); /* accepts NULL */

/* Returns the dispatcher that applies the rules. It lives as long as `faults`. */
hd_dispatch hd_faults_dispatch(hd_faults *faults);

#endif
