// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.atomic.AtomicLong;

/** W4: tasks that make tasks, forked where the pool can do that. */
final class NestedWork {
    private final AtomicLong left = new AtomicLong();
    private final int n;
    private final ExecutorService pool;

    NestedWork(String kind, Request asked) {
        n = asked.number("n", 24);
        pool = new Pools(kind).make(asked.number("workers", 2), (int) tasks(n));
    }

    private static long tasks(int n) {
        return n < 2 ? 1 : 1 + tasks(n - 1) + tasks(n - 2);
    }

    String nested() throws Exception {
        long tasks = tasks(n);
        left.set(tasks);
        long begin = System.nanoTime();
        if (pool instanceof ForkJoinPool) ((ForkJoinPool) pool).execute(new Forked(n));
        else pool.execute(new Executed(n));
        Measure.await(() -> left.get() == 0, 20_000);
        double took = Measure.secondsSince(begin);
        Measure.end(pool);
        return "{\"seconds\": " + took + ", \"tasks\": " + tasks + "}";
    }

    private final class Executed implements Runnable {
        private final int n;

        Executed(int n) {
            this.n = n;
        }

        @Override
        public void run() {
            if (n >= 2) {
                pool.execute(new Executed(n - 1));
                pool.execute(new Executed(n - 2));
            }
            left.decrementAndGet();
        }
    }

    private final class Forked extends RecursiveAction {
        private final int n;

        Forked(int n) {
            this.n = n;
        }

        @Override
        protected void compute() {
            if (n >= 2) {
                new Forked(n - 1).fork();
                new Forked(n - 2).fork();
            }
            left.decrementAndGet();
        }
    }
}
