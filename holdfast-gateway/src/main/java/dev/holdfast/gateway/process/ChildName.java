package dev.holdfast.gateway.process;

import java.util.function.Supplier;

/** A child as the log names it: by its own name, and by its session as soon as that has an id, in the form of all other lines. */
public final class ChildName {
    /** A whole id is a credential. */
    private static final int SHORT = 8;

    private final String own;
    private final Supplier<String> session;

    /**
     * A name.
     *
     * @param own different for any two children
     * @param session the session's id, empty while it has none
     */
    public ChildName(String own, Supplier<String> session) {
        this.own = own;
        this.session = session;
    }

    /** The name without the session. */
    String own() {
        return own;
    }

    @Override
    public String toString() {
        String id = session.get();
        return id.isEmpty() ? own : own + " (session " + id.substring(0, Math.min(SHORT, id.length())) + ")";
    }
}
