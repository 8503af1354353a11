// SPDX-License-Identifier: Apache-2.0

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** A counter that one thread bumps and others read. */
final class Counter {
    private static final VarHandle VALUE;

    static {
        try {
            VALUE = MethodHandles.lookup().findVarHandle(Counter.class, "value", long.class);
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    @SuppressWarnings("unused")
    private final long[] distance = new long[16]; // from the next counter's line of cache
    private long value;

    void bump() {
        add(1);
    }

    void add(long by) {
        VALUE.setOpaque(this, (long) VALUE.getOpaque(this) + by);
    }

    long get() {
        return (long) VALUE.getAcquire(this);
    }
}
