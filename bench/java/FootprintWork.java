// SPDX-License-Identifier: Apache-2.0

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** What bench/peer/footprint_work.hpp is for C++; memory is what the heap holds without garbage. */
final class FootprintWork {
    private final Request asked;
    private final Pools pools;

    FootprintWork(String kind, Request asked) {
        this.asked = asked;
        pools = new Pools(kind);
    }

    String queued() throws Exception {
        int tasks = asked.number("tasks", 2_000_000);
        int workers = asked.number("workers", 1);
        boolean weigh = asked.number("repeats", 1) == 1; // collecting garbage takes long
        ExecutorService pool = pools.make(workers, tasks + workers);
        double bytes = 0;
        double filling = 0;
        double draining = 0;
        for (int repeat = asked.number("repeats", 1); repeat > 0; --repeat) {
            var held = new CountDownLatch(workers);
            var go = new CountDownLatch(1);
            var counter = new Countdown(tasks);
            for (int i = 0; i < workers; ++i) {
                pool.execute(() -> {
                    held.countDown();
                    try {
                        go.await();
                    } catch (InterruptedException error) {
                        throw new IllegalStateException(error);
                    }
                });
            }
            held.await();
            double before = weigh ? Measure.heapBytes() : 0;
            Supplier<Runnable> maker = maker(counter);
            long begin = System.nanoTime();
            for (int i = 0; i < tasks; ++i) pool.execute(maker.get());
            filling += Measure.secondsSince(begin);
            bytes = weigh ? (Measure.heapBytes() - before) / tasks : 0;
            go.countDown();
            Measure.await(() -> counter.over, 20_000);
            draining += (counter.end - counter.begin) * 1e-9;
        }
        Measure.end(pool);
        return "{\"bytes\": " + bytes + ", \"fill_s\": " + filling + ", \"drain_s\": " + draining + "}";
    }

    /** An empty task holds on to what counts it, which is about eight bytes; more if asked. */
    private Supplier<Runnable> maker(Countdown counter) {
        int capture = asked.number("capture", 8);
        return capture <= 8 ? () -> new Carrying(counter) : Carrying.maker(counter, capture);
    }

    /** Knows when the first of some tasks began and the last ended. */
    private static final class Countdown implements Carrying.Tally {
        private final int all;
        private final AtomicInteger left;
        long begin;
        long end;
        volatile boolean over;

        Countdown(int tasks) {
            all = tasks;
            left = new AtomicInteger(tasks);
        }

        @Override
        public void bump(long by) {
            int was = left.getAndDecrement();
            if (was == all) begin = System.nanoTime();
            if (was > 1) return;
            end = System.nanoTime();
            over = true;
        }
    }

    String idle() throws Exception {
        int workers = asked.number("workers", 100);
        int span = asked.number("idle_ms", 500);
        ExecutorService first = pools.make(1, 1);
        first.submit(() -> { }).get();
        Measure.end(first);
        double before = Measure.residentBytes();
        ExecutorService pool = pools.make(workers, workers);
        var allAreHere = new CountDownLatch(workers);
        var gone = new CountDownLatch(workers);
        for (int i = 0; i < workers; ++i) {
            pool.execute(() -> {
                allAreHere.countDown();
                try {
                    allAreHere.await(2, TimeUnit.SECONDS);
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
                gone.countDown();
            });
        }
        gone.await();
        Thread.sleep(100);
        double bytes = Measure.residentBytes() - before;
        double cpuBefore = Measure.cpuSeconds();
        Thread.sleep(span);
        double share = (Measure.cpuSeconds() - cpuBefore) / (span * 1e-3);
        Measure.end(pool);
        return "{\"bytes\": " + bytes + ", \"cpu_share\": " + share + "}";
    }

    String life() throws Exception {
        int workers = asked.number("workers", 8);
        var taken = new double[asked.number("repeats", 100)];
        for (int i = 0; i < taken.length; ++i) {
            long begin = System.nanoTime();
            ExecutorService pool = pools.make(workers, 1);
            pool.execute(() -> { });
            pool.shutdown();
            if (!pool.awaitTermination(1, TimeUnit.MINUTES)) throw new IllegalStateException("no end");
            taken[i] = Measure.secondsSince(begin) * 1e6;
        }
        Arrays.sort(taken);
        return "{\"us\": " + taken[taken.length / 2] + "}";
    }
}
