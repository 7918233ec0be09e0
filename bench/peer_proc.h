/* Runs build/bench/peer (peer.c) next to the calling program. It ends with us: its stdin
 * is a pipe of ours. */
#ifndef BENCH_PEER_PROC_H
#define BENCH_PEER_PROC_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct peer_proc {
    pid_t pid;
    int input; /* closing it ends the peer */
    char url[64];
} peer_proc;

static inline void peer_exec(int input, int output, unsigned parked, unsigned delay_ms)
{
    char path[4096], numbers[2][16];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("/peer"));
    char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;
    if (slash != NULL && dup2(input, STDIN_FILENO) >= 0 &&
        dup2(output, STDOUT_FILENO) >= 0) {
        memcpy(slash, "/peer", sizeof("/peer"));
        (void)snprintf(numbers[0], sizeof(numbers[0]), "%u", parked);
        (void)snprintf(numbers[1], sizeof(numbers[1]), "%u", delay_ms);
        (void)execl(path, path, numbers[0], numbers[1], (char *)NULL);
    }
    _exit(127);
}

static inline void peer_start(peer_proc *peer, unsigned parked, unsigned delay_ms)
{
    int input[2], output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
        perror("pipe");
        exit(1);
    }
    peer->pid = fork();
    if (peer->pid == 0) {
        peer_exec(input[0], output[1], parked, delay_ms);
    }
    close(input[0]);
    close(output[1]);
    peer->input = input[1];
    FILE *said = fdopen(output[0], "r");
    if (said == NULL || fgets(peer->url, sizeof(peer->url), said) == NULL) {
        fprintf(stderr, "the peer did not start\n");
        exit(1);
    }
    peer->url[strcspn(peer->url, "\n")] = '\0';
    (void)fclose(said);
}

static inline void peer_stop(peer_proc *peer)
{
    close(peer->input);
    (void)waitpid(peer->pid, NULL, 0);
}

#endif
