/* The file of faults (--faults FILE), whose rules hd_fault.h applies. docs/faults.md has
 * the fields:
 *
 *     {"rules": [{"route": "optim_step", "action": "drop", "once": true}, ...]}
 *
 * Thread: the one that starts the server. */
#ifndef SERVER_SRV_FAULT_FILE_H
#define SERVER_SRV_FAULT_FILE_H

#include "httpd/hd_fault.h"

/* Reads the file. The rules wrap hd_route_dispatch. TINKC_E_CONFIG with the rule's
 * number and key for what is not a rule; else what the file is refused with. `log`
 * outlives the faults. */
TK_NODISCARD tinkc_code srv_fault_file_open(hd_faults **out, const char *path,
                                            tk_log *log, tk_err *err);

#endif
