/* How much of the memory each part may take. */
#include "server/run/srv_part.h"

static const hd_part_row rows[SRV_PARTS - HD_PARTS] = {
    [SRV_PART_MODELS - HD_PARTS] = {"models", 1, true},
    [SRV_PART_CACHE - HD_PARTS] = {"cache", 1, true},
    [SRV_PART_WORK - HD_PARTS] = {"work", 1, true},
    [SRV_PART_ADAPTERS - HD_PARTS] = {"adapters", 1, false},
    [SRV_PART_SAMPLERS - HD_PARTS] = {"samplers", 16, false},
    [SRV_PART_JOBS - HD_PARTS] = {"jobs", 2, false},
    [SRV_PART_RESULTS - HD_PARTS] = {"results", 4, false},
    [SRV_PART_RECORD - HD_PARTS] = {"recording", 16, false},
};

const hd_part_rows srv_part_rows = {rows, TK_ARRAY_LEN(rows)};
