/* The demo's task: three words, to be said in reverse order. The embedded model never saw
 * it. Items are made by a small generator, so that every run has the same ones; no item
 * that is tested is trained on. Thread: none. */
#ifndef DEMO_TASK_H
#define DEMO_TASK_H

#include <stdint.h>

#define TASK_TEXT_BYTES 96

typedef struct task_item {
    char question[TASK_TEXT_BYTES];
    char answer[TASK_TEXT_BYTES];
} task_item;

typedef struct task_random {
    uint64_t state; /* any start */
} task_random;

/* For training. */
void task_train_item(task_random *random, task_item *out);

/* For testing. */
void task_test_item(task_random *random, task_item *out);

#endif
