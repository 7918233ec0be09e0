/* The C++ headers against the real server: pagers, downloads, raw requests, meters, hooks,
 * contexts, a loop of the program's own, and what a service keeps for its callbacks. */
#include <atomic>
#include <poll.h>
#include <stdexcept>
#include <sys/stat.h>

#include "cppfix.hpp"

using tinkc::expected;

static std::string data_dir;

static bool exists(const std::string &path)
{
    struct stat st;
    return stat(path.c_str(), &st) == 0;
}

static tinkc::training small(const tinkc::service &service)
{
    tinkc::lora_config lora;
    lora.rank = 4;
    return service.create_training(cppfix::model, lora).get();
}

/* Lists of any length are ranges; their structs are those of C. */
static void test_cpp_pagers()
{
    auto service = tinkc::service::open();
    tinkc::rest rest(service);
    std::vector<std::string> ids, paths;
    for (int i = 0; i < 3; i++) {
        auto training = small(service);
        ids.push_back(training.model_id());
        paths.push_back(training.save_state("s" + std::to_string(i)).get());
        training.unload().get();
    }
    tinkc::pager_options two_each;
    two_each.page = 2;
    std::size_t found = 0;
    auto pager = rest.all_runs(two_each);
    for (const tinkc_run &run : pager) {
        for (const std::string &id : ids) {
            found += id == run.id ? 1 : 0;
        }
    }
    CHECK(found == 3 && pager.total() >= 3 && !pager.has_next());
    CHECK(*pager.next<expected>() == nullptr);
    found = 0;
    for (const tinkc_checkpoint &one : rest.all_checkpoints(two_each)) {
        found += paths[0] == one.path || paths[2] == one.path ? 1 : 0;
    }
    CHECK(found == 2);
    bool mine = false;
    auto sessions = rest.all_sessions();
    while (const char *id = sessions.next()) {
        mine = mine || std::string(id) == service.session_id();
    }
    CHECK(mine);
    auto page = rest.list_runs().get();
    CHECK(page.size() >= 3 && page->total >= 3 && page[0].is_lora);
    CHECK(rest.get_run(ids[1]).get()->lora_rank == 4);
    CHECK(ids[1] == rest.get_run_of_path(paths[1]).get()->id);
    CHECK(rest.list_checkpoints(ids[1]).get().size() == 1);
    CHECK(rest.get_weights_info(paths[0]).get()->is_lora);
    rest.set_checkpoint_ttl(paths[2], 1000).get();
    rest.delete_checkpoint(paths[2]).get();
    CHECK(!rest.delete_checkpoint(paths[2]).get<expected>());
    CHECK(rest.get_session(service.session_id()).get()->run_ids_n >= 3);
    CHECK(rest.list_sessions().get()->n >= 1);
}

static void test_cpp_downloads()
{
    auto service = tinkc::service::open();
    tinkc::rest rest(service);
    auto training = small(service);
    auto path = training.save_weights_for_sampler("w").get();
    auto sampling = service.create_sampling(path).get();
    CHECK(sampling.base_model().get() == cppfix::model);
    int calls = 0;
    auto result = rest.download(path, data_dir + "/got", {},
                                [&](const tinkc_progress &) { return ++calls > 0; });
    CHECK(result.files > 0 && calls > 0);
    CHECK(exists(data_dir + "/got/adapter_model.safetensors"));
    CHECK_CODE(rest.download<expected>(path, data_dir + "/got"), TINKC_E_STATE);
    bool thrown = false;
    try {
        rest.download(path, data_dir + "/not", {}, [](const tinkc_progress &) -> bool {
            throw std::range_error("of the download");
        });
    } catch (const std::range_error &) {
        thrown = true;
    }
    CHECK(thrown && !exists(data_dir + "/not"));
    CHECK_CODE(rest.download<expected>(path, data_dir + "/not", {},
                                       [](const tinkc_progress &) { return false; }),
               TINKC_E_CANCELLED);
}

static void test_cpp_raw()
{
    auto service = tinkc::service::open();
    tinkc::raw_request request;
    request.path = "/api/v1/healthz";
    auto response = tinkc::send(service, request).get();
    CHECK(response.status() == 200 && !response.body().empty());
    CHECK(response.header("content-type") != nullptr && response.header_at(0));
    auto stream = tinkc::raw_stream::open(service, request);
    char buffer[256];
    std::string body;
    while (std::size_t got = stream.read(buffer)) {
        body.append(buffer, got);
    }
    CHECK(stream.head().status() == 200 && body == response.body());
    CHECK(tinkc::save(service, request, data_dir + "/health") == body.size());
    request.path = "/api/v1/nothing";
    CHECK_CODE(tinkc::send(service, request).get<expected>(), TINKC_E_NOT_FOUND);
}

/* Meters, hooks, traces, the ledger and contexts; what a hook throws is discarded. */
static void test_cpp_insight()
{
    auto kept = std::make_shared<std::atomic<int>>(0);
    {
        auto service = tinkc::service::open();
        auto meter = tinkc::meter::create();
        auto trace = tinkc::trace::open(data_dir + "/trace.json");
        meter.attach(service);
        trace.attach(service);
        tinkc::add_hook(service, [kept](const tinkc_hook &) {
            ++*kept;
            throw std::runtime_error("discarded");
        });
        tinkc::context context;
        const tinkc_pair tags[] = {{"experiment", "a"}};
        context.tags = tags;
        context.tags_n = 1;
        auto tagged = service.with_context(context);
        auto health = tagged.health();
        CHECK(health.context()->tags_n == 1);
        health.get();
        auto sampling = tagged.create_sampling(cppfix::model).get();
        tinkc::sampling_params params;
        params.max_tokens = 3;
        (void)sampling.sample(tinkc::model_input::from({1, 2, 3}), params).get();
        meter.add("mine", 2);
        meter.set("gauge", -1);
        meter.observe("seconds", 0.5);
        auto readings = meter.read();
        CHECK(readings.find("tinkc_operations_total", "sample")->value == 1);
        CHECK(readings.find("mine")->value == 2 && !readings.find("other"));
        CHECK(readings.size() > 3 && readings.at(0));
        CHECK(readings.prometheus().find("mine 2") != std::string::npos);
        CHECK(readings.json().find("\"mine\"") != std::string::npos);
        auto ledger = tinkc::ledger::of(service);
        CHECK(ledger.total(TINKC_TOKENS_PREFILL) == 3 && ledger.left() == -1);
        CHECK(ledger.runs() == 1 && ledger.run_id(0) != nullptr);
        tinkc::ledger::set_budget(service, 1);
        CHECK_CODE(
            sampling.sample(tinkc::model_input::from({1, 2, 3}), params).get<expected>(),
            TINKC_E_BUDGET);
        trace.close();
        CHECK(exists(data_dir + "/trace.json") && trace.empty());
        CHECK(tinkc::telemetry::count(service).dropped == 0);
        service.set_finish(TINKC_FINISH_INTERRUPTED, "the test ends");
    }
    CHECK(*kept > 0 && kept.use_count() == 1); /* the hook went with the service */
}

/* A loop of the program's own, and a log that outlives its configuration. */
static void test_cpp_manual_loop()
{
    auto lines = std::make_shared<std::atomic<int>>(0);
    {
        auto config = tinkc::config::create();
        config.set("loop", "manual");
        config.set("log_level", "debug");
        config.set_log([lines](tinkc_log_level, const char *, const char *) {
            ++*lines;
            throw std::runtime_error("discarded");
        });
        auto service = tinkc::service::open(config);
        config.reset();
        service.on_queue_state([](tinkc_queue_state, const char *, const char *) {});
        auto health = service.health();
        CHECK(service.waits().size() == 1);
        CHECK(!tinkc::explain(service.waits()[0]).empty());
        while (!health.is_done()) {
            pollfd ready = {service.fd(), POLLIN, 0};
            (void)poll(&ready, 1, static_cast<int>(service.deadline_ms()));
            service.process();
        }
        health.get();
        tinkc::service moved;
        moved = std::move(service);
        CHECK(service.empty() && !service.health().get<expected>());
        moved.health().get(); /* the log function moved along */
    }
    CHECK(*lines > 0 && lines.use_count() == 1);
}

int main()
{
    cppfix::server server;
    data_dir = server.data();
    RUN(test_cpp_pagers);
    RUN(test_cpp_downloads);
    RUN(test_cpp_raw);
    RUN(test_cpp_insight);
    RUN(test_cpp_manual_loop);
    return 0;
}
