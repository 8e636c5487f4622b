package dev.holdfast.json;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;

/** Which tools do no harm when they are called once more, as their server says, per principal. Safe for use by any thread. */
final class ToolHints {
    private static final int MAX_PRINCIPALS = 1_000;
    private static final int MAX_TOOLS = 1_000;
    /** As long as the specification wants a tool's name to be. */
    private static final int MAX_NAME = 128;

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, Known> known = new Recent<>(MAX_PRINCIPALS);

    /** What a server has said to one principal. */
    private static final class Known {
        /** The names of the harmless tools; a set would not notice who asks. */
        private final Map<String, Boolean> harmless = new Recent<>(MAX_TOOLS);
        /** Whether it has come to the end of its list. */
        private boolean whole;
    }

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
    void learn(String principal, ToolList.Page page) {
        if (page.tools().isEmpty() && !page.last()) {
            return;
        }
        lock.lock();
        try {
            Known said = known.computeIfAbsent(principal, first -> new Known());
            said.whole |= page.last();
            for (ToolList.Tool tool : page.tools()) {
                if (tool.harmless() && tool.name().length() <= MAX_NAME) {
                    said.harmless.put(tool.name(), true);
                } else {
                    said.harmless.remove(tool.name());
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether a server has told a principal of its tools to the end of the list, as far as that is not forgotten. */
    boolean knows(String principal) {
        lock.lock();
        try {
            Known said = known.get(principal);
            return said != null && said.whole;
        } finally {
            lock.unlock();
        }
    }

    /** Whether it is known that calling a tool once more does no harm. */
    boolean harmless(String principal, String tool) {
        lock.lock();
        try {
            Known said = known.get(principal);
            return said != null && said.harmless.get(tool) != null;
        } finally {
            lock.unlock();
        }
    }
}
