package dev.holdfast.gateway;

import dev.holdfast.servlet.EdgeOptions;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import picocli.CommandLine.Option;

/** The options of {@code holdfast serve} that say whom it serves. */
final class TrustFlags {
    @Option(
            names = "--auth-token-file",
            paramLabel = "FILE",
            description = "serve only who sends a token of this file, whose lines are a principal and a token each;"
                    + " it is read again when it changes")
    private Optional<Path> tokenFile = Optional.empty();

    @Option(names = "--insecure", description = "listen on an address that others can reach without --auth-token-file")
    private boolean insecure;

    @Option(
            names = "--show-child-errors",
            description =
                    "tell clients what COMMAND says on its error output when it does not start, also where others than"
                            + " this machine can reach it; the log has it in any case")
    private boolean showChildErrors;

    @Option(
            names = "--allowed-host",
            paramLabel = "NAME",
            split = ",",
            description = "further names by which clients may call this server, such as that of a reverse proxy,"
                    + " as NAME or NAME:PORT; * for any")
    private List<String> hosts = new ArrayList<>();

    @Option(
            names = "--allowed-origin",
            paramLabel = "ORIGIN",
            split = ",",
            description = "pages that browsers may call this server from, as https://NAME, http://NAME:PORT or"
                    + " http://NAME:*; * for any")
    private List<String> origins = new ArrayList<>();

    /**
     * What they say, checked.
     *
     * @throws IllegalArgumentException names the first that has not its form
     */
    Trust trust() {
        EdgeOptions.Builder edge = EdgeOptions.builder();
        require("--allowed-host", hosts, edge::allowedHosts);
        require("--allowed-origin", origins, edge::allowedOrigins);
        return new Trust(tokenFile, insecure, showChildErrors, hosts, origins);
    }

    /** Refuses what the knob refuses, under the name of the option. */
    private static void require(String flag, List<String> values, Consumer<List<String>> knob) {
        try {
            knob.accept(values);
        } catch (IllegalArgumentException e) {
            String refusal = String.valueOf(e.getMessage());
            throw new IllegalArgumentException(
                    flag + refusal.substring(refusal.indexOf(' ')).replace(", got ", ", not "), e);
        }
    }
}
