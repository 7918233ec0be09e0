/* The `tinkc` program. */
#include "cli/frame/cmd_list.h"

int main(int argc, char **argv)
{
    return cmd_main(cmd_list, argc, argv);
}
