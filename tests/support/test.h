/* What every test program includes: cmocka with what it needs in front of it. */
#ifndef SUPPORT_TEST_H
#define SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/tk.h"

/* The step of a loop that tries many numbers in one thread, or the same in more of them:
 * TSan, which is slow, looks at some, every other build at all. */
#if defined(__SANITIZE_THREAD__)
#define TEST_TSAN_STRIDE(n) (n)
#else
#define TEST_TSAN_STRIDE(n) 1
#endif

#endif
