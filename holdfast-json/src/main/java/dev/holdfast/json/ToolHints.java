package dev.holdfast.json;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/** Which tools do no harm when they are called once more, as their server says, per principal. Safe for use by any thread. */
final class ToolHints {
    private static final int MAX_PRINCIPALS = 1_000;
    private static final int MAX_TOOLS = 1_000;
    /** As long as the specification wants a tool's name to be. */
    private static final int MAX_NAME = 128;

    private final ReentrantLock lock = new ReentrantLock();
    /** By principal, the names of the harmless tools; a set would not notice who asks. */
    private final Map<String, Map<String, Boolean>> harmless = new Recent<>(MAX_PRINCIPALS);

    /** A map of so many entries, in which the one that was used least recently makes room. */
    private static final class Recent<K, V> extends LinkedHashMap<K, V> {
        private static final long serialVersionUID = 1;
        private static final float LOAD = 0.75f;

        private final int most;

        private Recent(int most) {
            super(16, LOAD, true);
            this.most = most;
        }

        @Override
        protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
            return size() > most;
        }
    }

    /** Takes what a server says of some of its tools in the place of what it said of them before. */
    void learn(String principal, List<ToolList.Tool> tools) {
        lock.lock();
        try {
            Map<String, Boolean> known = harmless.computeIfAbsent(principal, first -> new Recent<>(MAX_TOOLS));
            for (ToolList.Tool tool : tools) {
                if (tool.harmless() && tool.name().length() <= MAX_NAME) {
                    known.put(tool.name(), true);
                } else {
                    known.remove(tool.name());
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether a server has said anything of its tools to a principal, as far as that is not forgotten. */
    boolean knows(String principal) {
        lock.lock();
        try {
            return harmless.containsKey(principal);
        } finally {
            lock.unlock();
        }
    }

    /** Whether it is known that calling a tool once more does no harm. */
    boolean harmless(String principal, String tool) {
        lock.lock();
        try {
            Map<String, Boolean> known = harmless.get(principal);
            return known != null && known.get(tool) != null;
        } finally {
            lock.unlock();
        }
    }
}
