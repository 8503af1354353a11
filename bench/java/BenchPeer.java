// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The JDK's executors as peers of the harness: `java BenchPeer linked|array|fork_join`. The first
 * also plays the timers. They do what bench/peer does in C++, and take their numbers the same way;
 * the protocol is told in bench/README.md.
 */
public final class BenchPeer {
    private static final String ALL = "W1 W2 W3 W4 W5a W5b W6 W9a W9b W10";

    public static void main(String[] arguments) throws Exception {
        String kind = arguments[0];
        String workloads = switch (kind) {
            case "linked" -> ALL + " W7a W7b W8a W8b W8c";
            case "array" -> ALL + " W7a W7b";
            case "fork_join" -> ALL;
            default -> throw new IllegalArgumentException("no pool " + kind);
        };
        String names = List.of(workloads.split(" ")).stream()
                .map(name -> '"' + name + '"').collect(Collectors.joining(", "));
        System.out.printf("{\"protocol\": 1, \"version\": \"JDK %s, %s\", \"warm_up\": 3, "
                + "\"workloads\": [%s]}%n", Runtime.version(), kind, names);
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            try {
                System.gc(); // the garbage of the round before is not this one's
                System.out.println(play(kind, new Request(line)));
            } catch (Exception error) {
                System.out.printf("{\"error\": \"%s\"}%n", error);
            }
        }
    }

    private static String play(String kind, Request asked) throws Exception {
        return switch (asked.workload) {
            case "W1", "W3" -> new PoolWork(kind, asked).execute();
            case "W2" -> new PoolWork(kind, asked).submit();
            case "W4" -> new NestedWork(kind, asked).nested();
            case "W5a" -> new LatencyWork(kind, asked).start();
            case "W5b" -> new LatencyWork(kind, asked).roundTrip();
            case "W6" -> new PoolWork(kind, asked).work();
            case "W7a" -> new PoolWork(kind, asked).callerRuns();
            case "W7b" -> new PoolWork(kind, asked).blocking();
            case "W8a" -> new TimerWork(asked).churn();
            case "W8b" -> new TimerWork(asked).lateness();
            case "W8c" -> new TimerWork(asked).periodic();
            case "W9a" -> new FootprintWork(kind, asked).queued();
            case "W9b" -> new FootprintWork(kind, asked).idle();
            case "W10" -> new FootprintWork(kind, asked).life();
            default -> throw new IllegalArgumentException("no such workload");
        };
    }
}
