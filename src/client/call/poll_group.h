/* One long poll for all samples of a sampling session (docs/protocol.md §4.1), for
 * servers that offer retrieve_futures. Samples that the server has accepted join the
 * group of their sampler; the group tells each when its result can be fetched. A sample
 * fetches the result itself (poll.h), and polls itself when the group cannot help: the
 * server refuses retrieve_futures, or has not mentioned the sample for a long time.
 *
 * Made on the loop's thread and owned by the core: it ends when its sampler does, or with
 * the core. Loop thread only, except tk_poll_group_close. */
#ifndef CLIENT_POLL_GROUP_H
#define CLIENT_POLL_GROUP_H

#include "base/list.h"
#include "base/map.h"
#include "client/call/call.h"
#include "client/call/poll_rule.h"

typedef struct tk_poll tk_poll;
typedef struct tk_poll_group tk_poll_group;

/* Makes the group of one client of a sampling session: cloned_sampler_id `clone`. Returns
 * NULL when out of memory; samples then poll themselves. */
tk_poll_group *tk_poll_group_new(tk_core *core, const char *sampling_session_id,
                                 int64_t clone);

/* Ends it, soon. No poll may be in it. Thread: any. Accepts NULL. */
void tk_poll_group_close(tk_poll_group *group);

/* Takes the poll in, which has set state.joined_ms: tk_poll_ready or tk_poll_alone is
 * called when its turn comes, perhaps at once. Returns false when the poll has to ask
 * itself. */
TK_NODISCARD bool tk_poll_group_join(tk_poll_group *group, tk_poll *poll);

/* No effect when it is not in the group. */
void tk_poll_group_leave(tk_poll_group *group, tk_poll *poll);

/* The result of the request was received: the server may delete it. */
void tk_poll_group_retrieved(tk_poll_group *group, const char *request_id);

/* The server has refused it: every poll has to ask itself. */
bool tk_poll_group_is_off(const tk_poll_group *group);

/* When the server last answered it (monotonic milliseconds); 0: never. */
int64_t tk_poll_group_answered_ms(const tk_poll_group *group);

/* Ends all groups of a core that stops: cancels what they have sent. */
void tk_poll_group_shutdown(tk_list *groups);
/* Frees them; the loop is gone. */
void tk_poll_group_free_all(tk_list *groups);

#endif
