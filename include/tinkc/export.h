/* Attributes of the public API. Included by every other public header. */
#ifndef TINKC_EXPORT_H
#define TINKC_EXPORT_H

#if defined(__GNUC__)
#define TINKC_API          __attribute__((visibility("default")))
#define TINKC_NODISCARD    __attribute__((warn_unused_result))
#define TINKC_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define TINKC_API
#define TINKC_NODISCARD
#define TINKC_PRINTF(f, a)
#endif

#ifdef __cplusplus
#define TINKC_BEGIN_DECLS extern "C" {
#define TINKC_END_DECLS   }
#else
#define TINKC_BEGIN_DECLS
#define TINKC_END_DECLS
#endif

#endif
