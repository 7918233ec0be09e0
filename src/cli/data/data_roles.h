/* Who says what in a conversation to train on: nothing can be learned from one without a
 * message of the assistant. Thread: any. */
#ifndef CLI_DATA_ROLES_H
#define CLI_DATA_ROLES_H

#include "cli/data/data_shape.h"

/* Checks that a message that may be trained on is the assistant's. `problem` is "" or says
 * what is there instead. */
void data_roles_check(char problem[DATA_PROBLEM_BYTES], const data_example *example);

#endif
