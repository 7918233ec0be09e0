/* Message queue: any number of producers, one consumer that sleeps on a file descriptor.
 *
 * Waking another core costs a thousand times more than queueing, so wakes are coalesced.
 * The protocol: the queue is "signalled" while its eventfd is readable. The first post
 * (or wake) after the consumer took everything writes the eventfd; later ones find the
 * queue signalled and write nothing; tk_mqueue_take_all reads the eventfd and hands out
 * all messages at once. All of this happens under one lock, so that the descriptor is
 * readable exactly while there is something to take.
 *
 * A consumer that calls tk_mqueue_rest before each sleep spares the others the writes
 * while it is awake: from the first call on, posts are silent unless it rests.
 *
 * Messages are intrusive nodes: posting allocates nothing. Locks: its own, a leaf. */
#ifndef BASE_MQUEUE_H
#define BASE_MQUEUE_H

#include "base/thread.h"

typedef struct tk_mqueue_node tk_mqueue_node;

struct tk_mqueue_node {
    tk_mqueue_node *next;
};

typedef struct tk_mqueue {
    tk_mutex lock;
    tk_mqueue_node *first;
    tk_mqueue_node *last;
    int fd;
    bool signalled;
    bool closed;
    bool rests;  /* the consumer may be asleep */
    bool is_shy; /* it says when */
} tk_mqueue;

/* TINKC_E_IO when the process has no descriptor left. */
TK_NODISCARD tinkc_code tk_mqueue_init(tk_mqueue *queue, tk_err *err);

/* Frees the queue, which no thread may use any more. The caller takes the messages out
 * before. */
void tk_mqueue_dispose(tk_mqueue *queue);

/* Hands `node` over. False when the queue is closed: it is still the caller's then.
 * Thread: any. */
TK_NODISCARD bool tk_mqueue_post(tk_mqueue *queue, tk_mqueue_node *node);

/* Makes the descriptor readable without a message. Thread: any. */
void tk_mqueue_wake(tk_mqueue *queue);

/* All messages in the order of posting, linked through `next`, or NULL; the descriptor is
 * not readable afterwards. Thread: the consumer. */
TK_NODISCARD tk_mqueue_node *tk_mqueue_take_all(tk_mqueue *queue);

/* Before the consumer sleeps on the descriptor: true when nothing waits and the next post
 * will make the descriptor readable; false when it must not sleep. Thread: the
 * consumer. */
TK_NODISCARD bool tk_mqueue_rest(tk_mqueue *queue);

/* From now on posts fail; what is inside can still be taken, and a take after the close
 * is the last that can return anything. Wakes the consumer. Thread: any. */
void tk_mqueue_close(tk_mqueue *queue);

int tk_mqueue_fd(const tk_mqueue *queue); /* for poll or epoll: readable = take */

#endif
