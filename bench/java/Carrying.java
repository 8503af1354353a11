// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.Callable;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/** Tasks that carry so many bytes about, and bump a counter or return a number. */
class Carrying implements Runnable, Callable<Integer> {
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

    @Override
    public Integer call() {
        return (int) read();
    }

    long read() {
        return 0;
    }

    /** Makes tasks that bump; without captures it is always the same one. */
    static Supplier<Runnable> maker(Tally tally, int bytes) {
        if (bytes == 0) {
            var one = new Carrying(tally);
            return () -> one;
        }
        IntFunction<Carrying> made = of(tally, bytes);
        return () -> made.apply(0);
    }

    /** Makes tasks that return what it is given. */
    static IntFunction<Callable<Integer>> returning(int bytes) {
        if (bytes == 0) return value -> () -> value;
        IntFunction<Carrying> made = of(null, bytes);
        return made::apply;
    }

    private static IntFunction<Carrying> of(Tally tally, int bytes) {
        switch (bytes) {
            case 8: return value -> new Of8(tally, value);
            case 40: return value -> new Of40(tally, value);
            case 48: return value -> new Of48(tally, value);
            case 56: return value -> new Of56(tally, value);
            case 200: return value -> new Of200(tally, value);
            default: throw new IllegalArgumentException(
                    "capture=" + bytes + ": can be 0, 8, 40, 48, 56 or 200");
        }
    }

    @SuppressWarnings("unused")
    private static class Of8 extends Carrying {
        private final long a;

        Of8(Tally tally, long value) {
            super(tally);
            a = value;
        }

        @Override
        final long read() {
            return a;
        }
    }

    @SuppressWarnings("unused")
    private static class Of40 extends Of8 {
        private long b, c, d, e;

        Of40(Tally tally, long value) {
            super(tally, value);
        }
    }

    @SuppressWarnings("unused")
    private static class Of48 extends Of40 {
        private long f;

        Of48(Tally tally, long value) {
            super(tally, value);
        }
    }

    @SuppressWarnings("unused")
    private static class Of56 extends Of48 {
        private long g;

        Of56(Tally tally, long value) {
            super(tally, value);
        }
    }

    @SuppressWarnings("unused")
    private static final class Of200 extends Of56 {
        private long h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y;

        Of200(Tally tally, long value) {
            super(tally, value);
        }
    }
}
