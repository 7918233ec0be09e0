/* How much memory this process may use: the machine's, or less in a control group.
 * Thread: any. */
#ifndef HTTPD_HD_RAM_H
#define HTTPD_HD_RAM_H

#include "base/str.h"
#include "base/tk.h"

size_t hd_ram_bytes(void); /* never 0 */

/* Returns the smallest limit of the control groups that `groups` names (the text of
 * /proc/self/cgroup; versions 1 and 2) and of their ancestors, which are mounted under
 * `root`; SIZE_MAX when none limits memory. */
size_t hd_ram_limit(const char *root, tk_str groups);

#endif
