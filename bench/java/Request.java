// SPDX-License-Identifier: Apache-2.0

import java.util.HashMap;
import java.util.Map;

/** One line from the harness: `W8a timers=1000 order=shuffled`. */
final class Request {
    final String workload;
    private final Map<String, String> values = new HashMap<>();

    Request(String line) {
        String[] words = line.trim().split(" +");
        workload = words[0];
        for (int i = 1; i < words.length; ++i) {
            String[] pair = words[i].split("=", 2);
            if (pair.length < 2) throw new IllegalArgumentException(words[i] + " has no value");
            values.put(pair[0], pair[1]);
        }
    }

    int number(String key, int otherwise) {
        return Integer.parseInt(text(key, Integer.toString(otherwise)));
    }

    String text(String key, String otherwise) {
        return values.getOrDefault(key, otherwise);
    }
}
