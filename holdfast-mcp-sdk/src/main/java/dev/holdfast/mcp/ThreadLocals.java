package dev.holdfast.mcp;

import reactor.core.publisher.Mono;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * What Reactor takes from one thread to another: the thread-locals that are registered with Micrometer's context-propagation, where
 * that is on the class path. A call may start on another thread than that of its request, where it waits for the store or for its
 * session to come back, so they are taken when the request comes.
 */
final class ThreadLocals {
    private static final String REGISTRY = "io.micrometer.context.ContextRegistry";

    /** What a {@code CallWatch} makes current just before the call starts, and not with the request. */
    private static final String OBSERVATION = "micrometer.observation";

    /** Whether Reactor finds the library that takes them. */
    private static final boolean AVAILABLE = isAvailable();

    /** It looks at the thread that asks, each time anew. */
    private static final Mono<ContextView> CAPTURE =
            Mono.deferContextual(Mono::just).contextCapture();

    private ThreadLocals() {}

    /** Those of this thread; nothing where nobody can take them along. */
    static ContextView ofThisThread() {
        return AVAILABLE ? CAPTURE.toFuture().join() : Context.empty();
    }

    private static boolean isAvailable() {
        try {
            Class.forName(REGISTRY, false, Mono.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /**
     * Adds those of the request that a message came with to its handler's context.
     *
     * @param edge the context of the message
     */
    static Context of(Object edge, Context context) {
        if (edge instanceof OriginContext origin && !origin.threadLocals().isEmpty()) {
            Context taken = context.putAll(origin.threadLocals());
            return ofThisThread()
                    .getOrEmpty(OBSERVATION)
                    .map(current -> taken.put(OBSERVATION, current))
                    .orElse(taken);
        }
        return context;
    }
}
