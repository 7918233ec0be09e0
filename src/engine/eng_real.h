/* The number type of all engine mathematics. float; double when built with ENG_DOUBLE,
 * which only the gradient tests do (finite differences need the digits). */
#ifndef ENGINE_ENG_REAL_H
#define ENGINE_ENG_REAL_H

#ifdef ENG_DOUBLE
typedef double eng_real;
#else
typedef float eng_real;
#endif

#endif
