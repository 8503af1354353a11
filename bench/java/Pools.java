// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionHandler;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Makes the pools of one kind; their workers have counters, which they find in their own thread. */
final class Pools implements Carrying.Tally {
    final ConcurrentLinkedQueue<Counter> counters = new ConcurrentLinkedQueue<>();
    final Counter ofCaller = newCounter();
    private final String kind;

    Pools(String kind) {
        this.kind = kind;
    }

    boolean isForkJoin() {
        return kind.equals("fork_join");
    }

    /** With room for so many tasks. */
    ExecutorService make(int workers, int room) {
        if (isForkJoin()) {
            return new ForkJoinPool(workers, pool -> new ForkJoinThread(pool, newCounter()), null, false);
        }
        return make(workers, queue(Math.max(room, 1024)), new ThreadPoolExecutor.AbortPolicy());
    }

    ExecutorService bounded(int workers, int capacity, RejectedExecutionHandler handler) {
        BlockingQueue<Runnable> queue = kind.equals("array")
                ? new ArrayBlockingQueue<>(capacity) : new LinkedBlockingQueue<>(capacity);
        return make(workers, queue, handler);
    }

    private ExecutorService make(int workers, BlockingQueue<Runnable> queue,
                                 RejectedExecutionHandler handler) {
        return new ThreadPoolExecutor(workers, workers, 0, TimeUnit.SECONDS, queue,
                this::newThread, handler);
    }

    /** A thread that may run tasks: of a pool, or one that gives tasks and runs some itself. */
    Thread newThread(Runnable body) {
        return new PoolThread(body, newCounter());
    }

    private BlockingQueue<Runnable> queue(int room) {
        return kind.equals("array") ? new ArrayBlockingQueue<>(room) : new LinkedBlockingQueue<>();
    }

    private Counter newCounter() {
        var made = new Counter();
        counters.add(made);
        return made;
    }

    /** Counts for the thread it is called on; of those that are not made here there may be one. */
    @Override
    public void bump(long by) {
        Thread current = Thread.currentThread();
        if (current instanceof PoolThread) ((PoolThread) current).counter.add(by);
        else if (current instanceof ForkJoinThread) ((ForkJoinThread) current).counter.add(by);
        else ofCaller.add(by);
    }

    long sum() {
        long all = 0;
        for (Counter counter : counters) all += counter.get();
        return all;
    }

    private static final class PoolThread extends Thread {
        final Counter counter;

        PoolThread(Runnable body, Counter counter) {
            super(body);
            this.counter = counter;
        }
    }

    private static final class ForkJoinThread extends ForkJoinWorkerThread {
        final Counter counter;

        ForkJoinThread(ForkJoinPool pool, Counter counter) {
            super(pool);
            this.counter = counter;
        }
    }
}
