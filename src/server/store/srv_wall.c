/* Compares how far the wall clock and the monotonic clock have come. */
#include "server/store/srv_wall.h"

static bool is_near(int64_t a_us, int64_t b_us)
{
    int64_t apart = a_us > b_us ? a_us - b_us : b_us - a_us;
    return apart <= SRV_WALL_JUMP_US;
}

static void note_jump(srv_wall *wall, int64_t wall_us, int64_t mono_ns)
{
    wall->jumped = true;
    wall->jumped_ns = mono_ns;
    wall->jump_us = wall_us - mono_ns / 1000;
}

void srv_wall_init(srv_wall *wall, int64_t wall_us, int64_t mono_ns, int64_t seen_us)
{
    *wall = (srv_wall){.wall_us = wall_us, .mono_ns = mono_ns};
    if (seen_us > 0 &&
        (wall_us - seen_us > SRV_WALL_AWAY_US || seen_us - wall_us > SRV_WALL_JUMP_US)) {
        wall->wall_us = seen_us;
        note_jump(wall, wall_us, mono_ns);
    }
}

static int64_t expect(const srv_wall *wall, int64_t mono_ns)
{
    return wall->wall_us + (mono_ns - wall->mono_ns) / 1000;
}

int64_t srv_wall_latest(const srv_wall *wall, int64_t wall_us, int64_t mono_ns)
{
    return TK_MAX(wall_us, expect(wall, mono_ns));
}

int64_t srv_wall_read(srv_wall *wall, int64_t wall_us, int64_t mono_ns)
{
    int64_t expected = expect(wall, mono_ns);
    if (is_near(wall_us, expected)) {
        *wall = (srv_wall){.wall_us = wall_us, .mono_ns = mono_ns};
        return wall_us;
    }
    if (!wall->jumped || !is_near(wall_us - mono_ns / 1000, wall->jump_us)) {
        note_jump(wall, wall_us, mono_ns);
    } else if (mono_ns - wall->jumped_ns >= SRV_WALL_TRUST_NS) {
        *wall = (srv_wall){.wall_us = wall_us, .mono_ns = mono_ns};
        return wall_us;
    }
    return TK_MIN(wall_us, expected);
}
