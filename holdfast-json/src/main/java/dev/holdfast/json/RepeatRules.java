package dev.holdfast.json;

import java.util.Set;

/**
 * Which requests to a server may be run once more when nobody knows whether they were: those that only read by the specification,
 * and calls of tools whose {@code readOnlyHint} or {@code idempotentHint} says so. Both hints are false unless told, in the answers
 * to {@code tools/list}.
 *
 * <p>What is known is known per principal, for a server may show each caller tools of its own, and lasts as long as this object:
 * up to 1,000 tools of each of 1,000 principals, those that were asked for least recently are forgotten first. The pages of a
 * list add up, and a later answer replaces what is known of the tools that it names. {@code notifications/tools/list_changed}
 * changes nothing: it does not say of which tool, most often one was added, and a client that hears it asks for the list, whose
 * answer is learned again. What a name is forgotten for, or was never known for, is not run again.
 *
 * <p>Hints are to be believed of a server that one trusts. Safe for use by any thread.
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

    private final ToolHints hints = new ToolHints();

    /** Rules for a server whose tools are not known yet. */
    public RepeatRules() {}

    /** Learns from the answer to {@code tools/list}, which may be an error. */
    public void learn(String principal, byte[] answer) {
        hints.learn(principal, ToolList.read(answer));
    }

    /**
     * Whether the last page of a list was learned for a principal and is not forgotten, be it that no tool is harmless. Pages
     * before the last count for {@link #harmless} and are no knowledge of the whole.
     */
    public boolean knows(String principal) {
        return hints.knows(principal);
    }

    /** Whether a request may be run once more. */
    public boolean harmless(String principal, String method, byte[] request) {
        if (method.equals(TOOLS_CALL)) {
            return CallFacts.named(request)
                    .filter(tool -> hints.harmless(principal, tool))
                    .isPresent();
        }
        return READING.contains(method);
    }
}
