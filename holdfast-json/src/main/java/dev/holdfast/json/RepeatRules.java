package dev.holdfast.json;

import dev.holdfast.spi.InboundMessage;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

/**
 * Which requests to a server may be run once more when nobody knows whether they were: those that only read by the specification,
 * and calls of tools whose {@code readOnlyHint} or {@code idempotentHint} says so. Both hints are false unless told, in the answers
 * to {@code tools/list}.
 *
 * <p>What is known is known per principal, for a server may show each caller tools of its own, and lasts as long as this object:
 * up to 1,000 tools of each of 1,000 principals, those that were asked for least recently are forgotten first. The pages of a
 * list add up, and a later answer replaces what is known of the tools that it names. {@code notifications/tools/list_changed}
 * changes nothing: it does not say of which tool, most often one was added, and a client that hears it asks for the list, whose
 * answer is learned again. A call of a tool that was forgotten, or never known, is not run again.
 *
 * <p>Use the hints only of servers that you trust. Safe for use by any thread.
 *
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations">MCP schema, ToolAnnotations</a>
 */
public final class RepeatRules {
    /** The request whose answers are learned. */
    public static final String TOOLS_LIST = "tools/list";

    private static final String TOOLS_CALL = "tools/call";
    private static final Set<String> READING = Set.of(
            "ping",
            TOOLS_LIST,
            "resources/list",
            "resources/templates/list",
            "resources/read",
            "prompts/list",
            "prompts/get",
            "completion/complete",
            "tasks/get",
            "tasks/list",
            "tasks/result");

    private static final int MAX_PRINCIPALS = 1_000;
    private static final int MAX_TOOLS = 1_000;
    /** As long as the specification wants a tool's name to be. */
    private static final int MAX_NAME = 128;

    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, Known> known = new LeastRecentlyUsed<>(MAX_PRINCIPALS);

    /** What the server has said to one principal. */
    private static final class Known {
        /** The names of the harmless tools; a set would not notice who asks. */
        private final Map<String, Boolean> harmless = new LeastRecentlyUsed<>(MAX_TOOLS);
        /** Whether it has come to the end of its list. */
        private boolean whole;
    }

    /** A map of so many entries, in which the one that was used least recently makes room. */
    private static final class LeastRecentlyUsed<K, V> extends LinkedHashMap<K, V> {
        private static final long serialVersionUID = 1;
        private static final float LOAD = 0.75f;

        private final int most;

        private LeastRecentlyUsed(int most) {
            super(16, LOAD, true);
            this.most = most;
        }

        @Override
        protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
            return size() > most;
        }
    }

    /** Rules for a server whose tools are not known yet. */
    public RepeatRules() {}

    /** Learns from the answer to {@code tools/list}, which may be an error. */
    public void learn(String principal, byte[] answer) {
        ToolList page = ToolList.read(answer);
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

    /**
     * Whether the last page of a list was learned for a principal and is not forgotten, be it that no tool is harmless. Pages
     * before the last count for {@link #harmless} and are no knowledge of the whole.
     */
    public boolean knows(String principal) {
        return ask(principal, said -> said.whole);
    }

    /** Whether a request may be run once more. */
    public boolean harmless(String principal, InboundMessage request) {
        if (!request.method().equals(TOOLS_CALL)) {
            return READING.contains(request.method());
        }
        Optional<String> tool = CallFacts.named(request);
        return tool.isPresent() && ask(principal, said -> said.harmless.get(tool.get()) != null);
    }

    private boolean ask(String principal, Predicate<Known> question) {
        lock.lock();
        try {
            Known said = known.get(principal);
            return said != null && question.test(said);
        } finally {
            lock.unlock();
        }
    }
}
