// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RejectedExecutionHandler;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/** What bench/peer/pool_work.hpp is for C++. */
final class PoolWork {
    private final Request asked;
    private final Pools pools;
    private final int workers;

    PoolWork(String kind, Request asked) {
        this.asked = asked;
        pools = new Pools(kind);
        workers = asked.number("workers", 2);
    }

    /** Each producer gives its share of the tasks, in bursts if asked; without the pauses. */
    private String untilAllRan(ExecutorService pool, IntConsumer produce) throws Exception {
        int producers = asked.number("producers", 1);
        int tasks = asked.number("tasks", 1_000_000) / producers * producers;
        int burst = asked.number("burst", tasks) / producers * producers;
        long pause = asked.number("pause_us", 0) * 1_000L;
        for (int i = 0; i < workers; ++i) pool.execute(new Carrying(pools)); // starts the threads
        Measure.await(() -> pools.sum() >= workers, 20_000);
        double took = 0;
        for (int given = 0; given < tasks;) {
            int now = Math.min(burst, tasks - given);
            var others = new Thread[producers - 1];
            long begin = System.nanoTime();
            for (int i = 0; i < others.length; ++i) {
                others[i] = pools.newThread(() -> produce.accept(now / producers));
                others[i].start();
            }
            produce.accept(now / producers);
            for (Thread other : others) other.join();
            given += now;
            long expected = workers + given;
            Measure.await(() -> pools.sum() >= expected, 20_000);
            took += Measure.secondsSince(begin);
            if (given < tasks) TimeUnit.NANOSECONDS.sleep(pause);
        }
        Measure.end(pool);
        return "{\"seconds\": " + took + "}";
    }

    String execute() throws Exception {
        ExecutorService pool = pools.make(workers, asked.number("tasks", 1_000_000));
        Supplier<Runnable> maker = Carrying.maker(pools, asked.number("capture", 0));
        return untilAllRan(pool, count -> {
            for (int i = 0; i < count; ++i) pool.execute(maker.get());
        });
    }

    String callerRuns() throws Exception {
        return bounded(new ThreadPoolExecutor.CallerRunsPolicy());
    }

    String blocking() throws Exception {
        return bounded((task, pool) -> {
            try {
                pool.getQueue().put(task);
            } catch (InterruptedException error) {
                throw new RejectedExecutionException(error);
            }
        });
    }

    private String bounded(RejectedExecutionHandler handler) throws Exception {
        ExecutorService pool = pools.bounded(workers, asked.number("capacity", 1024), handler);
        var task = new Carrying(pools);
        return untilAllRan(pool, count -> {
            for (int i = 0; i < count; ++i) pool.execute(task);
        });
    }

    String work() throws Exception {
        double rate = turnsPerMicrosecond();
        int usual = (int) (rate * asked.number("work_ns", 1000) / 1000);
        int longer = (int) (rate * asked.number("long_ns", 1000) / 1000);
        int every = asked.number("long_every", 0);
        ExecutorService pool = pools.make(workers, asked.number("tasks", 200_000));
        Runnable shortTask = () -> pools.bump(turn(usual) == 0 ? 0 : 1);
        Runnable longTask = () -> pools.bump(turn(longer) == 0 ? 0 : 1);
        return untilAllRan(pool, count -> {
            for (int i = 1; i <= count; ++i)
                pool.execute(every > 0 && i % every == 0 ? longTask : shortTask);
        });
    }

    /** Work that is counted in turns of a loop, not in time; never returns 0. */
    private static long turn(int turns) {
        long x = 88172645463325252L;
        for (int i = 0; i < turns; ++i) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        return x;
    }

    private static double turnsPerMicrosecond() {
        int turns = 20_000;
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 200; ++i) {
            long begin = System.nanoTime();
            if (turn(turns) == 0) throw new IllegalStateException();
            least = Math.min(least, System.nanoTime() - begin);
        }
        return turns * 1e3 / least;
    }

    String submit() throws Exception {
        int tasks = asked.number("tasks", 500_000);
        ExecutorService pool = pools.make(workers, tasks);
        IntFunction<Callable<Integer>> maker = Carrying.returning(asked.number("capture", 0));
        @SuppressWarnings("unchecked")
        Future<Integer>[] results = new Future[tasks];
        long sum = 0;
        long begin = System.nanoTime();
        for (int i = 0; i < tasks; ++i) results[i] = pool.submit(maker.apply(i & 7));
        for (Future<Integer> result : results) sum += result.get();
        double took = Measure.secondsSince(begin);
        Measure.end(pool);
        for (int i = 0; i < tasks; ++i) sum -= i & 7;
        if (sum != 0) throw new IllegalStateException("the results are wrong");
        return "{\"seconds\": " + took + ", \"tasks\": " + tasks + "}";
    }
}
