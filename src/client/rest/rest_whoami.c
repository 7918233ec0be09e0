/* whoami: no endpoint, only the claims of the token that requests carry (docs/protocol.md
 * §1.3). Loop thread, but for the public function. */
#include "base/mem.h"
#include "client/call/op.h"
#include "client/core/service.h"
#include "client/rest/rest.h"
#include "client/rest/rest_result.h"

typedef struct asking {
    tk_op op;
    tk_ready ready;
    tk_auth_waiter auth;
    bool is_ready;
} asking;

static const char operation[] = "whoami";

/* A key that is itself a token speaks of a user only when Tinker's own issuer made it. */
static bool is_ours(const tk_json *claims)
{
    const tk_json *issuer = tk_json_get(claims, "iss");
    return issuer != NULL && issuer->type == TK_JSON_STRING &&
           tk_str_has_prefix(issuer->as.string, "passport-");
}

static void *read_token(const tk_auth *auth, const char *credential, tk_err *err)
{
    void *result = NULL;
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    const tk_json *claims = tk_auth_jwt_claims(tk_str_of(credential), &arena);
    if (claims == NULL || (!tk_auth_is_exchanged(auth) && !is_ours(claims))) {
        tk_err_set(err, TINKC_E_UNSUPPORTED,
                   "the credential is a plain key: it does not say whose it is");
    } else {
        result = tk_rest_result_whoami(claims, err);
    }
    tk_arena_dispose(&arena);
    return result;
}

static void on_credential(tk_auth_waiter *waiter, const char *credential, tinkc_code code,
                          const tk_err *err)
{
    asking *self = TK_CONTAINER_OF(waiter, asking, auth);
    tk_err own = TK_ERR_INIT;
    if (code != TINKC_OK) {
        tk_op_fail(&self->op, err);
        return;
    }
    void *result = read_token(tk_core_auth(self->op.core), credential, &own);
    if (result != NULL) {
        tk_op_complete(&self->op, result, tk_rest_result_free);
    } else {
        tk_op_fail(&self->op, &own);
    }
}

static void on_ready(tk_ready *ready, tinkc_code code, const tk_err *err)
{
    asking *self = TK_CONTAINER_OF(ready, asking, ready);
    if (code != TINKC_OK) {
        tk_op_fail(&self->op, err);
        return;
    }
    self->is_ready = true;
    self->auth.ready = on_credential;
    tk_auth_get(tk_core_auth(self->op.core), &self->auth);
}

static void start(tk_op *op)
{
    asking *self = TK_CONTAINER_OF(op, asking, op);
    self->ready.done = on_ready;
    tk_core_when_ready(op->core, &self->ready);
}

static void cancel(tk_op *op)
{
    asking *self = TK_CONTAINER_OF(op, asking, op);
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_CANCELLED, "cancelled");
    if (self->is_ready) {
        tk_auth_forget(tk_core_auth(op->core), &self->auth);
    } else {
        tk_core_forget_ready(op->core, &self->ready);
    }
    tk_op_fail(op, &err);
}

static void destroy(tk_op *op)
{
    tk_free(TK_CONTAINER_OF(op, asking, op));
}

static const tk_op_type asking_type = {start, cancel, destroy};

tinkc_future *tinkc_rest_whoami(tinkc_service *service)
{
    if (service == NULL) {
        return tk_service_none(operation, TK_RESULT_WHOAMI);
    }
    tk_handle *handle = tk_service_handle(service);
    asking *self = tk_zalloc(sizeof(*self));
    if (self == NULL) {
        tk_err err = TK_ERR_INIT;
        tk_err_nomem(&err);
        return tk_handle_refuse(handle, operation, TK_RESULT_WHOAMI, &err);
    }
    tk_op_init(&self->op, &asking_type, handle, operation, TK_RESULT_WHOAMI);
    return tk_op_submit(&self->op);
}
