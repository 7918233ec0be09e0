/* Shared by the tests of the C++ headers, which use nothing but the installed API: checks
 * that end the program, test functions that are reported as cmocka reports them, and a real
 * `tinkc serve` with its own data directory. Thread: the main one. */
#ifndef CPP_CPPFIX_HPP
#define CPP_CPPFIX_HPP

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tinkc/tinkc.hpp>

#define CHECK(condition)                                                                 \
    ((condition) ? (void)0 : cppfix::fail(__FILE__, __LINE__, #condition))

/* The call fails with this code; `call` returns an expected. */
#define CHECK_CODE(call, wanted)                                                         \
    do {                                                                                 \
        auto outcome_ = (call);                                                          \
        CHECK(!outcome_);                                                                \
        CHECK(outcome_.error().code() == (wanted));                                      \
    } while (0)

#define RUN(test) cppfix::run(#test, test)

namespace cppfix
{

inline const char model[] = "tinkc/pebble-llama-2m";

[[noreturn]] inline void fail(const char *file, int line, const char *what)
{
    std::printf("%s:%d: %s\n", file, line, what);
    std::fflush(stdout);
    std::abort();
}

inline void run(const char *name, void (*test)())
{
    std::printf("[ RUN      ] %s\n", name);
    std::fflush(stdout);
    test();
    std::printf("[       OK ] %s\n", name);
    std::fflush(stdout);
}

/* A server that runs until the object goes; TINKER_BASE_URL names it meanwhile. */
class server
{
  public:
    server()
    {
        char folder[] = "/tmp/tinkc-test-XXXXXX";
        CHECK(mkdtemp(folder) != nullptr);
        data_ = folder;
        int ends[2];
        CHECK(pipe(ends) == 0);
        pid_ = fork();
        CHECK(pid_ >= 0);
        if (pid_ == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when a check fails */
            (void)dup2(ends[1], STDOUT_FILENO);
            (void)close(ends[0]);
            (void)execl(TINKC_PROGRAM, TINKC_PROGRAM, "serve", "--port", "0", "--data",
                        data_.c_str(), nullptr);
            _exit(127);
        }
        (void)close(ends[1]);
        std::string line;
        for (char c = 0; read(ends[0], &c, 1) == 1 && c != '\n';) {
            line += c;
        }
        (void)close(ends[0]);
        CHECK(line.rfind("listening on ", 0) == 0);
        CHECK(setenv("TINKER_BASE_URL", line.substr(13).c_str(), 1) == 0);
        CHECK(setenv("XDG_CACHE_HOME", data_.c_str(), 1) == 0);
        CHECK(setenv("NO_PROXY", "127.0.0.1", 1) == 0);
        CHECK(unsetenv("TINKER_API_KEY") == 0);
    }
    ~server()
    {
        int status = 0;
        CHECK(kill(pid_, SIGTERM) == 0);
        CHECK(waitpid(pid_, &status, 0) == pid_);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(std::system(("rm -rf " + data_).c_str()) == 0);
    }
    server(const server &) = delete;
    server &operator=(const server &) = delete;

    const std::string &data() const
    {
        return data_;
    }

  private:
    std::string data_;
    pid_t pid_ = -1;
};

} // namespace cppfix

#endif
