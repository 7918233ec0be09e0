/* What a model of one rank answers after a number of steps: models of the same rank and
 * seed that saw the same steps are the same, in every life of the server and for every
 * client. Results are compared as digests. */
#include <string.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "fz.h"

struct fz_truth {
    tk_mutex lock;
    char digest[FZ_FACTS][FZ_RANKS][FZ_STEPS + 1][TK_SHA256_HEX_BYTES];
};

fz_truth *fz_truth_new(void)
{
    fz_truth *truth = tk_zalloc(sizeof(*truth));
    if (truth == NULL || tk_mutex_init(&truth->lock, NULL) != TINKC_OK) {
        fakeapi_die("no memory");
    }
    return truth;
}

void fz_truth_free(fz_truth *truth)
{
    tk_mutex_dispose(&truth->lock);
    tk_free(truth);
}

bool fz_truth_agrees(fz_truth *truth, fz_fact fact, int rank, int steps, tk_str bytes)
{
    char digest[TK_SHA256_HEX_BYTES];
    if (tk_sha256_hex(digest, bytes.p, bytes.n, NULL) != TINKC_OK) {
        fakeapi_die("no digest");
    }
    tk_mutex_lock(&truth->lock);
    char *kept = truth->digest[fact][rank][steps];
    if (kept[0] == '\0') {
        memcpy(kept, digest, sizeof(digest));
    }
    bool same = memcmp(kept, digest, sizeof(digest)) == 0;
    tk_mutex_unlock(&truth->lock);
    return same;
}
