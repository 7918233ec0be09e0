/* Owners of a model of a backend. */
#include "gateway/gw_backend.h"

gw_model *gw_model_retain(gw_model *model)
{
    (void)atomic_fetch_add(&model->owners, 1);
    return model;
}

void gw_model_release(gw_model *model)
{
    if (model != NULL && atomic_fetch_sub(&model->owners, 1) == 1) {
        model->free(model);
    }
}
