/* Metrics of training: names with numbers, as the server sent them or as a custom loss
 * computed them.
 *
 * A result owns its metrics; only those that tinkc_future_take_metrics or
 * tinkc_training_optim_step_wait hand out belong to the caller. What the library itself
 * does is measured elsewhere: <tinkc/meter.h>. Thread: one at a time. */
#ifndef TINKC_METRICS_H
#define TINKC_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include <tinkc/error.h>
#include <tinkc/export.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_metrics tinkc_metrics;

/* Frees metrics that the caller owns (not those inside a result) and sets *metrics to
 * NULL. Accepts NULL. */
TINKC_API void tinkc_metrics_free(tinkc_metrics **metrics);

/* Returns the number of metrics; 0 for NULL. */
TINKC_API size_t tinkc_metrics_count(const tinkc_metrics *metrics);

/* Gives the name and the value of one metric. The name is borrowed until the metrics are
 * changed or freed. Returns false, and writes nothing, when `index` is past the end. */
TINKC_API bool tinkc_metrics_at(const char **name_out, double *value_out,
                                const tinkc_metrics *metrics, size_t index);

/* Gives the value of the metric with this whole name, e.g. "loss:sum". TINKC_E_MISSING
 * when there is none, TINKC_E_INVALID without `out` or `name`; *out stays as it is
 * then. */
TINKC_API tinkc_code tinkc_metrics_get(double *out, const tinkc_metrics *metrics,
                                       const char *name, tinkc_error **err);

/* Gives the loss of a training step as the server sent it: the metric "loss", or else
 * "loss:sum", the first "loss:<reduction>", "total_loss", "total_loss:<reduction>". A sum
 * is one over all tokens; what a mean is taken over is the server's choice.
 * TINKC_E_MISSING when the server sent none of them (tinkc_fwdbwd_computed_loss in
 * <tinkc/training.h> needs none), TINKC_E_INVALID without `out`. */
TINKC_API tinkc_code tinkc_metrics_loss(double *out, const tinkc_metrics *metrics,
                                        tinkc_error **err);

/* Returns the name of the metric that tinkc_metrics_loss reads, e.g. "loss:mean",
 * borrowed until the metrics are changed or freed; NULL when there is none. */
TINKC_API const char *tinkc_metrics_loss_name(const tinkc_metrics *metrics);

/* Sets or replaces a metric, inside the callback of a custom loss or in metrics that the
 * caller owns. The name is copied. TINKC_E_INVALID without metrics or name, TINKC_E_LIMIT
 * beyond 4096 metrics, TINKC_E_NOMEM; the metrics stay as they are then. */
TINKC_API tinkc_code tinkc_metrics_put(tinkc_metrics *metrics, const char *name,
                                       double value, tinkc_error **err);

TINKC_END_DECLS

#endif
