/* The entries `tile`, `strip` and `strip_bf16` of a SIMD kernel table, from the two
 * inline functions of the file that includes this header after them:
 *
 *     tile_rows(const eng_tile *t, size_t rows)     rows is a constant in every call
 *     strip_any(const eng_strip *s, bool bf16)      bf16 is a constant in every call
 *
 * For eng_kern_avx2.c and eng_kern_neon.c only. */
#ifndef ENGINE_ENG_KERN_SIMD_H
#define ENGINE_ENG_KERN_SIMD_H

static void tile(const eng_tile *t)
{
    switch (t->rows) {
    case 1:
        tile_rows(t, 1);
        break;
    case 2:
        tile_rows(t, 2);
        break;
    case 3:
        tile_rows(t, 3);
        break;
    case 4:
        tile_rows(t, 4);
        break;
    case 5:
        tile_rows(t, 5);
        break;
    default:
        tile_rows(t, ENG_ROWS);
        break;
    }
}

static void strip(const eng_strip *s)
{
    strip_any(s, false);
}

static void strip_bf16(const eng_strip *s)
{
    strip_any(s, true);
}

#endif
