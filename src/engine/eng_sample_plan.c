/* Decides which samples compute what in the next step. Samples are served oldest first.
 * One that needs a page when there is none left takes it from the youngest sample that
 * has any; that one waits and computes its positions again later, to the same bits. So
 * the oldest sample always makes progress, and every accepted request finishes. */
#include <string.h>

#include "base/mem.h"
#include "engine/eng_sample_int.h"

typedef struct plan {
    eng_sampler *sampler;
    size_t slots;  /* sequences left */
    size_t budget; /* prompt tokens left */
    size_t with;   /* older samples that hold pages */
    bool blocked;  /* a sample waits for memory: no later one starts */
} plan;

/* Last page first: it is also the first to be given up by the cache, whose chains are
 * useless without their beginning. */
void eng_sample_drop_pages(eng_sampler *sampler, eng_sample *sample)
{
    while (sample->n_pages > 0) {
        eng_pages_release(&sampler->pages, sample->pages[--sample->n_pages]);
    }
    sample->done = 0;
    sample->published = 0;
}

static bool add_page(eng_sample *sample, eng_page *page)
{
    if (sample->n_pages == sample->pages_capacity) {
        size_t capacity = TK_MAX((size_t)8, 2 * sample->pages_capacity);
        eng_page **grown = tk_realloc_array(sample->pages, capacity, sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        sample->pages = grown;
        sample->pages_capacity = capacity;
    }
    sample->pages[sample->n_pages++] = page;
    return true;
}

/* ---- the prefix cache ---- */

static eng_page_key key_of(const eng_sample_job *job, const eng_sample *sample,
                           size_t page, int32_t *tokens)
{
    for (size_t i = 0; i < ENG_KV_BLOCK; i++) {
        tokens[i] = eng_sample_token_at(job, sample, page * ENG_KV_BLOCK + i);
    }
    uint64_t parent = page > 0 ? sample->pages[page - 1]->serial : 0;
    return (eng_page_key){job->weights, parent, tokens};
}

/* At least one token is left to compute: logits come from it. */
static void find_prefix(eng_sampler *sampler, eng_sample_job *job, eng_sample *sample)
{
    size_t most = (eng_sample_length(job, sample) - 1) / ENG_KV_BLOCK;
    int32_t tokens[ENG_KV_BLOCK];
    if (!job->forked) { /* the logits before every position that is scored are wanted */
        most = TK_MIN(most, (job->scores.first - 1) / ENG_KV_BLOCK);
    }
    while (sample->n_pages < most) {
        eng_page_key key = key_of(job, sample, sample->n_pages, tokens);
        eng_page *page = eng_pages_find(&sampler->pages, &key);
        if (page == NULL) {
            break;
        }
        if (!add_page(sample, page)) {
            eng_pages_release(&sampler->pages, page);
            break; /* computing it again needs no luck */
        }
    }
    sample->published = sample->n_pages;
    sample->done = sample->n_pages * ENG_KV_BLOCK;
    if (!job->started) {
        job->hit_tokens = sample->done;
        job->started = true;
    }
}

void eng_sample_publish(eng_sampler *sampler, const eng_sample_job *job,
                        eng_sample *sample)
{
    int32_t tokens[ENG_KV_BLOCK];
    if (job->adapter != NULL && job->adapter->identity != job->weights) {
        return; /* the weights were changed meanwhile */
    }
    for (; (sample->published + 1) * ENG_KV_BLOCK <= sample->done; sample->published++) {
        eng_page_key key = key_of(job, sample, sample->published, tokens);
        eng_page **page = &sample->pages[sample->published];
        *page = eng_pages_publish(&sampler->pages, *page, &key);
    }
}

/* ---- pages ---- */

/* Takes the pages of the youngest sample after (job, index); false when none has any. */
static bool preempt(eng_sampler *sampler, const eng_sample_job *job, size_t index)
{
    for (tk_list *at = sampler->jobs.prev; at != &sampler->jobs; at = at->prev) {
        eng_sample_job *victim = TK_CONTAINER_OF(at, eng_sample_job, node);
        for (size_t i = eng_sample_count(victim); i > 0; i--) {
            if (victim == job && i - 1 == index) {
                return false;
            }
            if (victim->samples[i - 1].n_pages > 0) {
                eng_sample_drop_pages(sampler, &victim->samples[i - 1]);
                return true;
            }
        }
    }
    return false;
}

static eng_page *take(eng_sampler *sampler, const eng_sample_job *job, size_t index)
{
    eng_page *page;
    do {
        page = eng_pages_take(&sampler->pages);
    } while (page == NULL && preempt(sampler, job, index));
    return page;
}

/* The page that is written next must be the sample's alone. Samples that share it may
 * have to give way first; then no copy is needed. */
static bool own_last_page(eng_sampler *sampler, eng_sample_job *job, size_t index)
{
    eng_sample *sample = &job->samples[index];
    size_t at = sample->done / ENG_KV_BLOCK;
    while (at < sample->n_pages && sample->pages[at]->refs > 1) {
        eng_page *copy = eng_pages_take(&sampler->pages);
        if (copy != NULL) {
            memcpy(copy->blocks, sample->pages[at]->blocks, sampler->pages.page_bytes);
            eng_pages_release(&sampler->pages, sample->pages[at]);
            sample->pages[at] = copy;
        } else if (!preempt(sampler, job, index)) {
            return false;
        }
    }
    return true;
}

static bool own_pages(eng_sampler *sampler, eng_sample_job *job, size_t index, size_t n)
{
    eng_sample *sample = &job->samples[index];
    size_t need = (sample->done + n + ENG_KV_BLOCK - 1) / ENG_KV_BLOCK;
    if (!own_last_page(sampler, job, index)) {
        return false;
    }
    while (sample->n_pages < need) {
        eng_page *page = take(sampler, job, index);
        if (page == NULL) {
            return false;
        }
        if (!add_page(sample, page)) {
            eng_pages_release(&sampler->pages, page);
            (void)tk_err_nomem(&job->err);
            return false;
        }
    }
    return true;
}

/* ---- the plan ---- */

/* A start is worth it when everything it has to compute fits beside what runs, with a
 * page to grow for each; and always for the oldest, which may preempt all others. */
static bool may_start(const plan *p, const eng_sample_job *job, const eng_sample *sample)
{
    size_t pages = (eng_sample_length(job, sample) + ENG_KV_BLOCK - 1) / ENG_KV_BLOCK;
    size_t available = eng_pages_available(&p->sampler->pages);
    return !p->blocked && (p->with == 0 || pages + p->with <= available);
}

static void plan_sample(plan *p, eng_sample_job *job, size_t index)
{
    eng_sampler *sampler = p->sampler;
    eng_sample *sample = &job->samples[index];
    if (sample->n_pages == 0) {
        if (!may_start(p, job, sample)) {
            p->blocked = true;
            return;
        }
        find_prefix(sampler, job, sample);
    }
    size_t left = eng_sample_length(job, sample) - sample->done;
    size_t n = left == 1 ? 1 : TK_MIN(left, p->budget);
    p->slots--;
    if (n > 0 && !own_pages(sampler, job, index, n)) {
        eng_sample_drop_pages(sampler, sample);
        p->blocked = true;
        if (p->with == 0) { /* nothing to wait for */
            (void)tk_err_nomem(&job->err);
        }
        return;
    }
    p->with += sample->n_pages > 0;
    if (n > 0) {
        p->budget -= left == 1 ? 0 : n;
        sampler->items[sampler->n_items] =
            (eng_sample_item){job, index, n, sampler->n_items};
        sampler->n_items++;
    }
}

void eng_sample_plan(eng_sampler *sampler)
{
    plan p = {.sampler = sampler,
              .slots = sampler->config.max_sequences,
              .budget = sampler->config.prefill_chunk};
    sampler->n_items = 0;
    for (tk_list *at = sampler->jobs.next; at != &sampler->jobs; at = at->next) {
        eng_sample_job *job = TK_CONTAINER_OF(at, eng_sample_job, node);
        for (size_t i = 0; i < eng_sample_count(job) && p.slots > 0; i++) {
            if (!eng_sample_job_over(job) && !job->samples[i].finished) {
                plan_sample(&p, job, i);
            }
        }
    }
}
