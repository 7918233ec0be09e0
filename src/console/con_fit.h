/* Merges neighbours of a series until it has few enough points. Pure. */
#ifndef CONSOLE_CON_FIT_H
#define CONSOLE_CON_FIT_H

#include "console/con_data.h"

/* Adds `more`, which comes after it, to a point: no value is lost from minimum and maximum;
 * step, time and tokens are those of `more`. */
void con_fit_add(con_point *point, const con_point *more);

/* Merges runs of neighbours in place until there are at most `most` (at least 1) points.
 * Returns how many there are. */
size_t con_fit_points(con_point *points, size_t n, size_t most);

#endif
