/* Regularizers for a custom loss: terms on the log-probabilities that are added to the
 * caller's own loss, with their gradients.
 *
 * tinkc_regularize is a tinkc_custom_loss_fn: pass it to
 * tinkc_training_forward_backward_custom with a tinkc_regularized as `user`. It calls the
 * caller's loss, adds weight * value of each term to the loss and weight * gradient to the
 * gradients, and reports the parts as metrics. Everything is borrowed until the operation
 * is done. Thread: as the callback of a custom loss. */
#ifndef TINKC_REGULARIZER_H
#define TINKC_REGULARIZER_H

#include <tinkc/training.h>

TINKC_BEGIN_DECLS

/* x: a log-probability; p = exp(x); q: the same entry of the reference. Sums are over all
 * entries of all items. */
typedef enum tinkc_regularizer_kind {
    TINKC_REGULARIZER_L1 = 0,           /* sum |v| of v = x or p */
    TINKC_REGULARIZER_L2 = 1,           /* sum (v - center)^2 */
    TINKC_REGULARIZER_ELASTIC_NET = 2,  /* ratio * L1 + (1 - ratio) * L2 */
    TINKC_REGULARIZER_ENTROPY = 3,      /* -sum p x */
    TINKC_REGULARIZER_KL = 4,           /* sum p (x - q); see `direction` */
    TINKC_REGULARIZER_CONSISTENCY = 5,  /* sum (x - q)^2 */
    TINKC_REGULARIZER_ORTHOGONALITY = 6 /* sum of the squared cosines of each two items,
                                           over the entries that both have */
} tinkc_regularizer_kind;

/* Which way a divergence is taken. */
typedef enum tinkc_kl_direction {
    TINKC_KL_FORWARD = 0,  /* sum p (x - q) */
    TINKC_KL_REVERSE = 1,  /* sum exp(q) (q - x) */
    TINKC_KL_SYMMETRIC = 2 /* the mean of the two */
} tinkc_kl_direction;

/* One term. Start from TINKC_REGULARIZER_INIT. */
typedef struct tinkc_regularizer {
    size_t size;
    tinkc_regularizer_kind kind;
    const char *name; /* of its metrics; NULL: that of the kind */
    double weight;    /* 0 or more */
    bool mean;        /* divide by the number of entries (of pairs: orthogonality) */
    bool of_probs;    /* L1, L2, elastic net: v = p */
    double center;    /* L2, elastic net */
    double ratio;     /* elastic net: 0..1 */
    bool maximize;    /* entropy: its negative is added */
    tinkc_kl_direction direction;
    const char *reference; /* KL, consistency: the input of the datum that holds q */
} tinkc_regularizer;

#define TINKC_REGULARIZER_INIT                                                           \
    {                                                                                    \
        sizeof(tinkc_regularizer), TINKC_REGULARIZER_L2, NULL, 0.01, false, false, 0.0,  \
            0.5, false, TINKC_KL_FORWARD, "reference_logprobs"                           \
    }

/* Sets *regularizer to TINKC_REGULARIZER_INIT. */
TINKC_API void tinkc_regularizer_init(tinkc_regularizer *regularizer);

/* Returns the name of a kind, such as "elastic_net"; NULL for any other value. Static
 * storage. */
TINKC_API const char *tinkc_regularizer_kind_name(tinkc_regularizer_kind kind);

/* Checks the term; tinkc_regularize does the same. TINKC_E_INVALID, naming the field: a
 * kind or direction that is none of the above, a weight that is negative, a ratio outside
 * 0..1, a number that is not finite, a missing reference. */
TINKC_API tinkc_code tinkc_regularizer_check(const tinkc_regularizer *regularizer,
                                             tinkc_error **err);

/* A loss with its terms. Start from TINKC_REGULARIZED_INIT. */
typedef struct tinkc_regularized {
    size_t size;
    tinkc_custom_loss_fn loss; /* the caller's; NULL: the terms alone */
    void *user;                /* of `loss` */
    const tinkc_regularizer *terms;
    size_t terms_n;
    bool gradient_norms; /* also report the L2 norms of the gradients */
} tinkc_regularized;

#define TINKC_REGULARIZED_INIT                                                           \
    {                                                                                    \
        sizeof(tinkc_regularized), NULL, NULL, NULL, 0, false                            \
    }

/* Sets *regularized to TINKC_REGULARIZED_INIT. */
TINKC_API void tinkc_regularized_init(tinkc_regularized *regularized);

/* A tinkc_custom_loss_fn; `user` is a tinkc_regularized. Metrics: base_loss,
 * regularizer_total, for each term its name (the value) and <name>_contribution (weight *
 * value); with gradient_norms also base_grad_norm, total_grad_norm and <name>_grad_norm (of
 * the weighted gradient). Returns what the caller's loss returned, unless that was 0, or a
 * tinkc_code: TINKC_E_INVALID for a term that tinkc_regularizer_check refuses, a name that
 * is there twice, or a reference that is missing, not float32 or of another length;
 * TINKC_E_NOMEM; else 0. */
TINKC_API int tinkc_regularize(double *loss, tinkc_metrics *metrics,
                               tinkc_custom_item *items, size_t n, void *user);

TINKC_END_DECLS

#endif
