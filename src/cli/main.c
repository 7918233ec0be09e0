/* main() of the `tinkc` program: hands the tables of commands to the dispatcher. */
#include "cli/cmd_list.h"

int main(int argc, char **argv)
{
    return cmd_main(cmd_list, cmd_groups, argc, argv);
}
