/* What happens to the database while no server runs: it is removed, emptied, cut, or an
 * old copy takes its place. What was answered must be there after the next start all the
 * same (docs/guide/server-data.md). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "fz.h"

static void path_of(char out[128], const fz_world *world, const char *name)
{
    (void)snprintf(out, 128, "%s/%s", world->dir, name);
}

static bool copy(const char *from, const char *to)
{
    char *bytes = NULL;
    size_t n = 0;
    if (tk_file_read(&bytes, &n, from, TK_GIB, NULL) != TINKC_OK) {
        return false;
    }
    FILE *file = fopen(to, "w");
    bool ok = file != NULL && fwrite(bytes, 1, n, file) == n;
    ok = (file == NULL || fclose(file) == 0) && ok;
    tk_free(bytes);
    return ok;
}

void fz_damage(fz_world *world, tk_rand *rand)
{
    static const char *const names[] = {"removed", "emptied", "cut", "replaced"};
    char db[128], wal[128], shm[128], old[128];
    struct stat now;
    path_of(db, world, "data/tinkc.db");
    path_of(wal, world, "data/tinkc.db-wal");
    path_of(shm, world, "data/tinkc.db-shm");
    path_of(old, world, "old.db");
    if (tk_rand_below(rand, 4) == 0) {
        (void)copy(db, old); /* for later; it may lack what is in the log */
    }
    uint64_t kind = tk_rand_below(rand, 16);
    uint64_t draw = tk_rand_below(rand, 1000000);
    if (kind >= TK_ARRAY_LEN(names) || stat(db, &now) != 0) {
        return;
    }
    fprintf(world->log, "the database is %s\n", names[kind]);
    (void)unlink(wal);
    (void)unlink(shm);
    if (kind == 0) {
        (void)unlink(db);
    } else if (kind == 3) {
        (void)copy(old, db);
    } else if (truncate(db,
                        kind == 1 ? 0 : (off_t)(draw % (uint64_t)(now.st_size + 1))) !=
               0) {
        fakeapi_die("%s: %m", db);
    }
}
