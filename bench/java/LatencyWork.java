// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** What bench/peer/latency_work.hpp is for C++. */
final class LatencyWork {
    private final Request asked;
    private final long between; // nanoseconds
    private final ExecutorService pool;

    LatencyWork(String kind, Request asked) {
        this.asked = asked;
        between = asked.number("interval_us", 1000) * 1000L;
        pool = new Pools(kind).make(asked.number("workers", 2), 1);
    }

    private String sampled(long pause, Callable<Long> sample) throws Exception {
        var taken = new double[asked.number("samples", 300)];
        double cpuBefore = 0;
        for (int i = -20; i < taken.length; ++i) {
            if (i == 0) cpuBefore = Measure.cpuSeconds();
            TimeUnit.NANOSECONDS.sleep(pause);
            long took = sample.call();
            if (i >= 0) taken[i] = took * 1e-3;
        }
        double cpu = (Measure.cpuSeconds() - cpuBefore) * 1e6 / taken.length;
        Measure.end(pool);
        return "{\"us\": " + Measure.list(taken) + ", \"cpu_us\": " + cpu + "}";
    }

    String start() throws Exception {
        return sampled(between / 2, () -> {
            var started = new AtomicLong();
            long begin = System.nanoTime();
            pool.execute(() -> started.set(System.nanoTime()));
            do TimeUnit.NANOSECONDS.sleep(between / 2); while (started.get() == 0);
            return started.get() - begin;
        });
    }

    String roundTrip() throws Exception {
        return sampled(between, () -> {
            long begin = System.nanoTime();
            pool.submit(() -> 1).get();
            return System.nanoTime() - begin;
        });
    }
}
