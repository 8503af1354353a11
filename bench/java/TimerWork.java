// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** What bench/peer/timer_work.hpp is for C++. */
final class TimerWork {
    private final Request asked;

    TimerWork(Request asked) {
        this.asked = asked;
    }

    private static ScheduledThreadPoolExecutor timers(int workers) {
        var pool = new ScheduledThreadPoolExecutor(workers);
        pool.setRemoveOnCancelPolicy(true);
        pool.prestartAllCoreThreads();
        return pool;
    }

    String churn() throws Exception {
        int size = asked.number("timers", 1_000_000);
        var random = new Measure.Random(1);
        long[] delays = new long[size];
        for (int i = 0; i < size; ++i) delays[i] = 3_600_000_000_000L + random.below(3_600_000_000_000L);
        int[] order = new int[size];
        for (int i = 0; i < size; ++i) order[i] = i;
        if (asked.text("order", "made").equals("shuffled")) random.shuffle(order);

        ScheduledThreadPoolExecutor pool = timers(1);
        Runnable nothing = () -> { };
        long inserting = 0;
        long cancelling = 0;
        for (int repeat = asked.number("repeats", 1); repeat > 0; --repeat) {
            var handles = new ScheduledFuture<?>[size];
            long begin = System.nanoTime();
            for (int i = 0; i < size; ++i)
                handles[i] = pool.schedule(nothing, delays[i], TimeUnit.NANOSECONDS);
            long inserted = System.nanoTime();
            for (int i : order) handles[i].cancel(false);
            if (!pool.getQueue().isEmpty()) throw new IllegalStateException("still queued");
            inserting += inserted - begin;
            cancelling += System.nanoTime() - inserted;
        }
        Measure.end(pool);
        return "{\"insert_s\": " + inserting * 1e-9 + ", \"cancel_s\": " + cancelling * 1e-9 + "}";
    }

    String lateness() throws Exception {
        int size = asked.number("timers", 1000);
        long span = asked.number("span_ms", 500) * 1_000_000L;
        var random = new Measure.Random(2);
        long[] delays = new long[size];
        for (int i = 0; i < size; ++i) delays[i] = random.below(span);
        long[] due = new long[size];
        long[] started = new long[size];
        var left = new AtomicInteger(size);

        ScheduledThreadPoolExecutor pool = timers(1);
        for (int i = 0; i < size; ++i) {
            int own = i;
            due[own] = System.nanoTime() + delays[own];
            pool.schedule(() -> {
                started[own] = System.nanoTime();
                left.decrementAndGet();
            }, delays[own], TimeUnit.NANOSECONDS);
        }
        Thread.sleep(span / 1_000_000);
        Measure.await(() -> left.get() == 0, 1_000_000);
        Measure.end(pool);
        var late = new double[size];
        for (int i = 0; i < size; ++i) late[i] = (started[i] - due[i]) * 1e-3;
        return "{\"late_us\": " + Measure.list(late) + "}";
    }

    String periodic() throws Exception {
        int size = asked.number("tasks", 2000);
        int period = asked.number("period_ms", 10);
        int span = asked.number("seconds", 5) * 1000;
        int expected = span / period;
        var runs = new Counter[size];
        for (int i = 0; i < size; ++i) runs[i] = new Counter();

        ScheduledThreadPoolExecutor pool = timers(asked.number("workers", 2));
        double cpuBefore = Measure.cpuSeconds();
        for (Counter own : runs)
            pool.scheduleAtFixedRate(own::bump, period, period, TimeUnit.MILLISECONDS);
        Thread.sleep(span + period / 2);
        long counted = 0;
        for (Counter own : runs) counted += Math.min(own.get(), expected);
        double cpuUsed = Measure.cpuSeconds() - cpuBefore;
        Measure.end(pool);
        return "{\"share\": " + (double) counted / expected / size
                + ", \"cpu_s\": " + cpuUsed + "}";
    }
}
