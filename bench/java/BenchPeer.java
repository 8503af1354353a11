// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * The JDK's executors as peers of the harness: `java BenchPeer linked|array|fork_join`. The first
 * also plays the timers. It does what bench/peer does in C++, and takes its numbers the same way;
 * the protocol is told in bench/README.md.
 */
public final class BenchPeer {
    private static final Map<String, String> WORKLOADS = Map.of(
            "linked", "W1 W2 W3 W8a W8b W8c",
            "array", "W1 W2 W3",
            "fork_join", "W1 W2 W3");

    private final String kind;
    private Map<String, String> asked = Map.of();

    private BenchPeer(String kind) {
        this.kind = kind;
    }

    public static void main(String[] arguments) throws Exception {
        new BenchPeer(arguments[0]).serve();
    }

    private void serve() throws Exception {
        String names = List.of(WORKLOADS.get(kind).split(" ")).stream()
                .map(name -> '"' + name + '"').collect(Collectors.joining(", "));
        System.out.printf("{\"protocol\": 1, \"version\": \"JDK %s, %s\", \"workloads\": [%s]}%n",
                Runtime.version(), kind, names);
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            try {
                System.gc(); // the garbage of the round before is not this one's
                System.out.println(play(line.trim().split(" +")));
            } catch (Exception error) {
                System.out.printf("{\"error\": \"%s\"}%n", error);
            }
        }
    }

    private String play(String[] words) throws Exception {
        asked = new HashMap<>();
        for (int i = 1; i < words.length; ++i) {
            String[] pair = words[i].split("=", 2);
            asked.put(pair[0], pair[1]);
        }
        switch (words[0]) {
            case "W1":
            case "W3": return execute();
            case "W2": return submit();
            case "W8a": return churn();
            case "W8b": return lateness();
            case "W8c": return periodic();
            default: return "{\"error\": \"no such workload\"}";
        }
    }

    private int number(String key, int otherwise) {
        return Integer.parseInt(asked.getOrDefault(key, Integer.toString(otherwise)));
    }

    // ---- pools

    /** A counter for each worker, which the worker finds in its own thread. */
    private static final class Counter {
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
            VALUE.setOpaque(this, (long) VALUE.getOpaque(this) + 1);
        }

        long get() {
            return (long) VALUE.getAcquire(this);
        }
    }

    private static final class PoolThread extends Thread {
        final Counter counter;

        PoolThread(Runnable body, Counter counter) {
            super(body);
            this.counter = counter;
        }

        static void bump() {
            ((PoolThread) Thread.currentThread()).counter.bump();
        }
    }

    private static final class ForkJoinThread extends ForkJoinWorkerThread {
        final Counter counter;

        ForkJoinThread(ForkJoinPool pool, Counter counter) {
            super(pool);
            this.counter = counter;
        }

        static void bump() {
            ((ForkJoinThread) Thread.currentThread()).counter.bump();
        }
    }

    private ExecutorService pool(int workers, ConcurrentLinkedQueue<Counter> counters) {
        if (kind.equals("fork_join")) {
            return new ForkJoinPool(workers, pool -> {
                var counter = new Counter();
                counters.add(counter);
                return new ForkJoinThread(pool, counter);
            }, null, true);
        }
        BlockingQueue<Runnable> queue = kind.equals("array")
                ? new ArrayBlockingQueue<>(1 << 20) : new LinkedBlockingQueue<>();
        return new ThreadPoolExecutor(workers, workers, 0, TimeUnit.SECONDS, queue, body -> {
            var counter = new Counter();
            counters.add(counter);
            return new PoolThread(body, counter);
        });
    }

    private String execute() throws Exception {
        int producers = number("producers", 1);
        int each = number("tasks", 1_000_000) / producers;
        long all = (long) each * producers;
        var counters = new ConcurrentLinkedQueue<Counter>();
        ExecutorService pool = pool(number("workers", 2), counters);
        Runnable task = kind.equals("fork_join") ? ForkJoinThread::bump : PoolThread::bump;
        Runnable produce = () -> {
            for (int i = 0; i < each; ++i) pool.execute(task);
        };
        var others = new Thread[producers - 1];
        long begin = System.nanoTime();
        for (int i = 0; i < others.length; ++i) {
            others[i] = new Thread(produce);
            others[i].start();
        }
        produce.run();
        for (Thread other : others) other.join();
        await(() -> counters.stream().mapToLong(Counter::get).sum() >= all, 20_000);
        double took = (System.nanoTime() - begin) * 1e-9;
        end(pool);
        return "{\"seconds\": " + took + "}";
    }

    private String submit() throws Exception {
        int tasks = number("tasks", 500_000);
        ExecutorService pool = pool(number("workers", 2), new ConcurrentLinkedQueue<>());
        @SuppressWarnings("unchecked")
        Future<Integer>[] results = new Future[tasks];
        long sum = 0;
        long begin = System.nanoTime();
        for (int i = 0; i < tasks; ++i) {
            int value = i & 7;
            results[i] = pool.submit(() -> value);
        }
        for (Future<Integer> result : results) sum += result.get();
        double took = (System.nanoTime() - begin) * 1e-9;
        end(pool);
        if (sum != tasks / 8 * 28L) throw new IllegalStateException("the results are wrong");
        return "{\"seconds\": " + took + "}";
    }

    // ---- timers

    private static ScheduledThreadPoolExecutor timers(int workers) {
        var pool = new ScheduledThreadPoolExecutor(workers);
        pool.setRemoveOnCancelPolicy(true);
        pool.prestartAllCoreThreads();
        return pool;
    }

    private String churn() throws Exception {
        int size = number("timers", 1_000_000);
        var random = new Random(1);
        long[] delays = new long[size];
        for (int i = 0; i < size; ++i) delays[i] = 3_600_000_000_000L + random.below(3_600_000_000_000L);
        int[] order = new int[size];
        for (int i = 0; i < size; ++i) order[i] = i;
        if (asked.getOrDefault("order", "made").equals("shuffled")) random.shuffle(order);

        ScheduledThreadPoolExecutor pool = timers(1);
        Runnable nothing = () -> { };
        long inserting = 0;
        long cancelling = 0;
        for (int repeat = number("repeats", 1); repeat > 0; --repeat) {
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
        end(pool);
        return "{\"insert_s\": " + inserting * 1e-9 + ", \"cancel_s\": " + cancelling * 1e-9 + "}";
    }

    private String lateness() throws Exception {
        int size = number("timers", 1000);
        long span = number("span_ms", 500) * 1_000_000L;
        var random = new Random(2);
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
        await(() -> left.get() == 0, 1_000_000);
        end(pool);
        var late = new StringBuilder();
        for (int i = 0; i < size; ++i)
            late.append(i == 0 ? "" : ",").append((started[i] - due[i]) * 1e-3);
        return "{\"late_us\": [" + late + "]}";
    }

    private String periodic() throws Exception {
        int size = number("tasks", 2000);
        int period = number("period_ms", 10);
        int span = number("seconds", 5) * 1000;
        int expected = span / period;
        var runs = new Counter[size];
        for (int i = 0; i < size; ++i) runs[i] = new Counter();

        ScheduledThreadPoolExecutor pool = timers(number("workers", 2));
        double cpuBefore = cpuSeconds();
        for (Counter own : runs)
            pool.scheduleAtFixedRate(own::bump, period, period, TimeUnit.MILLISECONDS);
        Thread.sleep(span + period / 2);
        long counted = 0;
        for (Counter own : runs) counted += Math.min(own.get(), expected);
        double cpuUsed = cpuSeconds() - cpuBefore;
        end(pool);
        return "{\"share\": " + (double) counted / expected / size
                + ", \"cpu_s\": " + cpuUsed + "}";
    }

    // ---- measuring

    private static void await(BooleanSupplier done, long nanosBetween) {
        while (!done.getAsBoolean()) LockSupport.parkNanos(nanosBetween);
    }

    private static void end(ExecutorService pool) throws InterruptedException {
        pool.shutdownNow();
        if (!pool.awaitTermination(1, TimeUnit.MINUTES)) throw new IllegalStateException("no end");
    }

    private static double cpuSeconds() {
        var system = (com.sun.management.OperatingSystemMXBean)
                ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime() * 1e-9;
    }

    /** splitmix64: the same numbers in every peer, whatever its language. */
    private static final class Random {
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
