// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** What bench/peer/measure.hpp is for C++. */
final class Measure {
    private Measure() { }

    static void await(BooleanSupplier done, long nanosBetween) {
        while (!done.getAsBoolean()) LockSupport.parkNanos(nanosBetween);
    }

    static void end(ExecutorService pool) throws InterruptedException {
        pool.shutdownNow();
        if (!pool.awaitTermination(1, TimeUnit.MINUTES)) throw new IllegalStateException("no end");
    }

    static double secondsSince(long begin) {
        return (System.nanoTime() - begin) * 1e-9;
    }

    /** Of all threads that are there; the JVM's own figure comes in steps of 10 ms. */
    static double cpuSeconds() throws IOException {
        double nanoseconds = 0;
        try (var threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path thread : threads) {
                String times = Files.readString(thread.resolve("schedstat"));
                nanoseconds += Long.parseLong(times.substring(0, times.indexOf(' ')));
            }
        }
        return nanoseconds * 1e-9;
    }

    /** Bytes of the heap that are in use when the garbage is collected. */
    static double heapBytes() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    static double residentBytes() throws IOException {
        return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]) * 4096.0;
    }

    /** As JSON. */
    static String list(double[] values) {
        var text = new StringBuilder("[");
        for (double value : values) text.append(text.length() > 1 ? "," : "").append(value);
        return text.append("]").toString();
    }

    /** splitmix64: the same numbers in every peer, whatever its language. */
    static final class Random {
        private long state;

        Random(long seed) {
            state = seed;
        }

        long below(long bound) {
            state += 0x9e3779b97f4a7c15L;
            long z = state;
            z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
            z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
            return ((z ^ (z >>> 31)) >>> 1) % bound;
        }

        void shuffle(int[] order) {
            for (int i = order.length; i > 1; --i) {
                int other = (int) below(i);
                int kept = order[i - 1];
                order[i - 1] = order[other];
                order[other] = kept;
            }
        }
    }
}
