/* Profiles: named sets of options in a file of the user, one set per server, so that a
 * program moves from one server to another by one word (option "profile",
 * TINKC_PROFILE). `tinkc profile` writes the file; docs/guide/scale.md shows its use.
 * Blocking. Thread: any. */
#ifndef CLIENT_PROFILE_H
#define CLIENT_PROFILE_H

#include <tinkc/config.h>

#include "base/err.h"
#include "base/tk.h"

/* Sets the options of the profile `name` in the file `path`. A profile with a base_url is
 * for another server than the environment's: keys that it does not set itself are
 * removed. TINKC_E_CONFIG when there is no such profile (the message lists those that
 * there are), when others can use the file, or for an unusable option; some options may
 * be set then. TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_profile_apply(tinkc_config *config, const char *path,
                                         const char *name, tk_err *err);

#endif
