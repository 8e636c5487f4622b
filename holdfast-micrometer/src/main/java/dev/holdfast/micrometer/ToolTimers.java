package dev.holdfast.micrometer;

import dev.holdfast.json.AnswerFacts;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * How long calls of tools take, by the tool. A client may call any name, and a registry keeps each for ever: a tool has meters of its own
 * once its server has listed it, or answered a call of it without an error, and so many tools at most; the others share theirs.
 */
final class ToolTimers {
    /** How a request ends. */
    enum Outcome {
        ANSWERED,
        /** With a result by which the tool says that it has failed. */
        TOOL_ERROR,
        FAILED,
        CANCELLED,
        LOST
    }

    private static final int MOST_TOOLS = 100;
    /** The specification's limit for a tool's name. */
    private static final int MOST_CHARS = 128;

    private static final String OTHER = "other";

    private final MeterRegistry registry;
    /** By tool, the others among them. */
    private final Map<String, Map<Outcome, Timer>> timers = new ConcurrentHashMap<>();

    private final Map<Outcome, Timer> others;

    ToolTimers(MeterRegistry registry) {
        this.registry = registry;
        this.others = register(OTHER);
        timers.put(OTHER, others);
    }

    private Map<Outcome, Timer> register(String tool) {
        Map<Outcome, Timer> byOutcome = new EnumMap<>(Outcome.class);
        for (Outcome outcome : Outcome.values()) {
            byOutcome.put(
                    outcome,
                    Timer.builder("holdfast.tool.calls")
                            .description(
                                    "Calls of tools, from when they go to their backend until their answer is committed")
                            .tag("tool", tool)
                            .tag("outcome", Tags.of(outcome))
                            .register(registry));
        }
        return byOutcome;
    }

    /** The tag of a call: a long name is not kept while the call runs. */
    static String tag(Optional<String> tool) {
        return tool.filter(name -> name.length() <= MOST_CHARS).orElse(OTHER);
    }

    /** A server has answered {@code tools/list}. */
    void listed(byte[] answer) {
        if (hasRoom()) {
            AnswerFacts.toolNames(answer).forEach(tool -> known(tag(Optional.of(tool))));
        }
    }

    private boolean hasRoom() {
        return timers.size() <= MOST_TOOLS;
    }

    /** There is such a tool. */
    private synchronized void known(String tool) {
        if (!timers.containsKey(tool) && hasRoom()) {
            timers.put(tool, register(tool));
        }
    }

    /** A call of a tool is over. */
    void over(String tool, Outcome outcome, long nanos) {
        if (outcome == Outcome.ANSWERED && !timers.containsKey(tool) && hasRoom()) {
            known(tool);
        }
        Objects.requireNonNull(timers.getOrDefault(tool, others).get(outcome)).record(nanos, TimeUnit.NANOSECONDS);
    }
}
