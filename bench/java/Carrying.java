// SPDX-License-Identifier: Apache-2.0

import java.util.function.Supplier;

/** Tasks that bump a counter and carry so many bytes about. */
class Carrying implements Runnable {
    /** What counts tasks that ran. */
    interface Tally {
        void bump(long by);
    }

    private final Tally tally;

    Carrying(Tally tally) {
        this.tally = tally;
    }

    @Override
    public void run() {
        tally.bump(1 + read());
    }

    long read() {
        return 0;
    }

    /** Makes tasks; without captures it is always the same one. */
    static Supplier<Runnable> maker(Tally tally, int bytes) {
        switch (bytes) {
            case 0:
                var one = new Carrying(tally);
                return () -> one;
            case 8: return () -> new Of8(tally);
            case 40: return () -> new Of40(tally);
            case 48: return () -> new Of48(tally);
            case 56: return () -> new Of56(tally);
            case 200: return () -> new Of200(tally);
            default: throw new IllegalArgumentException(
                    "capture=" + bytes + ": can be 0, 8, 40, 48, 56 or 200");
        }
    }

    @SuppressWarnings("unused")
    private static class Of8 extends Carrying {
        private long a;

        Of8(Tally tally) {
            super(tally);
        }

        @Override
        final long read() {
            return a;
        }
    }

    @SuppressWarnings("unused")
    private static class Of40 extends Of8 {
        private long b, c, d, e;

        Of40(Tally tally) {
            super(tally);
        }
    }

    @SuppressWarnings("unused")
    private static class Of48 extends Of40 {
        private long f;

        Of48(Tally tally) {
            super(tally);
        }
    }

    @SuppressWarnings("unused")
    private static class Of56 extends Of48 {
        private long g;

        Of56(Tally tally) {
            super(tally);
        }
    }

    @SuppressWarnings("unused")
    private static final class Of200 extends Of56 {
        private long h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y;

        Of200(Tally tally) {
            super(tally);
        }
    }
}
