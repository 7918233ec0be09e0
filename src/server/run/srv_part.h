/* The parts of the server's memory, beside those of the HTTP front. Immutable. */
#ifndef SERVER_SRV_PART_H
#define SERVER_SRV_PART_H

#include "httpd/hd_budget.h"

enum {
    SRV_PART_MODELS = HD_PARTS, /* base models */
    SRV_PART_CACHE,             /* keys and values of samples */
    SRV_PART_WORK,              /* what the engine computes in */
    SRV_PART_ADAPTERS,          /* models that are trained: weights, gradients, moments */
    SRV_PART_SAMPLERS,          /* weights of samplers */
    SRV_PART_JOBS,              /* inputs and outputs of training requests and samples */
    SRV_PART_RESULTS,           /* futures and their results */
    SRV_PART_RECORD,            /* what is to be recorded, and what the console knows */
    SRV_PARTS
};

extern const hd_part_rows srv_part_rows;

#endif
