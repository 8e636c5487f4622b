package dev.holdfast.peers;

import io.quarkiverse.mcp.server.Tool;

/** The tool that the benchmarks call. */
public class EchoTools {
    /** Answers its text. */
    @Tool(description = "Returns its text.")
    public String echo(String text) {
        return text;
    }
}
