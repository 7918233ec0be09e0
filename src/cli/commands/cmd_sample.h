/* Samples on standard output, for `tinkc sample`. */
#ifndef CLI_CMD_SAMPLE_H
#define CLI_CMD_SAMPLE_H

#include "cli/frame/cmd_model.h"

/* Shows samples in the format of --format. */
int cmd_sample_show(const cmd_model *model, const tinkc_samples *samples,
                    const cmd_args *args);

/* Samples once and shows the text while it is sampled. */
int cmd_sample_stream(cmd_model *model, const tinkc_model_input *input,
                      const cmd_args *args);

#endif
