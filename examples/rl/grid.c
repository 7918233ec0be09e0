/* A grid world for `tinkc rl --env`, in 30 lines of C and no library: the cells of a grid are
 * numbered from 1, row by row. The model is asked for the next cell on the way to another one,
 * and moves when that cell is next to its own, also diagonally. docs/guide/rl.md explains it.
 *
 *     tinkc rl --local --tasks examples/data/grid.jsonl --env build/examples/rl/grid */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number_after(const char *line, const char *mark)
{
    const char *at = strstr(line, mark);
    return at != NULL ? (int)strtol(at + strlen(mark), NULL, 10) : 0;
}

int main(void)
{
    char line[65536]; /* {"task": {"size": 3, "from": 1, "to": 9}, "seed": 1, ...} */
    if (fgets(line, sizeof(line), stdin) == NULL) {
        return 1;
    }
    int size = number_after(line, "\"size\":"), here = number_after(line, "\"from\":"),
        goal = number_after(line, "\"to\":"), steps = 0;
    double reward = 0;
    setvbuf(stdout, NULL, _IOLBF, 0); /* every line is sent at once */
    while (here != goal && steps < 2 * size) {
        printf("{\"observation\": \"What is the step from %d to %d?\", \"reward\": %.1f, "
               "\"request\": {\"max_tokens\": 3}}\n",
               here, goal, reward);
        if (fgets(line, sizeof(line), stdin) == NULL) { /* {"action": "5"} */
            return 1;
        }
        int next = number_after(line, "\"action\":\"");
        int across = abs((next - 1) % size - (here - 1) % size),
            down = abs((next - 1) / size - (here - 1) / size);
        int moves = next >= 1 && next <= size * size && across <= 1 && down <= 1;
        here = moves ? next : here;
        reward = moves ? -0.1 : -0.2;
        steps++;
    }
    printf("{\"done\": true, \"reward\": %.1f, \"arrived\": %d}\n",
           reward + (here == goal), here == goal);
    return 0;
}
