/* What the files of the store share. Private to srv_store*.c. */
#ifndef SERVER_SRV_STORE_INT_H
#define SERVER_SRV_STORE_INT_H

#include "base/thread.h"
#include "server/srv_sql.h"
#include "server/srv_store.h"

struct srv_store {
    tk_mutex lock;
    sqlite3 *db;       /* under lock */
    char *checkpoints; /* directory; constant */
};

#endif
