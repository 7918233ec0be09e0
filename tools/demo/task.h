/* The task of the demo: to repeat three words in reverse order, which the embedded model was
 * not trained on. A generator makes the items, so that every run has the same ones. No test
 * item is a training item. Thread: one. */
#ifndef DEMO_TASK_H
#define DEMO_TASK_H

#include <stdint.h>

#define TASK_TEXT_BYTES 96

typedef struct task_item {
    char question[TASK_TEXT_BYTES];
    char answer[TASK_TEXT_BYTES];
} task_item;

typedef struct task_random {
    uint64_t state; /* any seed */
} task_random;

/* Makes the next training item. */
void task_train_item(task_random *random, task_item *out);

/* Makes the next test item. */
void task_test_item(task_random *random, task_item *out);

#endif
