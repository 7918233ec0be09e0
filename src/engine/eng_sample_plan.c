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
                eng_sample_drop_pages(sampler, victim, &victim->samples[i - 1]);
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
        if (!eng_sample_add_page(sample, page)) {
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
        eng_sample_find_prefix(sampler, job, sample);
    }
    size_t left = eng_sample_length(job, sample) - sample->done;
    size_t n = left == 1 ? 1 : TK_MIN(left, p->budget);
    p->slots--;
    if (n > 0 && !own_pages(sampler, job, index, n)) {
        eng_sample_drop_pages(sampler, job, sample);
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
