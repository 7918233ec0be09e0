/* Who says what in a conversation to train on: a misspelt role would be trained on under a
 * wrong name, and nothing can be learned without a message of the assistant. Thread:
 * any. */
#ifndef CLI_DATA_ROLES_H
#define CLI_DATA_ROLES_H

#include <tinkc/chat.h>

#include "cli/data/data_shape.h"

/* Checks that chat templates know every role and, unless everything is trained on, that a
 * message is the assistant's and that no such message is empty. `problem` is "" or says
 * what is wrong. */
void data_roles_check(char problem[DATA_PROBLEM_BYTES], const data_example *example,
                      tinkc_loss_on loss_on);

#endif
