package dev.holdfast.gateway;

import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.upstream.ForwardedHeaders;
import java.net.URI;
import java.util.List;

/** Which MCP server is served. */
public sealed interface ServerChoice {
    /** What its sessions belong to, where they are kept: its name for people, and what tells it from others. */
    record Identity(String name, List<String> words) {}

    /** What tells it from other servers. */
    Identity identity();

    /** The built-in one. */
    record Demo() implements ServerChoice {
        @Override
        public Identity identity() {
            return new Identity("the demo", List.of());
        }
    }

    /** One on stdio, with a process of its own for each session. */
    record Command(ServerCommand command) implements ServerChoice {
        @Override
        public Identity identity() {
            return new Identity(command.shortName(), command.words());
        }
    }

    /**
     * One behind a URL.
     *
     * @param url its endpoint
     * @param forwarded headers of requests that it gets too
     */
    record Upstream(URI url, ForwardedHeaders forwarded) implements ServerChoice {
        @Override
        public Identity identity() {
            return new Identity(url.getHost() + url.getPath(), List.of("--upstream", url.toString()));
        }
    }
}
