#!/usr/bin/env bash
# A-151: whole scenarios of training, sampling and futures are played against the scripted
# server, answers lost and closing included. A-152: each row of the polling table has its
# own test, and the table has no row that is not listed here.
. "$(dirname "$0")/lib.sh"
for scenario in peer/test_conversation client/training/test_training_once \
    client/sampling/test_sampling_load \
    client/core/test_service; do
    expect "there is a scenario $scenario" test -f "tests/$scenario.c"
done
expect "training survives lost answers" grep -q 'cmocka_unit_test.*test_once_dropped_twice' \
    tests/client/training/test_training_once.c
expect "sampling is played by many threads" grep -q 'cmocka_unit_test.*test_sampling_load_ids' \
    tests/client/sampling/test_sampling_load.c
rows="tests/client/call/test_poll.c tests/client/call/test_poll_answers.c"
for row in $(seq 1 19); do
    expect "row $row of the polling table has a registered test" \
        bash -c "cat $rows | grep -Eq 'cmocka_unit_test\(test_poll_rows?_([0-9]+_)*$row(_|\))'"
done
expect "every action of the rule is decided somewhere" bash -c '
    for action in $(sed -n "/typedef enum tk_poll_action/,/}/p" src/client/call/poll_rule.h |
        grep -o "TK_POLL_[A-Z]*"); do
        grep -q "$action" src/client/call/poll_rule.c || { echo "no $action"; exit 1; }
    done'
finish
