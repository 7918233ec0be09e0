/* A limit on bytes that arenas and buffers share. The owner of the limit embeds the
 * struct and fills in both functions; an arena or buffer that has one asks it before it
 * allocates and gives back what it frees. Thread: any. */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include "base/tk.h"

typedef struct tk_quota tk_quota;

struct tk_quota {
    bool (*take)(tk_quota *quota, size_t n); /* false: it does not fit, nothing counted */
    void (*give)(tk_quota *quota, size_t n);
};

/* Both accept NULL, which has no limit. */
TK_NODISCARD static inline bool tk_quota_take(tk_quota *quota, size_t n)
{
    return quota == NULL || quota->take(quota, n);
}

static inline void tk_quota_give(tk_quota *quota, size_t n)
{
    if (quota != NULL && n > 0) {
        quota->give(quota, n);
    }
}

#endif
