/* Between the files of the front: the routes of episodes (gw_front_episodes.c). */
#ifndef GATEWAY_GW_FRONT_H
#define GATEWAY_GW_FRONT_H

#include "gateway/gw.h"

hd_verdict gw_front_list_episodes(gw *gateway, hd_request *request);
hd_verdict gw_front_get_episode(gw *gateway, hd_request *request);
hd_verdict gw_front_drop_episode(gw *gateway, hd_request *request);
hd_verdict gw_front_reward(gw *gateway, hd_request *request);

/* Answers with an error of the routes above. */
hd_verdict gw_front_fail_err(hd_request *request, const tk_err *err);

#endif
