/* Decides when a picture is rewritten. */
#include "cli/frame/cmd_picture.h"

#include "base/clock.h"
#include "cli/frame/cmd.h"

#define LEAST_NS ((int64_t)2000 * 1000 * 1000)
#define SHARE    100 /* writing takes at most a hundredth of the time */

void cmd_picture_update(cmd_picture *picture, const cmd_plot *plot)
{
    tk_err err = TK_ERR_INIT;
    int64_t began = picture->path != NULL ? tk_clock_mono_ns(NULL) : 0;
    if (picture->path == NULL || began < picture->next_ns) {
        return;
    }
    (void)!cmd_plot_save(plot, picture->path, &err);
    int64_t now = tk_clock_mono_ns(NULL);
    picture->next_ns = now + TK_MAX((now - began) * SHARE, LEAST_NS);
}

int cmd_picture_write(const cmd_picture *picture, const cmd_plot *plot)
{
    tk_err err = TK_ERR_INIT;
    if (picture->path == NULL || cmd_plot_save(plot, picture->path, &err) == TINKC_OK) {
        return CMD_OK;
    }
    return cmd_fail("%s", err.message);
}
