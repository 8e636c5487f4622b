package dev.holdfast.gateway;

import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.upstream.UpstreamBackend;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Which MCP server is served. */
sealed interface ServerChoice {
    /** The owner of the sessions in a store: a name for people, and the words that no other server has. */
    record Identity(String name, List<String> words) {}

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
     * @param headers that it gets with each request
     */
    record Upstream(URI url, Map<String, String> headers) implements ServerChoice {
        @Override
        public Identity identity() {
            // a path may hold a key
            return new Identity(url.getHost(), List.of("--upstream", url.toString()));
        }
    }

    /**
     * What is asked for.
     *
     * @param command the words behind {@code --}, if that was given
     * @throws IllegalArgumentException says what is wrong
     */
    static ServerChoice of(KnobValues settings, Optional<List<String>> command) {
        Optional<String> upstream = settings.find(Knobs.UPSTREAM);
        if (command.filter(List::isEmpty).isPresent()) {
            throw new IllegalArgumentException("no command behind --");
        }
        if (settings.isGiven(Knobs.CONFIG)) {
            if (command.isPresent()) {
                throw new IllegalArgumentException("--config takes the place of COMMAND: give one of them");
            }
            settings.refuse(
                    " does not go with --config: say it in the file, for each server",
                    Knobs.UPSTREAM,
                    Knobs.FORWARD_HEADER);
            settings.refuse(
                    " does not go with --config, whose servers are at /NAME/mcp and /NAME/sse",
                    Knobs.PATH,
                    Knobs.SSE_PATH,
                    Knobs.MESSAGE_PATH);
            return new Demo();
        }
        if (upstream.isPresent() && command.isPresent()) {
            throw new IllegalArgumentException("--upstream takes the place of COMMAND: give one of them");
        }
        if (command.isEmpty()) {
            String none = upstream.isPresent()
                    ? ", in whose place --upstream is given"
                    : ", and none is given: put it behind --";
            settings.refuse(" is for the processes of COMMAND" + none, Knobs.MAX_CHILDREN, Knobs.SHOW_CHILD_ERRORS);
        }
        if (upstream.isEmpty()) {
            settings.refuse(" is for --upstream", Knobs.FORWARD_HEADER);
            if (command.isPresent()) {
                return new Command(new ServerCommand(command.get()));
            }
            settings.refuse(" is for COMMAND or --upstream, and neither is given", Knobs.START_TIMEOUT);
            return new Demo();
        }
        return new Upstream(
                url(upstream.get())
                        .orElseThrow(() -> new IllegalArgumentException(Knobs.UPSTREAM.name()
                                + " must be as in https://mcp.example/mcp, not " + shown(upstream.get()))),
                Map.of());
    }

    /** The address of an upstream, if that is one. */
    static Optional<URI> url(String text) {
        try {
            URI url = new URI(text);
            UpstreamBackend.builder(url);
            return Optional.of(url);
        } catch (URISyntaxException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** What of a URL is no secret. */
    private static String shown(String text) {
        return text.matches("(?s)[^/?#]*//[^/?#]*@.*")
                ? "one with a user or a password"
                : text.isEmpty() ? "empty" : text.replaceFirst("(?s)[?;#].*", "");
    }
}
