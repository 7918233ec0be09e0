/* A conversation of `tinkc chat`: its messages, and the answers that are sampled and shown
 * while they come. Thread: the main one. */
#ifndef CLI_CMD_CHAT_TALK_H
#define CLI_CMD_CHAT_TALK_H

#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_model.h"

typedef struct talk_message {
    const char *role; /* static */
    char *text;       /* owned */
} talk_message;

typedef struct talk {
    const cmd_args *args;
    cmd_model model;
    talk_message *messages; /* owned */
    size_t n, capacity;
    char reason[32]; /* why the last answer ended */
} talk;

/* Frees the messages; the model is the caller's. */
void cmd_chat_talk_dispose(talk *t);

/* Drops all turns, but not the system message. */
void cmd_chat_talk_reset(talk *t);

/* Sets the system message ("" for none) and drops all turns. False when memory ran out. */
bool cmd_chat_talk_system(talk *t, const char *text);

/* Returns the system message, or NULL; valid until the conversation changes. */
const char *cmd_chat_talk_system_text(const talk *t);

/* Whether there is a message besides the system message. */
bool cmd_chat_talk_has_turns(const talk *t);

/* Adds what the user wrote and the answer to it, which is shown. A turn that fails leaves
 * the conversation as it was. Ctrl-C ends the answer, whose beginning stays. Returns an
 * exit code. */
int cmd_chat_talk_say(talk *t, const char *text);

/* Samples another answer in place of the last one, which stays when that fails. With
 * --seed the next seed is used. */
int cmd_chat_talk_retry(talk *t);

/* Writes {"messages": [...]}. */
void cmd_chat_talk_put(cmd_json *json, const talk *t);

#endif
