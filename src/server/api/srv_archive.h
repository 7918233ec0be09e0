/* Downloads of checkpoints (docs/protocol.md §11 row 22): a redirect to a link that is
 * good for a quarter of an hour (srv_link.h), and the tar that it leads to, of which a part
 * can be asked for. Thread: a worker. */
#ifndef SERVER_SRV_ARCHIVE_H
#define SERVER_SRV_ARCHIVE_H

#include "httpd/hd_request.h"

hd_verdict srv_archive_redirect(hd_request *request);
hd_verdict srv_archive_get(hd_request *request);

#endif
