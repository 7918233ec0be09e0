/* Prints the facts about servers (client/core/manners.h) and of which servers they are true
 * (tests/support/fakeapi_tinker_servers.h), for scripts/gen-docs.py: lines that start with
 * "fact" or "server", with tabs between their parts. */
#include <stdio.h>

#include "support/fakeapi_tinker_servers.h"

static const char *word_of(tk_known known)
{
    switch (known) {
    case TK_KNOWN_YES:
        return "yes";
    case TK_KNOWN_NO:
        return "no";
    case TK_KNOWN_NOT_YET:
        break;
    }
    return "unknown";
}

static void print_fact(tk_manner manner)
{
    const tk_manner_fact *fact = tk_manner_fact_of(manner);
    printf("fact\t%s\t%s\t%s\t%s\t%s\t%s", fact->name, fact->does, fact->shows,
           fact->then, fact->test, manner < TK_MANNER_LEARNED_COUNT ? "learned" : "rule");
    for (size_t i = 0; i < fakeapi_tinker_servers(); i++) {
        printf("\t%s", word_of(fakeapi_tinker_server_fact(i, manner)));
    }
    printf("\n");
}

int main(void)
{
    for (int i = 0; i < TK_MANNER_COUNT; i++) {
        print_fact((tk_manner)i);
    }
    for (size_t i = 0; i < fakeapi_tinker_servers(); i++) {
        const fakeapi_tinker_server *server = fakeapi_tinker_server_at(i);
        printf("server\t%s\t%s\t%s\n", server->name, server->source,
               server->note != NULL ? server->note : "");
    }
    return 0;
}
