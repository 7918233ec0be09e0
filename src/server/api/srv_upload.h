/* Weights that were trained elsewhere become a checkpoint (docs/protocol.md §2.5): the
 * start answers with a signed link for each file, the files are PUT there, and the finish
 * checks them and makes external weights of them, whole or not at all. An upload that is
 * not finished within an hour is removed. Thread: a worker. */
#ifndef SERVER_SRV_UPLOAD_H
#define SERVER_SRV_UPLOAD_H

#include "httpd/hd_request.h"

hd_verdict srv_upload_start(hd_request *request);
hd_verdict srv_upload_put(hd_request *request);
hd_verdict srv_upload_finish(hd_request *request);

#endif
